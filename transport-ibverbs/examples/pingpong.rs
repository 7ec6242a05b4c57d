//! Latency and bandwidth of the bare transport between two threads on one device, for tuning, and to be held against
//! `ib_send_lat` and `ib_write_bw` of perftest on the same device.
//!
//! `cargo run --release -p ringworld-transport-ibverbs --features verbs --example pingpong [-- ROUNDS]`
//!
//! Every line is the median of several repetitions, with the fastest and the slowest. The out-of-band channel is on
//! `RINGWORLD_TEST_IP` (10.0.0.1 if unset).

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a measurement, not a product")]

use std::time::{Duration, Instant};

use ringworld_transport::{RemoteKey, Token, Transport};
use support::{Buffer, Side};

#[path = "../tests/support/mod.rs"]
mod support;

const REPEATS: usize = 7;

struct End {
    side: Side,
    peer: usize,
    awaited: usize,
    /// Keys heard so far.
    keys: usize,
    reports: bool,
}

impl End {
    /// Waits for one more message than all calls before; counting, because the next may come early.
    fn receive(&mut self) {
        self.awaited += 1;
        while self.side.received < self.awaited {
            self.side.poll();
        }
    }

    fn synchronise(&mut self) {
        self.side.send(self.peer, b"", b"");
        self.receive();
    }

    fn say(&self, name: &str, mut times: Vec<f64>, unit: &str) {
        times.sort_by(f64::total_cmp);
        if self.reports {
            let (low, high) = (times[0], times[times.len() - 1]);
            println!("{name:<36} {:>10.2} {unit}  ({low:.2} to {high:.2})", times[times.len() / 2]);
        }
    }

    /// Half round trips of messages.
    fn latency(&mut self, size: usize, rounds: usize) {
        let payload = Buffer::new(vec![1; size]);
        let mut times = Vec::new();
        for _ in 0..REPEATS {
            self.synchronise();
            let start = Instant::now();
            for _ in 0..rounds {
                if self.reports {
                    self.side.send_buffer(self.peer, payload);
                }
                self.receive();
                if !self.reports {
                    self.side.send_buffer(self.peer, payload);
                }
                while !self.side.all_sent() {
                    self.side.poll();
                }
            }
            times.push(start.elapsed().as_secs_f64() * 1e6 / rounds as f64 / 2.0);
        }
        self.say(&format!("message, half round trip, {size} B"), times, "us");
    }

    /// A stream of puts of `size` bytes each, from rank 0 to rank 1; exposing is not part of it.
    fn stream(&mut self, size: usize, count: usize) {
        let memory = Buffer::new(vec![1; size]);
        let mut rates = Vec::new();
        for _ in 0..REPEATS {
            let mut keys = Vec::new();
            let filled = self.side.filled;
            for _ in 0..count {
                let key = self.side.transport.expose(self.peer, memory.lend(), Token(0)).unwrap();
                self.side.send(self.peer, key.as_bytes(), b"");
                self.receive();
                // By number, for the next may have come already.
                keys.push(RemoteKey::new(&self.side.inbox.0[self.keys].header).unwrap());
                self.keys += 1;
            }
            self.synchronise();
            let start = Instant::now();
            if self.reports {
                for key in &keys {
                    self.side.put_buffer(self.peer, *key, memory);
                }
                while !self.side.all_sent() {
                    self.side.poll();
                }
            } else {
                while self.side.filled < filled + count {
                    self.side.poll();
                }
            }
            let took = start.elapsed();
            rates.push((size * count) as f64 / took.as_secs_f64() / 1e6);
            self.synchronise();
            // Rank 1's keys were for rank 0 only to be symmetrical; they are left open until the end.
        }
        self.say(&format!("puts of {size} B, {count} in a row"), rates, "MB/s");
    }

    /// Transfers of `size` bytes from rank 0 to rank 1, one after the other and from the same memory into the same,
    /// each with its exposure and the message that tells of it: as they come, and with the memory registered, in turns.
    fn transfers(&mut self, size: usize, count: usize) {
        let memory = Buffer::new(vec![1; size]);
        let mut rates = [Vec::new(), Vec::new()];
        for turn in 0..2 * REPEATS {
            let registers = turn % 2 == 1;
            let region = registers.then(|| self.side.transport.register(memory.lend_to_register()).unwrap());
            self.synchronise();
            let start = Instant::now();
            for _ in 0..count {
                if self.reports {
                    self.receive();
                    let key = RemoteKey::new(&self.side.inbox.0[self.keys].header).unwrap();
                    self.keys += 1;
                    self.side.put_buffer(self.peer, key, memory);
                    while !self.side.all_sent() {
                        self.side.poll();
                    }
                } else {
                    let filled = self.side.filled;
                    let key = self.side.transport.expose(self.peer, memory.lend(), Token(0)).unwrap();
                    self.side.send(self.peer, key.as_bytes(), b"");
                    while self.side.filled == filled {
                        self.side.poll();
                    }
                }
            }
            rates[usize::from(registers)].push((size * count) as f64 / start.elapsed().as_secs_f64() / 1e6);
            self.synchronise();
            if let Some(region) = region.flatten() {
                self.side.transport.deregister(region);
            }
        }
        let [plain, registered] = rates;
        self.say(&format!("transfers of {size} B"), plain, "MB/s");
        self.say(&format!("transfers of {size} B, registered"), registered, "MB/s");
    }

    /// What registering costs by itself, and ending that.
    fn registering(&mut self, size: usize, count: usize) {
        let memory = Buffer::new(vec![1; size]);
        let mut times = Vec::new();
        for _ in 0..REPEATS {
            let start = Instant::now();
            for _ in 0..count {
                let region = self.side.transport.register(memory.lend_to_register()).unwrap();
                region.into_iter().for_each(|region| self.side.transport.deregister(region));
            }
            times.push(start.elapsed().as_secs_f64() * 1e6 / count as f64);
        }
        self.say(&format!("registering {size} B"), times, "us");
    }

    fn run(mut self, rounds: usize) {
        self.synchronise();
        std::thread::sleep(Duration::from_millis(20));
        for size in [2, 64, 1024, 4096, 65_536] {
            self.latency(size, rounds);
        }
        for (size, count) in [(4096, 64), (65_536, 16), (1 << 20, 4), (8 << 20, 1)] {
            self.stream(size, count);
        }
        for (size, count) in [(65_536, 32), (1 << 20, 8), (8 << 20, 2)] {
            self.transfers(size, count);
            self.synchronise();
            // One at a time.
            if self.reports {
                self.registering(size, 20);
            }
            self.synchronise();
        }
    }
}

fn main() {
    let rounds = std::env::args().nth(1).map_or(Ok(1_000), |rounds| rounds.parse());
    let Ok(rounds) = rounds else { return println!("usage: pingpong [ROUNDS]") };
    let mut world = support::sides(2, |_| {});
    world.iter_mut().for_each(Side::frugal);
    let (other, side) = (world.pop().unwrap(), world.pop().unwrap());
    let there = End { side: other, peer: 0, awaited: 0, keys: 0, reports: false };
    let thread = std::thread::spawn(move || there.run(rounds));
    End { side, peer: 1, awaited: 0, keys: 0, reports: true }.run(rounds);
    thread.join().unwrap();
}
