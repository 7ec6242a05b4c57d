//! A peer that computes is not silent: its kernel answers for it. What is silent needs a network of its own, and stands
//! in the tests of the whole workspace.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use crate::support::{Buffer, Side, pattern, until_all, world};
use ringworld_transport_tcp::Config;

/// Polls one side alone for some time.
fn alone(side: &mut Side, time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        side.poll();
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_peer_that_does_not_read_for_many_times_the_limit_is_left_alone() {
    const SILENCE: Duration = Duration::from_millis(400);
    // Long ones, and so many short ones that their overhead fills the buffers first.
    for (length, messages) in [(1 << 20, 12), (100, 40_000)] {
        let configs = (0..2).map(|rank| {
            let mut config = Config::new(rank, 2, 1, vec![Ipv4Addr::LOCALHOST.into()]);
            config.silence = Some(SILENCE);
            config
        });
        let mut world = world(configs.collect());
        world[0].send(1, b"first", Buffer::new(pattern(1, 1)).lend_to_send());
        until_all(&mut world, "the first message", |world| world[1].received == 1);
        let here = &mut world[0];
        let payload = Buffer::new(pattern(2, length));
        for _ in 0..messages {
            here.send(1, b"more", payload.lend_to_send());
        }
        assert!(!here.all_sent(), "the buffers hold all of it");
        alone(here, 10 * SILENCE);
        // It has waited too, for the kernel's probes of a connection that is idle in its direction.
        until_all(&mut world, "all messages", |world| {
            let down: Vec<_> = world.iter().flat_map(|side| &side.down).collect();
            assert!(down.is_empty(), "{down:?}");
            world[1].received == 1 + messages
        });
    }
}
