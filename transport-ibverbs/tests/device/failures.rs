//! Peers that die, as processes do, and links that go down: reported by name, within the bound, and nothing of
//! the dead is left in the kernel.
//!
//! The tests start this binary again as other ranks. Taking the link down needs the rights to do so.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Side, acquaint, config, pattern, sides, until_all};
use crate::{alone, assert_released, resources};
use ringworld_transport::{Address, Cause, Transport};
use ringworld_transport_ibverbs::{Ibverbs, available_devices};

/// Another process with one rank, killed when dropped.
struct Other {
    child: Child,
    input: ChildStdin,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Other {
    fn start(role: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "failures::rank_of_another_process", "--nocapture", "--test-threads=1"])
            .env("RINGWORLD_TEST_ROLE", role)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { input: child.stdin.take().unwrap(), child, lines }
    }

    /// The rest of the next line that has `word` in it.
    fn line_with(&mut self, word: &str) -> String {
        loop {
            let line = self.lines.next().expect("the other process has ended").unwrap();
            if let Some((_, rest)) = line.split_once(word) {
                return rest.trim().to_owned();
            }
        }
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        self.kill();
    }
}

fn hex(address: &Address) -> String {
    address.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Address {
    let digits: Vec<u32> = text.trim().chars().map(|c| c.to_digit(16).unwrap()).collect();
    Address::new(digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect())
}

/// Rank 1, driven by the test that started it; by itself it does nothing.
#[test]
fn rank_of_another_process() {
    let Ok(role) = std::env::var("RINGWORLD_TEST_ROLE") else { return };
    let mut transport = Ibverbs::open(config(1, 2)).unwrap();
    println!("address {}", hex(&transport.address()));
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    transport.connect(0, &unhex(&line)).unwrap();
    let mut side = Side::new(transport);
    side.send(0, b"hello", b"");
    side.until("greeted", |side| side.received == 1);
    println!("connected");
    match role.as_str() {
        // Takes in what comes, for ever.
        "receiver" => side.until("killed", |_| false),
        // Sends without end, so that it dies in the middle of something.
        _ => loop {
            side.send(0, b"x", &pattern(1, 100_000));
            for _ in 0..20 {
                side.poll();
            }
            while side.pending > side.sent + 20 {
                side.poll();
            }
        },
    }
}

fn connected(role: &str) -> (Other, Side) {
    let mut other = Other::start(role);
    let mut transport = Ibverbs::open(config(0, 2)).unwrap();
    transport.connect(1, &unhex(&other.line_with("address"))).unwrap();
    let mine = hex(&transport.address());
    writeln!(other.input, "{mine}").unwrap();
    let mut side = Side::new(transport);
    side.send(1, b"hello", b"");
    side.until("greeted", |side| side.received >= 1);
    other.line_with("connected");
    (other, side)
}

#[test]
fn a_killed_process_is_reported_within_a_second_and_leaves_nothing() {
    let _alone = alone();
    let before = resources();
    for (round, role) in ["receiver", "sender"].into_iter().cycle().take(10).enumerate() {
        let (mut other, mut side) = connected(role);
        let (memory, _) = side.expose(1, 1 << 20);
        if role == "receiver" {
            side.send(1, b"x", &pattern(round, 4 << 20));
        }
        for _ in 0..round * 50 {
            side.poll();
        }
        other.kill();
        let killed = Instant::now();
        side.until("down", |side| !side.down.is_empty());
        let took = killed.elapsed();
        assert!(took < Duration::from_secs(1), "{role}: noticed after {took:?}: {:?}", side.down);
        assert!(matches!(side.down[..], [(1, Cause::Lost(_))]), "{:?}", side.down);
        // The memory is ours again, and stays as we leave it.
        assert!(memory.bytes().iter().all(|byte| *byte == 0));
        drop(side);
        if let Some(before) = &before {
            assert_released(before);
        }
    }
}

/// The network interface below the device (`RINGWORLD_TEST_LINK`), which the test takes down.
fn link(state: &str) -> bool {
    let name = std::env::var("RINGWORLD_TEST_LINK").unwrap_or_else(|_| "dummy0".to_owned());
    Command::new("ip").args(["link", "set", &name, state]).status().is_ok_and(|status| status.success())
}

#[test]
fn a_link_that_goes_down_ends_its_peers_by_name_and_can_be_used_again() {
    let _alone = alone();
    for busy in [true, false] {
        let mut world = sides(3, |_| {});
        acquaint(&mut world);
        let _open = world[0].expose(1, 10_000);
        if busy {
            world[0].send(1, b"x", &pattern(1, 4 << 20));
            world[0].poll();
        }
        let began = Instant::now();
        if !link("down") {
            eprintln!("skipped: `ip link set … down` is not permitted here");
            return;
        }
        until_all(&mut world, "down", |world| {
            world[0].down.len() == 2 && world[1].down.len() == 1 && world[2].down.len() == 1
        });
        let took = began.elapsed();
        let bound = config(0, 3).detection_bound();
        let causes: Vec<_> = world.iter().flat_map(|side| &side.down).collect();
        assert!(link("up"));
        assert!(took < bound, "noticed after {took:?}: {causes:?}");
        // The first to look sees the port; the others may see the first one leave before they look.
        let named = |cause: &Cause| {
            let words = ["rxe", "out-of-band channel", "closed it"];
            matches!(cause, Cause::Lost(why) if words.iter().any(|word| why.contains(word)))
        };
        assert!(causes.iter().all(|(_, cause)| named(cause)), "{causes:?}");
        assert!(causes.iter().any(|(_, cause)| cause.to_string().contains("went down")), "{causes:?}");
        drop(world);
        let deadline = Instant::now() + Duration::from_secs(10);
        while !available_devices(&config(0, 2)).unwrap().iter().any(|report| report.chosen) {
            assert!(Instant::now() < deadline, "the port does not come back");
            std::thread::sleep(Duration::from_millis(50));
        }
        acquaint(&mut sides(2, |_| {}));
    }
}

#[test]
fn a_port_that_is_down_is_refused_with_the_reason() {
    let _alone = alone();
    if !link("down") {
        eprintln!("skipped: `ip link set … down` is not permitted here");
        return;
    }
    let opened = Ibverbs::open(config(0, 2));
    assert!(link("up"));
    let error = opened.unwrap_err();
    assert!(error.is_absence() && error.to_string().contains("not active"), "{error}");
}
