//! What two or four processes get out of plain TCP sockets: the limit that no library on the same wire can pass.
//!
//! `raw <op> <min bytes> <max bytes> <milliseconds per size>` starts the other processes itself, joined over
//! loopback, and prints the same lines as `twin`, whose figures `benches/peers/run` puts beside these. There is no
//! matching, no header and no choice: all know every byte that comes, and poll non-blocking sockets. Operations:
//!
//! - `pingpong`: a message there and back, half of it;
//! - `stream`: a window of messages one way, then one byte back, per message;
//! - `exchange`: both send and receive the same bytes at once, in calls of 512 KiB at most, on two sockets, one
//!   per direction: what an all-reduce of two ranks has to move, without the sum;
//! - `doubling`: four processes exchange the same bytes with one neighbour each, then with the other: what an
//!   all-reduce of a short vector has to move, without the sum.
//!
//! Invariant: nothing of ringworld is used but the list of sizes, so what is measured cannot share its mistakes.

#![allow(clippy::print_stdout, reason = "the lines are what this program is for")]

use std::cell::Cell;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, ExitCode};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use ringworld_benches::schedule::Operation;
use socket2::{Domain, Socket, Type};

const BATCHES: u64 = 15;
const FEWEST: u64 = 3;
/// The most bytes of one call, and the socket buffers: what keeps bytes in the cache on loopback.
const CALL: usize = 512 << 10;
const BUFFER: usize = 512 << 10;
/// In place of a number of iterations: this was all of that size, and none yet.
const END: u64 = 0;
const NOTHING: u64 = u64::MAX;

type Error = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("raw: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [rank, port, op, min, max] = &arguments[..]
        && let Some(rank) = rank.strip_prefix("--rank=")
    {
        let op = op.parse()?;
        return Part::join(rank.parse()?, port.parse()?, op)?.follow(sizes(min, max)?);
    }
    let [op, min, max, budget] = &arguments[..] else {
        return Err("usage: raw <op> <min bytes> <max bytes> <milliseconds per size>".into());
    };
    let parsed: Op = op.parse()?;
    let budget = Duration::from_millis(budget.parse()?);
    let listener = listener()?;
    let port = listener.local_addr()?.port().to_string();
    let mut others = Vec::new();
    for rank in 1..parsed.ranks() {
        let arguments = [&format!("--rank={rank}"), &port, op, min, max];
        others.push(Command::new(std::env::current_exe()?).args(arguments).spawn()?);
    }
    let result =
        Part::accept(&listener, &mut others, parsed).and_then(|part| part.lead(op, sizes(min, max)?, budget));
    for other in &mut others {
        if result.is_err() {
            // It may be waiting for bytes that never come.
            let _ = other.kill();
        }
        let status = other.wait()?;
        if result.is_ok() && !status.success() {
            return Err(format!("another process ended with {status}").into());
        }
    }
    result
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Op {
    PingPong,
    Stream,
    Exchange,
    Doubling,
}

impl std::str::FromStr for Op {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Ok(match name {
            "pingpong" => Self::PingPong,
            "stream" => Self::Stream,
            "exchange" => Self::Exchange,
            "doubling" => Self::Doubling,
            _ => {
                let known = "there are pingpong, stream, exchange and doubling";
                return Err(format!("there is no operation {name:?}; {known}").into());
            }
        })
    }
}

impl Op {
    fn ranks(self) -> usize {
        if self == Self::Doubling { 4 } else { 2 }
    }

    /// Which sockets of a process lead to those that it tells how many iterations follow.
    fn below(self, rank: usize) -> &'static [usize] {
        match (self, rank) {
            (Self::Doubling, 0) => &[0, 1],
            (Self::Doubling, 1) => &[1],
            (Self::Doubling, _) => &[],
            (_, 0) => &[0],
            (_, _) => &[],
        }
    }

    /// Which socket leads to the one that tells it.
    fn above(rank: usize) -> usize {
        usize::from(rank > 1)
    }

    /// The fewest iterations between two readings of the clock. Where processes share cores, the first few wait for
    /// nobody, because the others have been there before, or for a whole turn of the scheduler.
    fn least(self) -> u64 {
        if self == Self::Doubling { 256 } else { 1 }
    }

    /// The part of an iteration that is reported.
    fn share(self, bytes: usize) -> f64 {
        match self {
            Self::PingPong => 0.5,
            Self::Stream => 1.0 / window(bytes) as f64,
            Self::Exchange | Self::Doubling => 1.0,
        }
    }
}

fn sizes(min: &str, max: &str) -> Result<impl Iterator<Item = usize>, Error> {
    // Those of every operation that has no limit of its own.
    Ok(Operation::PingPong.sizes(min.parse()?, max.parse()?).into_iter())
}

/// One process and its two sockets. Of two processes both lead to the other one, one for each direction when both
/// send at once. Of four the first leads to the one whose number differs in the lowest bit, the second to the one
/// whose number differs in the other.
struct Part {
    op: Op,
    rank: usize,
    sockets: [TcpStream; 2],
    send: Vec<u8>,
    recv: Vec<u8>,
}

impl Part {
    fn new(op: Op, rank: usize, sockets: [TcpStream; 2]) -> Result<Self, Error> {
        for socket in &sockets {
            socket.set_nodelay(true)?;
            socket.set_nonblocking(true)?;
        }
        if available_parallelism()?.get() < op.ranks() {
            KEEN.set(0);
        }
        Ok(Self { op, rank, sockets, send: Vec::new(), recv: Vec::new() })
    }

    /// The first process: waits for the others, or for the end of one of them.
    fn accept(listener: &TcpListener, others: &mut [Child], op: Op) -> Result<Self, Error> {
        let mut next = || {
            accepted(listener, || {
                for other in &mut *others {
                    if let Some(status) = other.try_wait()? {
                        return Err(format!("another process ended at once, with {status}").into());
                    }
                }
                Ok(())
            })
        };
        if op != Op::Doubling {
            return Self::new(op, 0, [next()?, next()?]);
        }
        let (mut sockets, mut ports) = ((None, None, None), [0; 3]);
        let [first, second, mut third] = loop {
            let mut socket = next()?;
            let mut hello = [0; 3];
            socket.read_exact(&mut hello)?;
            let [rank @ 1..=3, port @ ..] = hello else { return Err("somebody else has connected".into()) };
            ports[usize::from(rank) - 1] = u16::from_le_bytes(port);
            match rank {
                1 => sockets.0 = Some(socket),
                2 => sockets.1 = Some(socket),
                _ => sockets.2 = Some(socket),
            }
            sockets = match sockets {
                (Some(first), Some(second), Some(third)) => break [first, second, third],
                some => some,
            };
        };
        for port in [ports[1], ports[0]] {
            third.write_all(&port.to_le_bytes())?;
        }
        Self::new(op, 0, [first, second])
    }

    /// Any other process.
    fn join(rank: usize, port: u16, op: Op) -> Result<Self, Error> {
        let connect = |port: u16| {
            let socket = tuned()?;
            socket.connect(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)).into())?;
            Ok::<TcpStream, Error>(socket.into())
        };
        if op != Op::Doubling {
            return Self::new(op, rank, [connect(port)?, connect(port)?]);
        }
        let listener = listener()?;
        let mut first = connect(port)?;
        let [low, high] = listener.local_addr()?.port().to_le_bytes();
        first.write_all(&[rank as u8, low, high])?;
        let patience = Instant::now() + Duration::from_secs(10);
        let third = || {
            accepted(&listener, || match Instant::now() < patience {
                true => Ok(()),
                false => Err("the other processes have not come within 10 s".into()),
            })
        };
        let sockets = match rank {
            1 => [first, third()?],
            2 => [third()?, first],
            _ => {
                let mut port = || {
                    let mut port = [0; 2];
                    first.read_exact(&mut port).map(|()| u16::from_le_bytes(port))
                };
                let ports = [port()?, port()?];
                [connect(ports[0])?, connect(ports[1])?]
            }
        };
        Self::new(op, rank, sockets)
    }

    /// Measures, as the first process, and tells the others how many iterations follow.
    fn lead(mut self, name: &str, sizes: impl Iterator<Item = usize>, budget: Duration) -> Result<(), Error> {
        for bytes in sizes {
            self.allocate(bytes);
            let least = self.op.least();
            let mut times = least;
            // The last of these tells how long one iteration takes.
            let estimate = loop {
                let seconds = self.batch(times)?;
                if seconds * 20.0 >= budget.as_secs_f64() {
                    break seconds / times as f64;
                }
                times *= 2;
            };
            let each = (budget.as_secs_f64() / BATCHES as f64 / estimate) as u64;
            let (batches, times) = if each >= least {
                (BATCHES, each)
            } else {
                (((budget.as_secs_f64() / estimate) as u64 / least).max(FEWEST), least)
            };
            let mut seconds = Vec::new();
            let before = processor() + self.announce(NOTHING)?;
            for _ in 0..batches {
                seconds.push(self.batch(times)? / times as f64 * self.op.share(bytes));
            }
            let used = processor() + self.announce(NOTHING)? - before;
            self.announce(END)?;
            seconds.sort_by(f64::total_cmp);
            let (median, least) = (seconds[seconds.len() / 2], seconds[0]);
            println!("{name},{bytes},{},{median:e},{least:e},{used:.6}", batches * times);
            std::io::stdout().flush()?;
        }
        Ok(())
    }

    fn batch(&mut self, times: u64) -> Result<f64, Error> {
        self.announce(times)?;
        let start = Instant::now();
        for _ in 0..times {
            self.iterate()?;
        }
        Ok(start.elapsed().as_secs_f64())
    }

    /// Does, as any other process, what the first one tells it, until it tells that this was all.
    fn follow(mut self, sizes: impl Iterator<Item = usize>) -> Result<(), Error> {
        let above = Op::above(self.rank);
        for bytes in sizes {
            self.allocate(bytes);
            loop {
                let mut times = [0; 8];
                read(&self.sockets[above], &mut times)?;
                let times = u64::from_le_bytes(times);
                let used = processor() + self.announce(times)?;
                write(&self.sockets[above], &used.to_le_bytes())?;
                match times {
                    END => break,
                    NOTHING => {}
                    times => (0..times).try_for_each(|_| self.iterate())?,
                }
            }
        }
        Ok(())
    }

    /// Tells those below how many iterations follow; returns their processor time so far.
    fn announce(&self, times: u64) -> Result<f64, Error> {
        let below = self.op.below(self.rank).iter().map(|&socket| &self.sockets[socket]);
        for socket in below.clone() {
            write(socket, &times.to_le_bytes())?;
        }
        let mut sum = 0.0;
        for socket in below {
            let mut used = [0; 8];
            read(socket, &mut used)?;
            sum += f64::from_le_bytes(used);
        }
        Ok(sum)
    }

    fn allocate(&mut self, bytes: usize) {
        self.send = vec![1; bytes];
        self.recv = vec![2; bytes];
    }

    fn iterate(&mut self) -> Result<(), Error> {
        let Self { op, rank, sockets: [there, back], send, recv } = self;
        match (op, rank) {
            (Op::PingPong, 0) => {
                write(there, send)?;
                read(there, recv)
            }
            (Op::PingPong, _) => {
                read(there, recv)?;
                write(there, send)
            }
            (Op::Stream, 0) => {
                for _ in 0..window(send.len()) {
                    write(there, send)?;
                }
                read(there, &mut [0])
            }
            (Op::Stream, _) => {
                for _ in 0..window(recv.len()) {
                    read(there, recv)?;
                }
                write(there, &[1])
            }
            (Op::Exchange, 0) => exchange(there, back, send, recv),
            (Op::Exchange, _) => exchange(back, there, send, recv),
            (Op::Doubling, _) => {
                exchange(there, there, send, recv)?;
                exchange(back, back, send, recv)
            }
        }
    }
}

fn listener() -> Result<TcpListener, Error> {
    let listener = tuned()?;
    listener.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
    listener.listen(4)?;
    let listener: TcpListener = listener.into();
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// The next connection, unless `alarm` fails first.
fn accepted(
    listener: &TcpListener,
    mut alarm: impl FnMut() -> Result<(), Error>,
) -> Result<TcpStream, Error> {
    loop {
        match listener.accept() {
            Ok((socket, _)) => return Ok(socket),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                alarm()?;
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// A socket as every connection should begin: buffers must be set before there is a connection, because its
/// window is agreed on when it opens. Sockets of a listener inherit from it.
fn tuned() -> Result<Socket, Error> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    // Pacing, as in BBR, has no place on loopback; a system without the others is taken as it is.
    let _ = socket.set_tcp_congestion(b"cubic").or_else(|_| socket.set_tcp_congestion(b"reno"));
    socket.set_send_buffer_size(BUFFER)?;
    socket.set_recv_buffer_size(BUFFER)?;
    Ok(socket)
}

/// As many messages as the twins have under way.
fn window(bytes: usize) -> usize {
    ((64 << 20) / bytes).clamp(4, 64)
}

/// Processor time of this process so far, user and system.
fn processor() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

fn write(mut socket: &TcpStream, mut bytes: &[u8]) -> Result<(), Error> {
    while !bytes.is_empty() {
        let sent = some(socket.write(&bytes[..bytes.len().min(CALL)]))?;
        bytes = &bytes[sent..];
    }
    Ok(())
}

fn read(mut socket: &TcpStream, mut bytes: &mut [u8]) -> Result<(), Error> {
    while !bytes.is_empty() {
        let room = bytes.len().min(CALL);
        let got = some(socket.read(&mut bytes[..room]))?;
        bytes = &mut bytes[got..];
    }
    Ok(())
}

fn exchange(mut out: &TcpStream, mut inward: &TcpStream, send: &[u8], recv: &mut [u8]) -> Result<(), Error> {
    let (mut sent, mut got) = (0, 0);
    while sent < send.len() || got < recv.len() {
        if sent < send.len() {
            sent += some(out.write(&send[sent..send.len().min(sent + CALL)]))?;
        }
        if got < recv.len() {
            let room = recv.len().min(got + CALL);
            got += some(inward.read(&mut recv[got..room]))?;
        }
    }
    Ok(())
}

thread_local! {
    /// How often in a row nothing was ready.
    static IDLE: Cell<u32> = const { Cell::new(0) };
    /// So often in a row a core is kept although nothing is ready, some 2 us; then it is offered, because another
    /// process may be waiting for this very one. With more processes than cores it is offered at once.
    static KEEN: Cell<u32> = const { Cell::new(8) };
}

/// The bytes moved; none when the socket is not ready.
fn some(result: std::io::Result<usize>) -> Result<usize, Error> {
    match result {
        Ok(0) => Err("the other process has ended".into()),
        Ok(moved) => {
            IDLE.set(0);
            Ok(moved)
        }
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
            IDLE.set(IDLE.get() + 1);
            if IDLE.get() > KEEN.get() {
                std::thread::yield_now()
            } else {
                std::hint::spin_loop()
            }
            Ok(0)
        }
        Err(error) => Err(error.into()),
    }
}
