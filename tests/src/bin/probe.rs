//! One rank of the jobs that the tests start: forms the world, plays a scenario, and says what happens.
//!
//! Every line is an event with `key=value` pairs; `at` is the monotonic clock of the machine in nanoseconds
//! (`ringworld_tests::clock`), `text` is the last key and has the rest of the line. Exit status: 0 when the
//! scenario went well, 3 when no world was formed, 4 when an operation failed, 5 when a result was wrong.
//! Nothing here decides whether that is what should have happened: the tests do.

#![forbid(unsafe_code)]

#[path = "probe/family.rs"]
mod family;

use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Parser, Subcommand, ValueEnum};
use ringworld::{Error, Op, Options, UserOp, World};
use ringworld_tests::{clock, proc};

use family::{Call, family};

const NO_WORLD: u8 = 3;
const FAILED: u8 = 4;
const WRONG: u8 = 5;

#[derive(Parser)]
#[command(about = "One rank of a test")]
struct Arguments {
    #[command(subcommand)]
    scenario: Scenario,
}

#[derive(Subcommand)]
enum Scenario {
    /// Form the world, meet in a barrier and an all-reduce, report time and memory, leave
    Meet {
        /// Elements of the all-reduce
        #[arg(long, default_value_t = 1000)]
        elements: usize,
    },
    /// All-reduce again and again, checking every result
    AllReduce {
        #[arg(long)]
        elements: usize,
        /// 0: until it fails
        #[arg(long, default_value_t = 0)]
        iterations: u64,
    },
    /// Rank 0 sends to rank 1, one large message after the other, and says how long each took
    Stream {
        #[arg(long)]
        bytes: usize,
        #[arg(long)]
        messages: u64,
    },
    /// Meet those of one's own host, and tell them apart from the others
    Hosts,
    /// A long collective on numbers whose sums are rounded; report what the bits of the result are
    Bits {
        #[arg(long)]
        call: Long,
        /// Of the vector, or of each rank's block
        #[arg(long)]
        elements: usize,
        #[arg(long, default_value_t = 1)]
        iterations: usize,
    },
    /// Every collective, from every root; compare the results with what one process computes
    Family {
        /// Of the vector, or of each rank's block; several lengths
        #[arg(long, value_delimiter = ',', required = true)]
        elements: Vec<usize>,
        /// Not all, but these
        #[arg(long, value_delimiter = ',')]
        only: Vec<Call>,
        /// Again among the even and the odd ranks, in the opposite order
        #[arg(long)]
        halves: bool,
    },
    /// Wait in several calls for rank 0, which comes late, and say what that costs
    Late {
        /// How late, in milliseconds
        #[arg(long)]
        ms: u64,
    },
    /// All send a byte to rank 0, which answers when it has heard all
    Crowd,
    /// Every rank exchanges a byte with every other; report time, memory and open files
    Mesh,
    /// Barrier, all-reduce, gather and all-to-all of as many elements from each rank to each, one after the other;
    /// report time and memory
    Exchange {
        /// Of 8 bytes each
        #[arg(long, default_value_t = 1)]
        elements: usize,
    },
    /// All-reduce, compute without any call, and all-reduce again and again
    Pause {
        #[arg(long)]
        ms: u64,
        #[arg(long)]
        elements: usize,
    },
    /// One of the first two ranks sends a byte to the other when all have computed, and nobody ever before
    First {
        #[arg(long)]
        ms: u64,
        #[arg(long)]
        sender: usize,
    },
    /// Rank 0 sends to rank 1, which computes and reads nothing, and then takes all of it
    Flood {
        #[arg(long)]
        ms: u64,
        #[arg(long)]
        bytes: usize,
        #[arg(long)]
        messages: u64,
    },
    /// Wait for a message from the next rank that never comes; where `answer` is given, from this rank it does after
    /// all, by another thread
    Recv {
        #[arg(long)]
        answer: Option<usize>,
        /// When, in milliseconds
        #[arg(long, default_value_t = 0)]
        ms: u64,
    },
    /// All-reduce; then one rank sleeps, and the others wait for it in a barrier
    Sleep {
        #[arg(long)]
        rank: usize,
        #[arg(long)]
        ms: u64,
    },
    /// One rank does something unusual; the others wait for it in an all-reduce
    Victim {
        #[arg(long)]
        rank: usize,
        #[arg(long)]
        act: Act,
        #[arg(long, default_value_t = 7)]
        code: i32,
        /// The others exit as soon as that has failed, without dropping the world
        #[arg(long)]
        hard: bool,
    },
    /// One rank leaves early and in good order; the others go on without it
    Leave {
        #[arg(long)]
        rank: usize,
    },
    /// Each takes a byte from the rank before it, gives it to the one after it, and is gone
    Pass {
        /// Leave at once instead, with nothing sent
        #[arg(long)]
        nothing: bool,
    },
    /// Rank 1 calls another collective than the others
    Mismatch {
        #[arg(long)]
        kind: Kind,
    },
    /// Ranks call the same with different roots, and then leave
    Roots {
        #[arg(long)]
        call: Rooted,
    },
    /// A user-defined operation panics on one rank
    FragileOp {
        #[arg(long)]
        rank: usize,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum Act {
    /// Exit without dropping the world
    Exit,
    Panic,
    /// In a scope with an operation under way
    PanicInScope,
    Abort,
    /// Compute for ever, never calling
    Compute,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    Count,
    Dtype,
    Op,
    Root,
    Call,
    /// The same two calls in another order
    Order,
    User,
    Counts,
    Settings,
}

#[derive(Clone, Copy, ValueEnum)]
enum Long {
    AllReduce,
    AllGather,
}

#[derive(Clone, Copy, ValueEnum)]
enum Rooted {
    Broadcast,
    BroadcastObject,
    Scatter,
    Gather,
    Reduce,
}

/// Why a scenario did not go well.
enum Trouble {
    Failed(Error),
    Wrong(String),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// One event, in one write, so that the lines of ranks that share a pipe do not mix.
fn say(event: &str, rank: Option<usize>, more: &str) {
    let rank = rank.map(|rank| format!(" rank={rank}")).unwrap_or_default();
    let line = format!("{event}{rank} at={} pid={} {more}\n", clock::now(), std::process::id());
    let mut out = std::io::stdout().lock();
    // Nobody may be listening any more; the scenario goes on all the same.
    let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
}

/// The name of the error's variant, and its text on one line.
fn describe(error: &Error) -> String {
    format!("kind={} text={}", error.name(), error.to_string().replace('\n', " / "))
}

fn main() -> ExitCode {
    let scenario = Arguments::parse().scenario;
    let start = Instant::now();
    let world = match World::from_env() {
        Ok(world) => world,
        Err(error) => {
            say("refused", None, &describe(&error));
            return NO_WORLD.into();
        }
    };
    let rank = world.rank();
    // To each rank, in their order.
    let transports: Vec<_> = (0..world.size()).map(|rank| world.route(rank).transport).collect();
    let formed = format!(
        "transports={} size={} local_rank={} local_size={} host={} ms={}",
        transports.join(","),
        world.size(),
        world.local_rank(),
        world.local_size(),
        world.host(rank),
        start.elapsed().as_millis()
    );
    say("formed", Some(rank), &formed);
    match play(world, &scenario) {
        Ok(()) => {
            say("left", Some(rank), "");
            ExitCode::SUCCESS
        }
        Err(Trouble::Failed(error)) => {
            say("gone", Some(rank), &describe(&error));
            FAILED.into()
        }
        Err(Trouble::Wrong(text)) => {
            say("wrong", Some(rank), &format!("text={text}"));
            WRONG.into()
        }
    }
}

fn play(world: World, scenario: &Scenario) -> Result<(), Trouble> {
    let rank = world.rank();
    let result = match *scenario {
        Scenario::Meet { elements } => meet(&world, elements),
        Scenario::AllReduce { elements, iterations } => all_reduce(&world, elements, iterations),
        Scenario::Stream { bytes, messages } => stream(&world, bytes, messages),
        Scenario::Hosts => hosts(&world),
        Scenario::Bits { call, elements, iterations } => bits(&world, call, elements, iterations),
        Scenario::Family { ref elements, ref only, halves } => family(&world, only, elements, halves),
        Scenario::Late { ms } => late(&world, Duration::from_millis(ms)),
        Scenario::Crowd => crowd(&world),
        Scenario::Mesh => mesh(&world),
        Scenario::Exchange { elements } => exchange(&world, elements),
        Scenario::Pause { ms, elements } => pause(&world, Duration::from_millis(ms), elements),
        Scenario::First { ms, sender } => first(&world, Duration::from_millis(ms), sender),
        Scenario::Flood { ms, bytes, messages } => flood(&world, Duration::from_millis(ms), bytes, messages),
        Scenario::Recv { answer, ms } => recv(&world, answer, Duration::from_millis(ms)),
        Scenario::Sleep { rank, ms } => sleep(&world, rank, Duration::from_millis(ms)),
        Scenario::Victim { rank, act, code, .. } => victim(&world, rank, act, code),
        Scenario::Leave { rank } => return leave(world, rank),
        Scenario::Pass { nothing: true } => Ok(()),
        Scenario::Pass { nothing: false } => pass(&world),
        Scenario::Mismatch { kind } => mismatch(&world, kind),
        Scenario::Roots { call } => return roots(world, call),
        Scenario::FragileOp { rank } => fragile_op(&world, rank),
    };
    if let Err(Trouble::Failed(error)) = &result {
        // Before the world is dropped: the time that counts is that of the error.
        say("failed", Some(rank), &describe(error));
        if matches!(scenario, Scenario::Victim { hard: true, .. }) {
            std::process::exit(FAILED.into());
        }
    }
    drop(world);
    result
}

/// What `rank` contributes to element `index`: small whole numbers, so that sums of f32 are exact.
fn contribution(rank: usize, index: usize, round: u64) -> f32 {
    (rank + 1) as f32 + ((index + round as usize) % 97) as f32
}

fn expected(size: usize, index: usize, round: u64) -> f32 {
    (size * (size + 1) / 2) as f32 + (size * ((index + round as usize) % 97)) as f32
}

fn reduce_once(world: &World, data: &mut [f32], round: u64) -> Result<(), Trouble> {
    let (rank, size) = (world.rank(), world.size());
    for (index, x) in data.iter_mut().enumerate() {
        *x = contribution(rank, index, round);
    }
    world.all_reduce(data, Op::Sum)?;
    match data.iter().enumerate().find(|&(index, x)| *x != expected(size, index, round)) {
        None => Ok(()),
        Some((index, x)) => Err(Trouble::Wrong(format!(
            "element {index} of all_reduce {round} is {x}, not {}",
            expected(size, index, round)
        ))),
    }
}

fn meet(world: &World, elements: usize) -> Result<(), Trouble> {
    let start = Instant::now();
    world.barrier()?;
    let barrier = start.elapsed();
    reduce_once(world, &mut vec![0.0; elements], 0)?;
    let reduced = start.elapsed() - barrier;
    // All have arrived and nobody has left: this is what a rank of such a world uses.
    world.barrier()?;
    let (pss, rss) = proc::own_memory();
    let more = format!(
        "barrier_us={} all_reduce_us={} pss_kib={pss} rss_kib={rss}",
        barrier.as_micros(),
        reduced.as_micros()
    );
    say("met", Some(world.rank()), &more);
    Ok(world.barrier()?)
}

fn all_reduce(world: &World, elements: usize, iterations: u64) -> Result<(), Trouble> {
    let mut data = vec![0.0; elements];
    let mut round = 0;
    while iterations == 0 || round < iterations {
        reduce_once(world, &mut data, round)?;
        round += 1;
        if round == 1 {
            say("looping", Some(world.rank()), "");
        }
    }
    Ok(())
}

fn stream(world: &World, bytes: usize, messages: u64) -> Result<(), Trouble> {
    // The last of it shows that all of it has come: nothing is overtaken.
    let mut data = vec![0u8; bytes];
    for round in 0..messages {
        world.barrier()?;
        let start = Instant::now();
        match world.rank() {
            0 => {
                data.fill(round as u8);
                world.send(&data, 1, 7)?;
                world.recv(&mut [0u8], 1, 8)?;
                let us = start.elapsed().as_micros();
                say("streamed", Some(0), &format!("bytes={bytes} us={us}"));
            }
            1 => {
                world.recv(&mut data, 0, 7)?;
                world.send(&[1u8], 0, 8)?;
                if let Some(index) = data.iter().position(|byte| *byte != round as u8) {
                    return Err(Trouble::Wrong(format!(
                        "byte {index} of message {round} is {}",
                        data[index]
                    )));
                }
            }
            _ => {}
        }
    }
    Ok(world.barrier()?)
}

fn hosts(world: &World) -> Result<(), Trouble> {
    let here = world.split_by_host()?;
    let mut ranks = vec![0u64; here.size()];
    here.all_gather(&[world.rank() as u64], &mut ranks)?;
    if ranks.iter().any(|rank| world.host(*rank as usize) != world.host(world.rank())) {
        return Err(Trouble::Wrong(format!("ranks {ranks:?} are not all on {}", world.host(world.rank()))));
    }
    say("met", Some(world.rank()), &format!("here={} of={}", here.rank(), here.size()));
    Ok(world.barrier()?)
}

/// Of many magnitudes, so that sums in another order are others.
fn rounded(rank: usize, index: usize) -> f32 {
    ((rank * 7919 + index * 104_729) % 1009) as f32 * 1e3_f32.powi((rank * 3 + index) as i32 % 5)
}

fn bits(world: &World, call: Long, elements: usize, iterations: usize) -> Result<(), Trouble> {
    let (rank, size) = (world.rank(), world.size());
    let mine: Vec<f32> = (0..elements).map(|index| rounded(rank, index)).collect();
    let mut result = match call {
        Long::AllReduce => vec![0.0; elements],
        Long::AllGather => vec![0.0; elements * size],
    };
    for _ in 0..iterations {
        match call {
            Long::AllReduce => world.all_reduce_into(&mine, &mut result, Op::Sum)?,
            Long::AllGather => world.all_gather(&mine, &mut result)?,
        }
    }
    // From rank 0 upwards, as `reproducible` promises, and as blocks lie.
    let strict = |index: usize| match call {
        Long::AllReduce => (1..size).fold(rounded(0, index), |sum, rank| sum + rounded(rank, index)),
        Long::AllGather => rounded(index / elements, index % elements),
    };
    let (mut digest, mut differ) = (0xcbf2_9ce4_8422_2325_u64, 0);
    for (index, x) in result.iter().enumerate() {
        // FNV-1a, of whole numbers instead of bytes.
        digest = (digest ^ u64::from(x.to_bits())).wrapping_mul(0x0100_0000_01b3);
        let expected = strict(index);
        differ += usize::from(x.to_bits() != expected.to_bits());
        if (x - expected).abs() > expected.abs() * 1e-5 {
            return Err(Trouble::Wrong(format!("element {index} is {x}, not about {expected}")));
        }
    }
    say("summed", Some(rank), &format!("digest={digest} differ={differ}"));
    Ok(world.barrier()?)
}

fn late(world: &World, how_late: Duration) -> Result<(), Trouble> {
    let first = world.rank() == 0;
    let mut data = vec![1f32; 100_000];
    for call in ["recv", "recv-large", "barrier", "all-reduce", "all-reduce-large", "recv-in-background"] {
        world.barrier()?;
        // Its news, and those of a connection just made, are not what is measured.
        std::thread::sleep(Duration::from_millis(50));
        let (start, cpu) = (Instant::now(), clock::cpu());
        if first {
            std::thread::sleep(how_late);
        }
        match (call, first) {
            ("recv", true) => (1..world.size()).try_for_each(|rank| world.send(&[1f32], rank, 7))?,
            ("recv", false) => drop(world.recv(&mut [0f32], 0, 7)?),
            ("recv-large", true) => (1..world.size()).try_for_each(|rank| world.send(&data, rank, 7))?,
            ("recv-large", false) => drop(world.recv(&mut data, 0, 7)?),
            ("barrier", _) => world.barrier()?,
            ("all-reduce", _) => world.all_reduce(&mut [1f32], Op::Sum)?,
            ("all-reduce-large", _) => world.all_reduce(&mut data, Op::Sum)?,
            // Nobody waits: the helper thread does.
            (_, true) => (1..world.size()).try_for_each(|rank| world.send(&[1f32], rank, 7))?,
            (_, false) => {
                let pending = world.start_recv(vec![0f32], 0, 7)?;
                std::thread::sleep(how_late);
                pending.wait()?;
            }
        }
        let (took, cost) = (start.elapsed(), clock::cpu() - cpu);
        let more = format!("call={call} us={} cpu_us={}", took.as_micros(), cost.as_micros());
        say("waited", Some(world.rank()), &more);
    }
    Ok(world.barrier()?)
}

fn pause(world: &World, pause: Duration, elements: usize) -> Result<(), Trouble> {
    let mut data = vec![0.0; elements];
    reduce_once(world, &mut data, 0)?;
    say("looping", Some(world.rank()), "");
    std::thread::sleep(pause);
    say("calling", Some(world.rank()), "");
    all_reduce(world, elements, 0)
}

fn first(world: &World, pause: Duration, sender: usize) -> Result<(), Trouble> {
    say("looping", Some(world.rank()), "");
    std::thread::sleep(pause);
    say("calling", Some(world.rank()), "");
    let other = 1 - sender;
    if world.rank() == sender {
        world.send(&[1u8], other, 7)?;
        world.recv(&mut [0u8], other, 8)?;
    } else if world.rank() == other {
        world.recv(&mut [0u8], sender, 7)?;
        world.send(&[1u8], sender, 8)?;
    }
    Ok(())
}

fn flood(world: &World, pause: Duration, bytes: usize, messages: u64) -> Result<(), Trouble> {
    world.barrier()?;
    let mut data = vec![0u8; bytes];
    match world.rank() {
        0 => (0..messages).try_for_each(|_| world.send(&data, 1, 7))?,
        1 => {
            std::thread::sleep(pause);
            (0..messages).try_for_each(|_| world.recv(&mut data, 0, 7).map(drop))?;
        }
        _ => {}
    }
    Ok(world.barrier()?)
}

fn recv(world: &World, answer: Option<usize>, pause: Duration) -> Result<(), Trouble> {
    world.barrier()?;
    say("looping", Some(world.rank()), "");
    let (rank, size) = (world.rank(), world.size());
    let pass_on = || world.send(&[0u8; 8], (rank + size - 1) % size, 7);
    std::thread::scope(|scope| {
        if answer == Some(rank) {
            scope.spawn(move || {
                std::thread::sleep(pause);
                pass_on()
            });
        }
        world.recv(&mut [0u8; 8], (rank + 1) % size, 7)
    })?;
    match answer {
        None => Err(Trouble::Wrong("a message that nobody sent has arrived".to_owned())),
        Some(first) if first == rank => Ok(()),
        Some(_) => Ok(pass_on()?),
    }
}

fn sleep(world: &World, who: usize, pause: Duration) -> Result<(), Trouble> {
    world.all_reduce(&mut [1f32; 100], Op::Sum)?;
    say("looping", Some(world.rank()), "");
    if world.rank() == who {
        std::thread::sleep(pause);
    }
    Ok(world.barrier()?)
}

#[expect(clippy::panic, reason = "the scenario is a rank that panics")]
fn victim(world: &World, who: usize, act: Act, code: i32) -> Result<(), Trouble> {
    world.barrier()?;
    say("looping", Some(world.rank()), "");
    if world.rank() != who {
        return Ok(world.all_reduce(&mut [1f32; 100], Op::Sum)?);
    }
    // Until then the others are waiting.
    std::thread::sleep(Duration::from_millis(300));
    say("acting", Some(who), "");
    match act {
        Act::Exit => std::process::exit(code),
        Act::Panic => panic!("the victim panics on purpose"),
        Act::PanicInScope => {
            let mut never = [0u8; 100];
            Ok(world.scope(|s| -> ringworld::Result<()> {
                let _under_way = s.recv(&mut never, (who + 1) % world.size(), 9)?;
                panic!("the victim panics in a scope on purpose")
            })?)
        }
        Act::Abort => world.abort_with(code, "the victim has seen enough"),
        Act::Compute => loop {
            std::hint::black_box((0..1_000_000u64).fold(0, u64::wrapping_add));
        },
    }
}

fn crowd(world: &World) -> Result<(), Trouble> {
    let (rank, size) = (world.rank(), world.size());
    let mut byte = [rank as u8];
    if rank == 0 {
        for from in 1..size {
            world.recv(&mut byte, from, 1)?;
            if byte != [from as u8] {
                return Err(Trouble::Wrong(format!("{byte:?} came from rank {from}")));
            }
        }
        for to in 1..size {
            world.send(&[to as u8], to, 2)?;
        }
    } else {
        world.send(&byte, 0, 1)?;
        world.recv(&mut byte, 0, 2)?;
    }
    say("answered", Some(rank), &format!("files={}", proc::open_files()));
    Ok(())
}

fn mesh(world: &World) -> Result<(), Trouble> {
    let (rank, size) = (world.rank(), world.size());
    let start = Instant::now();
    for step in 1..size {
        let (to, from) = ((rank + step) % size, (rank + size - step) % size);
        let mut byte = [0];
        world.send_recv(&[rank as u8], to, 1, &mut byte, from, 1)?;
        if byte != [from as u8] {
            return Err(Trouble::Wrong(format!("{byte:?} came from rank {from}")));
        }
    }
    // All have met all, and nobody has left.
    world.barrier()?;
    let mesh = start.elapsed().as_micros();
    let (pss, rss) = proc::own_memory();
    let files = proc::open_files();
    say("met", Some(rank), &format!("mesh_us={mesh} files={files} pss_kib={pss} rss_kib={rss}"));
    Ok(world.barrier()?)
}

/// Each collective twice: the first time it makes the connections that it needs.
fn exchange(world: &World, elements: usize) -> Result<(), Trouble> {
    let (rank, size) = (world.rank(), world.size());
    let all_are = |what: &str, block: &[u64], value: usize| match block.iter().all(|x| *x == value as u64) {
        true => Ok(()),
        false => Err(Trouble::Wrong(format!("{what} gave a wrong result on rank {rank}"))),
    };
    let mut times = String::new();
    let mut time = |what: &str, start: Instant| {
        times += &format!("{what}_us={} ", start.elapsed().as_micros());
    };
    for turn in ["first", "again"] {
        let start = Instant::now();
        world.barrier()?;
        time(&format!("{turn}_barrier"), start);

        let start = Instant::now();
        let mut sum = vec![rank as u64; elements];
        world.all_reduce(&mut sum, Op::Sum)?;
        time(&format!("{turn}_all_reduce"), start);
        all_are("all_reduce", &sum, size * (size - 1) / 2)?;

        let start = Instant::now();
        let mut all = vec![0u64; if rank == 0 { size * elements } else { 0 }];
        world.gather(&vec![rank as u64; elements], &mut all, 0)?;
        time(&format!("{turn}_gather"), start);
        for (from, block) in all.chunks(elements).enumerate() {
            all_are("gather", block, from)?;
        }

        let start = Instant::now();
        let mine: Vec<u64> = (0..size * elements).map(|at| (rank * size + at / elements) as u64).collect();
        let mut theirs = vec![0; size * elements];
        world.all_to_all(&mine, &mut theirs)?;
        time(&format!("{turn}_all_to_all"), start);
        for (from, block) in theirs.chunks(elements).enumerate() {
            all_are("all_to_all", block, from * size + rank)?;
        }
    }
    let (pss, rss) = proc::own_memory();
    let more = format!("{times}files={} pss_kib={pss} rss_kib={rss}", proc::open_files());
    say("met", Some(rank), &more);
    Ok(())
}

fn pass(world: &World) -> Result<(), Trouble> {
    let (rank, size) = (world.rank(), world.size());
    let mut byte = [0u8];
    if rank > 0 {
        world.recv(&mut byte, rank - 1, 5)?;
    }
    let expected = u8::try_from(rank).unwrap_or(u8::MAX);
    if byte[0] != expected {
        return Err(Trouble::Wrong(format!("a byte of {} has come instead of {expected}", byte[0])));
    }
    if rank + 1 < size {
        world.send(&[expected + 1], rank + 1, 5)?;
    }
    Ok(())
}

fn leave(world: World, who: usize) -> Result<(), Trouble> {
    const MESSAGE: usize = 100_000;
    let (rank, size) = (world.rank(), world.size());
    world.barrier()?;
    let others: Vec<usize> = (0..size).filter(|&other| other != who).collect();
    if rank == who {
        for &other in &others {
            world.send(&vec![other as u32; MESSAGE], other, 5)?;
        }
        drop(world);
        return Ok(());
    }
    // Long enough for the other to be gone, if nothing keeps it.
    std::thread::sleep(Duration::from_millis(200));
    let mut data = vec![0u32; MESSAGE];
    world.recv(&mut data, who, 5)?;
    if data.iter().any(|x| *x != rank as u32) {
        return Err(Trouble::Wrong("the message of the rank that left is damaged".to_owned()));
    }
    let place = others.iter().position(|&other| other == rank).unwrap_or(0);
    let (to, from) = (others[(place + 1) % others.len()], others[(place + others.len() - 1) % others.len()]);
    let sending = world.start_send(vec![rank as u64; 10], to, 6)?;
    let mut got = [0u64; 10];
    world.recv(&mut got, from, 6)?;
    sending.wait()?;
    if got != [from as u64; 10] {
        return Err(Trouble::Wrong("the message of a rank that stayed is damaged".to_owned()));
    }
    say("stayed", Some(rank), "");
    let missing = world.recv(&mut [0u8; 8], who, 7);
    if let Err(error) = &missing {
        say("failed", Some(rank), &describe(error));
    }
    drop(world);
    missing?;
    Err(Trouble::Wrong("a message that nobody sent has arrived".to_owned()))
}

fn fragile_op(world: &World, who: usize) -> Result<(), Trouble> {
    let rank = world.rank();
    world.barrier()?;
    say("looping", Some(rank), "");
    let op = UserOp::new("fragile", move |a: f32, b: f32| {
        assert!(rank != who, "the operation panics on purpose");
        a + b
    });
    // Only in a direct exchange does every rank, and so this one, combine anything.
    let direct = world.with(&Options::new().algorithm("all-reduce/direct")?);
    direct.all_reduce(&mut [1f32; 100], op.commutative())?;
    // A rank may have all it needs before another finds out; the next call must fail then.
    Ok(world.barrier()?)
}

/// Rank 0 takes itself for the root, the others take rank 1.
fn roots(world: World, call: Rooted) -> Result<(), Trouble> {
    let (rank, size, root) = (world.rank(), world.size(), world.rank().min(1));
    let mut data = [rank as u32; 4];
    let called = match call {
        Rooted::Broadcast => world.broadcast(&mut data, root),
        Rooted::BroadcastObject => world.broadcast_object((rank == root).then_some(data), root).map(drop),
        Rooted::Scatter => world.scatter(&vec![0u32; 4 * size], &mut data, root),
        Rooted::Gather => world.gather(&data, &mut vec![0; 4 * size], root),
        Rooted::Reduce => world.reduce(&mut data, Op::Sum, root),
    };
    called.and(world.finish()).inspect_err(|error| say("failed", Some(rank), &describe(error)))?;
    Ok(())
}

fn mismatch(world: &World, kind: Kind) -> Result<(), Trouble> {
    let odd = world.rank() == 1;
    world.barrier()?;
    say("looping", Some(world.rank()), "");
    let mut floats = [1f32; 100];
    match (kind, odd) {
        (Kind::Count, true) => world.all_reduce(&mut [1f32; 99], Op::Sum)?,
        (Kind::Dtype, true) => world.all_reduce(&mut [1i32; 100], Op::Sum)?,
        (Kind::Op, true) => world.all_reduce(&mut floats, Op::Max)?,
        (Kind::Call, true) => world.barrier()?,
        (Kind::Order, true) => {
            world.all_gather(&[1u16; 8], &mut vec![0; 8 * world.size()])?;
            world.all_reduce(&mut floats, Op::Sum)?;
        }
        (Kind::Order, false) => {
            world.all_reduce(&mut floats, Op::Sum)?;
            world.all_gather(&[1u16; 8], &mut vec![0; 8 * world.size()])?;
        }
        (Kind::User, _) => {
            let name = if odd { "larger" } else { "sum" };
            world.all_reduce(&mut floats, UserOp::new(name, |a: f32, b: f32| a + b))?;
        }
        (Kind::Counts, _) => {
            let counts: Vec<usize> = (0..world.size()).map(|rank| 10 + rank * usize::from(odd)).collect();
            let mut all = vec![0f32; counts.iter().sum()];
            world.all_gather_varied(&floats[..counts[world.rank()]], &mut all, &counts)?;
        }
        (Kind::Settings, true) => {
            world.with(&Options::new().reproducible(true)).all_reduce(&mut floats, Op::Sum)?;
        }
        (Kind::Root, _) => world.broadcast(&mut floats, usize::from(odd))?,
        (_, false) => world.all_reduce(&mut floats, Op::Sum)?,
    }
    // A rank may have all it needs before another finds out; the next call must fail then.
    Ok(world.barrier()?)
}
