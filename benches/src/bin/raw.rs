//! What two processes get out of plain TCP sockets: the limit that no library on the same wire can pass.
//!
//! `raw <op> <min bytes> <max bytes> <milliseconds per size>` starts a second process of itself, joined over
//! loopback, and prints the same lines as `twin`, whose figures `benches/peers/run` puts beside these. There is no matching, no header and no choice: both sides
//! know every byte that comes, and spin on non-blocking sockets. Operations:
//!
//! - `pingpong`: a message there and back, half of it;
//! - `stream`: a window of messages one way, then one byte back, per message;
//! - `exchange`: both send and receive the same bytes at once, in calls of 512 KiB at most, on two sockets, one
//!   per direction: what an all-reduce of two ranks has to move, without the sum.
//!
//! Invariant: nothing of ringworld is used, so what is measured cannot share its mistakes.

#![allow(clippy::print_stdout, reason = "the lines are what this program is for")]

use std::cell::Cell;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, ExitCode};
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};

const SIZES: [usize; 10] =
    [8, 64, 1 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20];
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
    if let [port, op, min, max] = &arguments[..]
        && let Some(port) = port.strip_prefix("--join=")
    {
        let pair = Pair::join(port.parse()?)?;
        return pair.follow(op, sizes(min, max)?);
    }
    let [op, min, max, budget] = &arguments[..] else {
        return Err("usage: raw <op> <min bytes> <max bytes> <milliseconds per size>".into());
    };
    if !["pingpong", "stream", "exchange"].contains(&op.as_str()) {
        return Err(format!("there is no operation {op:?}; there are pingpong, stream and exchange").into());
    }
    let budget = Duration::from_millis(budget.parse()?);
    let listener = tuned()?;
    listener.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
    listener.listen(2)?;
    let listener: TcpListener = listener.into();
    let port = listener.local_addr()?.port();
    let mut second = Command::new(std::env::current_exe()?)
        .args([format!("--join={port}"), op.clone(), min.clone(), max.clone()])
        .spawn()?;
    let result =
        Pair::accept(&listener, &mut second).and_then(|pair| pair.lead(op, sizes(min, max)?, budget));
    if result.is_err() {
        // It may be waiting for bytes that never come.
        let _ = second.kill();
    }
    let status = second.wait()?;
    result?;
    if status.success() { Ok(()) } else { Err(format!("the second process ended with {status}").into()) }
}

fn sizes(min: &str, max: &str) -> Result<impl Iterator<Item = usize>, Error> {
    let (min, max): (usize, usize) = (min.parse()?, max.parse()?);
    Ok(SIZES.into_iter().filter(move |bytes| (min..=max).contains(bytes)))
}

/// Two sockets to the other process; one for each direction when both send at once.
struct Pair {
    first: bool,
    sockets: [TcpStream; 2],
    send: Vec<u8>,
    recv: Vec<u8>,
}

impl Pair {
    fn new(first: bool, sockets: [TcpStream; 2]) -> Result<Self, Error> {
        for socket in &sockets {
            socket.set_nodelay(true)?;
            socket.set_nonblocking(true)?;
        }
        Ok(Self { first, sockets, send: Vec::new(), recv: Vec::new() })
    }

    /// Waits for both sockets, or for the end of the process that should open them.
    fn accept(listener: &TcpListener, second: &mut Child) -> Result<Self, Error> {
        listener.set_nonblocking(true)?;
        let mut next = || loop {
            match listener.accept() {
                Ok((socket, _)) => return Ok::<_, Error>(socket),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if let Some(status) = second.try_wait()? {
                        return Err(format!("the second process ended at once, with {status}").into());
                    }
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(error) => return Err(error.into()),
            }
        };
        Self::new(true, [next()?, next()?])
    }

    fn join(port: u16) -> Result<Self, Error> {
        let connect = || {
            let socket = tuned()?;
            socket.connect(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)).into())?;
            Ok::<_, Error>(socket.into())
        };
        Self::new(false, [connect()?, connect()?])
    }

    /// Measures, as the first process, and tells the second how many iterations follow.
    fn lead(mut self, op: &str, sizes: impl Iterator<Item = usize>, budget: Duration) -> Result<(), Error> {
        for bytes in sizes {
            self.allocate(bytes);
            let mut times = 1;
            // The last of these tells how long one iteration takes.
            let estimate = loop {
                let seconds = self.batch(op, times)?;
                if seconds * 20.0 >= budget.as_secs_f64() {
                    break seconds / times as f64;
                }
                times *= 2;
            };
            let each = (budget.as_secs_f64() / BATCHES as f64 / estimate) as u64;
            let (batches, times) = if each > 0 {
                (BATCHES, each)
            } else {
                (((budget.as_secs_f64() / estimate) as u64).max(FEWEST), 1)
            };
            let mut seconds = Vec::new();
            let before = processor() + self.announce(NOTHING)?;
            for _ in 0..batches {
                seconds.push(self.batch(op, times)? / times as f64 * share(op, bytes));
            }
            let used = processor() + self.announce(NOTHING)? - before;
            self.announce(END)?;
            seconds.sort_by(f64::total_cmp);
            let (median, least) = (seconds[seconds.len() / 2], seconds[0]);
            println!("{op},{bytes},{},{median:e},{least:e},{used:.6}", batches * times);
            std::io::stdout().flush()?;
        }
        Ok(())
    }

    fn batch(&mut self, op: &str, times: u64) -> Result<f64, Error> {
        self.announce(times)?;
        let start = Instant::now();
        for _ in 0..times {
            self.iterate(op)?;
        }
        Ok(start.elapsed().as_secs_f64())
    }

    /// Does, as the second process, what the first one tells it, until it tells that this was all.
    fn follow(mut self, op: &str, sizes: impl Iterator<Item = usize>) -> Result<(), Error> {
        for bytes in sizes {
            self.allocate(bytes);
            loop {
                let mut times = [0; 8];
                read(&mut self.sockets[0], &mut times)?;
                write(&mut self.sockets[1], &processor().to_le_bytes())?;
                match u64::from_le_bytes(times) {
                    END => break,
                    NOTHING => {}
                    times => (0..times).try_for_each(|_| self.iterate(op))?,
                }
            }
        }
        Ok(())
    }

    /// Tells the second process how many iterations follow; returns its processor time so far.
    fn announce(&mut self, times: u64) -> Result<f64, Error> {
        write(&mut self.sockets[0], &times.to_le_bytes())?;
        let mut used = [0; 8];
        read(&mut self.sockets[1], &mut used)?;
        Ok(f64::from_le_bytes(used))
    }

    fn allocate(&mut self, bytes: usize) {
        self.send = vec![1; bytes];
        self.recv = vec![2; bytes];
    }

    fn iterate(&mut self, op: &str) -> Result<(), Error> {
        let Self { first, sockets: [there, back], send, recv } = self;
        match (op, *first) {
            ("pingpong", true) => {
                write(there, send)?;
                read(there, recv)
            }
            ("pingpong", false) => {
                read(there, recv)?;
                write(there, send)
            }
            ("stream", true) => {
                for _ in 0..window(send.len()) {
                    write(there, send)?;
                }
                read(there, &mut [0])
            }
            ("stream", false) => {
                for _ in 0..window(recv.len()) {
                    read(there, recv)?;
                }
                write(there, &[1])
            }
            (_, true) => exchange(there, back, send, recv),
            (_, false) => exchange(back, there, send, recv),
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

fn share(op: &str, bytes: usize) -> f64 {
    match op {
        "pingpong" => 0.5,
        "stream" => 1.0 / window(bytes) as f64,
        _ => 1.0,
    }
}

fn write(socket: &mut TcpStream, mut bytes: &[u8]) -> Result<(), Error> {
    while !bytes.is_empty() {
        let sent = some(socket.write(&bytes[..bytes.len().min(CALL)]))?;
        bytes = &bytes[sent..];
    }
    Ok(())
}

fn read(socket: &mut TcpStream, mut bytes: &mut [u8]) -> Result<(), Error> {
    while !bytes.is_empty() {
        let room = bytes.len().min(CALL);
        let got = some(socket.read(&mut bytes[..room]))?;
        bytes = &mut bytes[got..];
    }
    Ok(())
}

fn exchange(out: &mut TcpStream, inward: &mut TcpStream, send: &[u8], recv: &mut [u8]) -> Result<(), Error> {
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
}

/// So often in a row a core is kept although nothing is ready, some 2 us; then it is offered, because the other
/// process may be waiting for this very one.
const KEEN: u32 = 8;

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
            if IDLE.get() > KEEN {
                std::thread::yield_now()
            } else {
                std::hint::spin_loop()
            }
            Ok(0)
        }
        Err(error) => Err(error.into()),
    }
}
