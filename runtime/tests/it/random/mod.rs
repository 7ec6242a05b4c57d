//! Random programs of everything ranks can do together, over the simulator, in shared memory and over a real wire (TCP,
//! unless `RINGWORLD_TEST_TRANSPORT` chooses another), against a naive oracle: thousands of random worlds,
//! communicators, tags, sizes and orders.
//!
//! ```text
//! rng ─▶ program ─▶ call, messages     what is done: pure, from a seed
//!                      │
//!        oracle, check ┤               what must come out: pure, loops over the data of all ranks
//!                      │
//!        play ─▶ perform, exchange     one rank's part through the public calls
//! ```
//!
//! A failure prints the seed, the command that repeats it, and the program. `RINGWORLD_SEED` runs one
//! program, `RINGWORLD_PROGRAMS` multiplies how many there are (or repeats the one).

#![allow(clippy::print_stdout, reason = "how many programs ran is part of the result")]

mod call;
mod element;
mod exchange;
mod messages;
mod oracle;
mod perform;
mod play;
mod program;
mod rng;

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

#[cfg(any(feature = "tcp", feature = "ibverbs"))]
use crate::common::real_wire;
use crate::common::{Wire, small, world};
use program::{About, Program};
use ringworld::testing::Choice;

/// How long a program may take on a loaded machine before it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(60);

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is not a number")))
}

/// What somebody needs to repeat a failure.
fn repeat_by(test: &str, seed: u64, program: &Program, where_: &str) -> String {
    format!(
        "{where_}\nrepeat it with\n  RINGWORLD_SEED={seed} cargo test -p ringworld --test it random::{test} -- \
         --exact\n{program:#?}"
    )
}

fn run(test: &str, wire: Wire, about: About, seed: u64) {
    let program = Program::draw(seed, about);
    let mut choice = if program.small { small() } else { Choice::default() };
    choice.tuning.segment = program.segment;
    choice.tuning.shortest_segment = program.segment.min(choice.tuning.shortest_segment);
    choice.reproducible = program.reproducible;
    choice.ranks_per_host = program.ranks_per_host;
    let at: Vec<AtomicUsize> = (0..program.size()).map(|_| AtomicUsize::new(0)).collect();
    let done = AtomicBool::new(false);
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let start = Instant::now();
            while !done.load(Ordering::SeqCst) {
                if start.elapsed() > PATIENCE {
                    let text = repeat_by(
                        test,
                        seed,
                        &program,
                        &format!("{test}: hangs; ranks are at rounds {at:?}"),
                    );
                    // Not by a macro: what a test prints is lost when the process ends.
                    let _ = writeln!(std::io::stderr(), "{text}");
                    std::process::exit(98);
                }
                std::thread::park_timeout(PATIENCE);
            }
        });
        let results = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            world(wire, program.size(), &choice, |rank| play::play(rank, &program, &at[rank.rank()]))
        }));
        done.store(true, Ordering::SeqCst);
        watch.thread().unpark();
        results.map_or_else(|_| vec!["a rank panicked; see above".into()], |results| results.concat())
    });
    assert!(
        wrong.is_empty(),
        "{}",
        repeat_by(test, seed, &program, &format!("{test}:\n{}", wrong.join("\n")))
    );
}

fn run_many(test: &str, about: About, programs: u64, wire: impl Fn(u64) -> Wire) {
    let times = number("RINGWORLD_PROGRAMS").unwrap_or(1);
    if let Some(seed) = number("RINGWORLD_SEED") {
        (0..times).for_each(|_| run(test, wire(seed), about, seed));
        return;
    }
    let start = Instant::now();
    for index in 0..programs * times {
        let seed = rng::mix(about as u64, index);
        run(test, wire(seed), about, seed);
    }
    println!("{test}: {} programs in {:.1?}", programs * times, start.elapsed());
}

macro_rules! programs {
    ($($test:ident: $about:ident, $programs:literal over $wire:expr;)*) => {$(
        #[test]
        fn $test() {
            run_many(stringify!($test), About::$about, $programs, $wire);
        }
    )*};
}

programs! {
    collectives_agree_with_the_oracle_over_the_simulator: Collectives, 300 over Wire::Sim;
    collectives_in_flight_together_agree_with_the_oracle_over_the_simulator: Batches, 250 over Wire::Sim;
    messages_match_as_the_oracle_allows_over_the_simulator: Messages, 250 over Wire::Sim;
    everything_at_once_agrees_with_the_oracle_over_the_simulator: Everything, 200 over Wire::Sim;
}

#[cfg(any(feature = "tcp", feature = "ibverbs"))]
programs! {
    collectives_agree_with_the_oracle_over_a_real_wire: Collectives, 15 over |_| real_wire();
    collectives_in_flight_together_agree_with_the_oracle_over_a_real_wire: Batches, 15 over |_| real_wire();
    messages_match_as_the_oracle_allows_over_a_real_wire: Messages, 15 over |_| real_wire();
    everything_at_once_agrees_with_the_oracle_over_a_real_wire: Everything, 15 over |_| real_wire();
}

#[cfg(feature = "shm")]
programs! {
    collectives_agree_with_the_oracle_in_shared_memory: Collectives, 15 over |_| Wire::Shm;
    collectives_in_flight_together_agree_with_the_oracle_in_shared_memory: Batches, 15 over |_| Wire::Shm;
    messages_match_as_the_oracle_allows_in_shared_memory: Messages, 15 over |_| Wire::Shm;
    everything_at_once_agrees_with_the_oracle_in_shared_memory: Everything, 15 over |_| Wire::Shm;
}
