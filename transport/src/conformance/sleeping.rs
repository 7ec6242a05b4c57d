//! Promises about sleeping: `arm` and `wait_fd`. A transport without a descriptor is skipped, visibly.

use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Fabric;
use super::harness::{Harness, message};
use super::pattern::pattern;

/// Runs the world until `reached`, where rank 0 is polled only when `arm` asks for it or when its
/// descriptor is readable. A wake-up that never comes is a broken promise.
fn asleep_until(h: &mut Harness<'_>, what: &str, mut reached: impl FnMut(&mut Harness<'_>) -> bool) {
    let deadline = Instant::now() + h.patience();
    h.end(0).polled = false;
    while !reached(h) {
        if Instant::now() > deadline {
            h.broken(format!("not woken: {what}"));
        }
        h.step();
        let transport = h.end(0).transport();
        let awake = !transport.arm() || {
            let Some(fd) = transport.wait_fd() else { h.broken("wait_fd came and went") };
            let brief = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
            match poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&brief)) {
                Ok(ready) => ready > 0,
                Err(rustix::io::Errno::INTR) => false,
                Err(error) => h.broken(format!("wait_fd cannot be waited for: {error}")),
            }
        };
        if awake {
            h.poll(0);
        }
    }
    h.end(0).polled = true;
}

/// Runs the world until rank 0, which has armed and is not polled, would wake.
pub(super) fn until_woken(h: &mut Harness<'_>, who: &str) {
    let deadline = Instant::now() + h.patience();
    loop {
        h.step();
        let Some(fd) = h.end(0).transport().wait_fd() else { h.broken("wait_fd came and went") };
        let brief = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
        if poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&brief)).is_ok_and(|ready| ready > 0) {
            return;
        }
        if Instant::now() > deadline {
            h.broken(format!("not woken: {who}"));
        }
    }
}

pub(super) fn can_sleep(h: &mut Harness<'_>, promise: &str) -> bool {
    let possible = h.end(0).transport().wait_fd().is_some();
    if !possible {
        eprintln!("{promise}: skipped, this transport has no descriptor to wait on");
    }
    possible
}

/// A sleeper is woken by the first message of a peer (which has to connect) and by later ones.
pub fn waiting_wakes_for_a_message(fabric: &mut dyn Fabric) {
    let promise = "waiting_wakes_for_a_message";
    let mut h = Harness::new(fabric, 2, promise);
    if !can_sleep(&mut h, promise) {
        return;
    }
    for index in 0..20usize {
        let length = [0, 8, 100_000, 1 << 20][index % 4];
        // A wake-up is owed after silence as well as in the middle of traffic.
        if index % 5 == 0 {
            h.end(0).polled = false;
            h.run_until_idle();
        }
        h.end(0).polled = false;
        h.send(1, 0, &[index as u8], &pattern(index as u64, length));
        asleep_until(&mut h, "a message", |h| h.end(0).received_from(1).count() == index + 1);
    }
    h.finish();
}

/// What a poll leaves lying because its caller has enough is found by later ones, without anybody having to be woken.
pub fn what_a_poll_leaves_is_not_slept_through(fabric: &mut dyn Fabric) {
    let promise = "what_a_poll_leaves_is_not_slept_through";
    let mut h = Harness::new(fabric, 3, promise);
    if !can_sleep(&mut h, promise) {
        return;
    }
    h.end(0).desk.easily_content = true;
    for from in [1, 2] {
        h.send(from, 0, b"first", &[]);
        h.until("connected", |h| h.end(0).received_from(from).count() == 1);
    }
    h.end(0).polled = false;
    // As many as any transport takes while nobody polls at the other end.
    let lengths = [0, 60, 5_000, 8];
    for (index, length) in lengths.into_iter().enumerate() {
        for from in [1, 2] {
            h.send(from, 0, &[index as u8], &pattern(index as u64, length));
        }
    }
    h.run_until_idle();
    asleep_until(&mut h, "what had been left", |h| {
        [1, 2].into_iter().all(|from| h.end(0).received_from(from).count() == 1 + lengths.len())
    });
    h.finish();
}

/// A sleeper is woken when a send that did not fit can go on.
pub fn waiting_wakes_for_a_finished_send(fabric: &mut dyn Fabric) {
    let promise = "waiting_wakes_for_a_finished_send";
    let mut h = Harness::new(fabric, 2, promise);
    if !can_sleep(&mut h, promise) {
        return;
    }
    let (_, key) = h.expose(1, 0, 8 << 20);
    h.send(0, 1, b"x", &pattern(1, 1 << 20));
    h.put(0, 1, key, 0, &pattern(2, 8 << 20));
    asleep_until(&mut h, "the rest of a send", |h| {
        h.end(0).all_sent() && h.end(1).all_filled() && h.end(1).received_from(0).count() == 1
    });
    h.finish();
}

/// A sleeper is woken by the death of a connected peer.
pub fn waiting_wakes_for_a_lost_peer(fabric: &mut dyn Fabric) {
    let promise = "waiting_wakes_for_a_lost_peer";
    let mut h = Harness::new(fabric, 2, promise);
    if !can_sleep(&mut h, promise) {
        return;
    }
    h.send(1, 0, b"x", b"hello");
    h.until("connected", |h| h.end(0).received_from(1).count() == 1);
    let (_, _) = h.expose(0, 1, 10);
    let _ = h.try_post(0, pattern(1, 10), &message(1, b"y"));
    h.run_until_idle();
    h.vanish(1);
    asleep_until(&mut h, "a lost peer", |h| h.end(0).is_down(1));
    h.finish();
}

/// A sleeper is woken although others poll meanwhile, as long as they arm before they go.
pub fn a_sleeper_is_woken_although_others_poll_and_arm(fabric: &mut dyn Fabric) {
    let promise = "a_sleeper_is_woken_although_others_poll_and_arm";
    let mut h = Harness::new(fabric, 2, promise);
    if !can_sleep(&mut h, promise) {
        return;
    }
    let arm = |h: &mut Harness<'_>| {
        h.end(0).polled = false;
        while !h.end(0).transport().arm() {
            h.poll(0);
        }
    };
    let mut expected = 0;
    for round in 0..12u8 {
        // From here on somebody sleeps, and is not asked again. Others come and go.
        arm(&mut h);
        for other in 0..round % 3 {
            h.send(1, 0, &[round, other], b"for another");
            expected += 1;
            h.end(0).polled = true;
            h.until("another has its message", |h| h.end(0).received_from(1).count() == expected);
            arm(&mut h);
        }
        h.send(1, 0, &[round], b"for the sleeper");
        expected += 1;
        until_woken(&mut h, "the one who slept while others polled");
        h.end(0).polled = true;
        h.until("the sleeper has its message", |h| h.end(0).received_from(1).count() == expected);
    }
    h.finish();
}
