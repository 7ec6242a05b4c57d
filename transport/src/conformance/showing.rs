//! Promises about showing. A transport that shows nothing is skipped, visibly.

use super::Fabric;
use super::harness::Harness;
use super::pattern::pattern;
use super::sleeping::{can_sleep, until_woken};
use crate::{Label, Rank, Showing, Shown, Transport};

const CHANNEL: u64 = 77;
/// No transport lets a rank be so far ahead.
const FAR: u32 = 1000;

fn label(number: u32) -> Label {
    let mut label = [number as u8 ^ 0x5a; size_of::<Label>()];
    label[..4].copy_from_slice(&number.to_le_bytes());
    label
}

fn payload(number: u32, longest: usize) -> Vec<u8> {
    let lengths = [0, 1, 8, 31, 32, 33, 64, 1000, longest - 1, longest];
    pattern(u64::from(number), lengths[number as usize % lengths.len()].min(longest))
}

/// A world of ranks that show things, all connected; `None`: this transport does not.
fn world<'f>(fabric: &'f mut dyn Fabric, size: usize, promise: &'static str) -> Option<(Harness<'f>, usize)> {
    let mut h = Harness::new(fabric, size, promise);
    let longest = h.end(0).transport().capabilities().show;
    if longest == 0 {
        eprintln!("{promise}: skipped, this transport shows nothing");
        return None;
    }
    for from in 0..size {
        for to in (0..size).filter(|to| *to != from) {
            h.send(from, to, b"x", b"hello");
        }
    }
    h.until("all are connected", |h| {
        (0..size).all(|to| {
            (0..size).filter(|from| *from != to).all(|from| h.end(to).received_from(from).count() > 0)
        })
    });
    Some((h, longest))
}

fn others(size: usize, rank: Rank) -> Vec<Rank> {
    (0..size).filter(|other| *other != rank).collect()
}

fn show(h: &mut Harness<'_>, from: Rank, to: &[Rank], number: u32, longest: usize) -> Showing {
    let payload = payload(number, longest);
    h.end(from).transport().show(to, CHANNEL, number, &label(number), &payload)
}

/// Whether a rank sees what another shows, all of it.
fn sees(transport: &mut dyn Transport, from: Rank, number: u32, longest: usize) -> Result<bool, String> {
    let expected = payload(number, longest);
    let Some(Shown { label: found, length }) = transport.shown(from, CHANNEL, number) else {
        return Ok(false);
    };
    let mut bytes = vec![0; length];
    transport.copy_shown(from, CHANNEL, number, 0, &mut bytes);
    // A part of it, which begins and ends anywhere.
    let (begin, end) = (length / 3, length - length / 5);
    let mut part = vec![0; end - begin];
    transport.copy_shown(from, CHANNEL, number, begin, &mut part);
    if found == label(number) && bytes == expected && part == expected[begin..end] {
        Ok(true)
    } else {
        Err(format!("what rank {from} shows under {number} is not what it has shown"))
    }
}

/// Fails the check unless it does.
fn must_see(h: &mut Harness<'_>, at: Rank, from: Rank, number: u32, longest: usize) {
    match sees(h.end(at).transport(), from, number, longest) {
        Ok(true) => {}
        Ok(false) => h.broken(format!("rank {at} does not see what rank {from} shows under {number}")),
        Err(why) => h.broken(why),
    }
}

/// What is shown is seen by all, at any length, and stays until all have passed it; numbers go round the circle.
pub fn what_is_shown_stays_until_all_have_passed_it(fabric: &mut dyn Fabric) {
    let Some((mut h, longest)) = world(fabric, 3, "what_is_shown_stays_until_all_have_passed_it") else {
        return;
    };
    let begin = u32::MAX - 20;
    for rank in 0..3 {
        let open = h.end(rank).transport().pass(CHANNEL, begin);
        h.check(open, "there is no room for a first channel");
    }
    // Up to which number each has passed; rank 2 is slower.
    let mut passed = [0u32; 3];
    let mut shown = 0u32;
    let at = |step: u32| begin.wrapping_add(step);
    for round in 0..400u32 {
        match show(&mut h, 0, &[1, 2], at(shown), longest) {
            Showing::Not => h.broken("nothing can be shown, and not for want of room"),
            Showing::Full => {
                h.check(shown > passed[2], "nothing can be shown although all have passed everything")
            }
            Showing::Unsure => h.broken("nobody has passed what is shown now"),
            Showing::Done => shown += 1,
        }
        for reader in [1, 2] {
            for step in passed[reader]..shown {
                must_see(&mut h, reader, 0, at(step), longest);
            }
            let ahead = h.end(reader).transport().shown(0, CHANNEL, at(shown)).is_some();
            h.check(!ahead, "something is shown that has not been shown");
            if (round as usize).is_multiple_of(2 * reader) && passed[reader] < shown {
                passed[reader] += 1;
                h.end(reader).transport().pass(CHANNEL, at(passed[reader]));
            }
        }
        h.check(shown - passed[2] < FAR, "a rank that looks at nothing is left behind");
        h.step();
    }
    h.check(shown > 100, format!("only {shown} of 400 could be shown"));
    h.finish();
}

/// Nothing is shown to a rank that takes no part in the channel, or no more, nor to one without a connection.
pub fn nothing_is_shown_to_who_is_not_there(fabric: &mut dyn Fabric) {
    let promise = "nothing_is_shown_to_who_is_not_there";
    {
        let Some((mut h, longest)) = world(fabric, 3, promise) else { return };
        for rank in [0, 1] {
            h.end(rank).transport().pass(CHANNEL, 0);
        }
        let showing = show(&mut h, 0, &[1, 2], 0, longest);
        h.check(showing == Showing::Not, "something is shown to a rank that takes no part");
        let nothing = h.end(1).transport().shown(0, CHANNEL, 0).is_none();
        h.check(nothing, "what was not shown is seen");
        let showing = show(&mut h, 2, &[1], 0, longest);
        h.check(showing == Showing::Not, "a rank shows something in a channel in which it takes no part");
        let showing = show(&mut h, 0, &[1], 0, longest);
        h.check(showing == Showing::Done, "nothing is shown to a rank that is there");
        h.end(1).transport().leave(CHANNEL);
        let showing = show(&mut h, 0, &[1], 1, longest);
        h.check(showing == Showing::Not, "something is shown to a rank that takes no part any more");
        must_see(&mut h, 1, 0, 0, longest);
        h.finish();
    }
    let mut h = Harness::new(fabric, 2, promise);
    for rank in [0, 1] {
        h.end(rank).transport().pass(CHANNEL, 0);
    }
    let showing = h.end(0).transport().show(&[1], CHANNEL, 0, &label(0), b"x");
    h.check(showing == Showing::Not, "something is shown to a rank without a connection");
    h.finish();
}

/// Who shows something that another has passed is told so, or is seen.
pub fn who_shows_what_is_passed_is_told(fabric: &mut dyn Fabric) {
    let Some((mut h, longest)) = world(fabric, 2, "who_shows_what_is_passed_is_told") else { return };
    for rank in [0, 1] {
        h.end(rank).transport().pass(CHANNEL, 0);
    }
    for number in 0..50u32 {
        let passes = number % 3;
        if passes == 1 {
            h.end(1).transport().pass(CHANNEL, number + 1);
        }
        let showing = show(&mut h, 0, &[1], number, longest);
        let right = match showing {
            Showing::Not | Showing::Full => false,
            Showing::Done => passes != 1,
            Showing::Unsure => passes == 1,
        };
        h.check(
            right,
            format!("{showing:?} of a number that {} passed", if passes == 1 { "was" } else { "was not" }),
        );
        must_see(&mut h, 1, 0, number, longest);
        h.end(1).transport().pass(CHANNEL, number + 1);
    }
    h.finish();
    // Who is ahead stands in nobody's way, however far.
    let Some((mut h, longest)) = world(fabric, 3, "who_shows_what_is_passed_is_told") else { return };
    for rank in 0..3 {
        h.end(rank).transport().pass(CHANNEL, 0);
    }
    let first = show(&mut h, 0, &[1, 2], 0, longest);
    h.check(first == Showing::Done, "nothing is shown to ranks that are there");
    h.end(2).transport().pass(CHANNEL, 2 * FAR);
    for number in 1..FAR {
        h.end(1).transport().pass(CHANNEL, number);
        let showing = show(&mut h, 0, &[1], number, longest);
        h.check(
            showing == Showing::Done,
            format!("{showing:?} of {number}, and one who is ahead has shown nothing"),
        );
        must_see(&mut h, 1, 0, number, longest);
    }
    h.finish();
}

/// What was shown can be looked at when its owner has closed in good order, and is gone.
pub fn what_was_shown_outlives_a_good_end(fabric: &mut dyn Fabric) {
    let Some((mut h, longest)) = world(fabric, 2, "what_was_shown_outlives_a_good_end") else { return };
    for rank in [0, 1] {
        h.end(rank).transport().pass(CHANNEL, 0);
    }
    for number in 0..3 {
        let showing = show(&mut h, 0, &[1], number, longest);
        h.check(showing == Showing::Done, "nothing is shown");
    }
    h.end(0).transport().close();
    h.until("Closed", |h| h.end(0).closed);
    h.vanish(0);
    h.until("told", |h| h.end(1).closed_peers == [0]);
    h.run_until_idle();
    for number in 0..3 {
        must_see(&mut h, 1, 0, number, longest);
    }
    h.finish();
}

/// Channels come and go; where there are too many, more are refused, and those that are there go on.
pub fn channels_come_and_go(fabric: &mut dyn Fabric) {
    let Some((mut h, _)) = world(fabric, 2, "channels_come_and_go") else { return };
    let (first, mut channel) = (1000u64, 1000u64);
    while channel < first + u64::from(FAR) {
        let both = [0, 1].map(|rank| h.end(rank).transport().pass(channel, 0));
        h.check(
            both[0] == both[1],
            "two ranks with the same channels have room for different numbers of them",
        );
        if !both[0] {
            break;
        }
        channel += 1;
    }
    h.check(channel > first, "there is no room for a channel");
    let at_once = channel - first;
    // From now on the oldest makes room, as soon as the other has passed what it has been shown there.
    for step in 0..4 * at_once {
        let (old, new) = (first + step, first + step + at_once);
        let showing = h.end(0).transport().show(&[1], old, 0, &label(0), &old.to_le_bytes());
        h.check(showing == Showing::Done, "nothing is shown in a channel that is there");
        h.end(0).transport().leave(old);
        let too_early = h.end(0).transport().pass(new, 0);
        h.check(!too_early, "a channel that somebody still looks at has made room");
        let mut bytes = [0; 8];
        let seen = h.end(1).transport().shown(0, old, 0).map(|shown| shown.length);
        h.end(1).transport().copy_shown(0, old, 0, 0, &mut bytes);
        h.check(seen == Some(8) && bytes == old.to_le_bytes(), "what a rank has shown went with its leaving");
        h.end(1).transport().pass(old, 1);
        h.end(1).transport().leave(old);
        for rank in [1, 0] {
            let open = h.end(rank).transport().pass(new, 0);
            h.check(open, "a channel that all have left makes no room");
        }
        let nothing = h.end(1).transport().shown(0, new, 0).is_none();
        h.check(nothing, "a new channel begins with what was shown in another");
    }
    h.finish();
}

/// A sleeper is woken when something is shown to it.
pub fn waiting_wakes_for_what_is_shown(fabric: &mut dyn Fabric) {
    let promise = "waiting_wakes_for_what_is_shown";
    let Some((mut h, longest)) = world(fabric, 3, promise) else { return };
    if !can_sleep(&mut h, promise) {
        return;
    }
    for rank in 0..3 {
        h.end(rank).transport().pass(CHANNEL, 0);
    }
    for number in 0..30u32 {
        h.end(0).polled = false;
        while !h.end(0).transport().arm() {
            h.poll(0);
        }
        let from = 1 + number as usize % 2;
        let showing = show(&mut h, from, &others(3, from), number, longest);
        h.check(showing == Showing::Done, "nothing is shown");
        until_woken(&mut h, "the one to whom something is shown");
        must_see(&mut h, 0, from, number, longest);
        h.poll(0);
        for rank in 0..3 {
            h.end(rank).transport().pass(CHANNEL, number + 1);
        }
    }
    h.finish();
}
