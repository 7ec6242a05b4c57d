//! Ends of connections whose rings are full to the last word: whoever has something left to say is woken when there is
//! room for it.

use std::time::Duration;

use ringworld_transport::Transport as _;

use crate::support::{Side, until, world};

/// Far longer than anything here takes.
const SLEEP: Duration = Duration::from_secs(10);
/// Long enough for the other side to fall asleep.
const WHILE: Duration = Duration::from_millis(100);

/// Two ranks that are connected.
fn connected() -> Vec<Side> {
    let mut world = world(2);
    world[0].send(1, b"h");
    until(&mut world, "the connection", |world| world[1].received().count() == 1);
    until(&mut world, "the other side of it", |world| world[0].shm.is_connected(1));
    world
}

/// Sends to the other rank until not even a last word fits into its ring.
fn fill(side: &mut Side, to: usize) {
    assert!(side.shm.inject(to, b"h", &[0; 8]), "a record of three words");
    let records = std::iter::from_fn(|| side.shm.inject(to, b"h", &[]).then_some(())).count();
    assert!(records > 1_000, "{records} records of two words fill no ring");
}

/// Polls and sleeps until something holds; nobody may sleep to the end.
fn run(side: &mut Side, holds: impl Fn(&Side) -> bool) {
    loop {
        side.poll();
        if holds(side) {
            return;
        }
        assert!(side.sleep(SLEEP), "nobody woke it");
    }
}

#[test]
fn who_has_no_room_to_say_that_it_ends_is_woken_when_there_is() {
    let mut world = connected();
    let [one, other] = &mut world[..] else { unreachable!() };
    fill(one, 1);
    std::thread::scope(|scope| {
        let closing = scope.spawn(|| {
            one.shm.close();
            run(one, |one| one.closed);
        });
        std::thread::sleep(WHILE);
        while !closing.is_finished() {
            other.poll();
            std::thread::yield_now();
        }
        closing.join().unwrap();
    });
    assert!(other.received().count() > 1_000 && other.down.is_empty(), "{:?}", other.down);
}

#[test]
fn who_has_no_room_to_answer_that_all_is_read_is_woken_when_there_is() {
    let mut world = connected();
    let [one, other] = &mut world[..] else { unreachable!() };
    one.shm.close();
    one.poll();
    // The other has not yet read that this one ends.
    fill(other, 0);
    std::thread::scope(|scope| {
        let waker = scope.spawn(|| {
            run(other, |other| other.peer_closed);
            // It sleeps now, with its answer unsaid; and is woken for that, and for the end.
            run(other, |other| !other.shm.is_connected(0));
        });
        std::thread::sleep(WHILE);
        run(one, |one| one.closed);
        assert!(one.received().count() > 1_000 && one.down.is_empty(), "{:?}", one.down);
        waker.join().unwrap();
    });
}
