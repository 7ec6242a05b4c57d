//! Promises about messages that are posted before there is a connection.

use super::Fabric;
use super::harness::{Harness, message};
use super::pattern::pattern;
use crate::{PROMPT, Refused};

/// The first message to a rank completes although that rank does nothing; it arrives although its sender is polled
/// only while it owes, and its memory has become something else.
pub fn the_first_message_waits_for_nobody(fabric: &mut dyn Fabric) {
    for (length, idles) in
        [(0, true), (1, false), (2_000, true), (60_000, false), (PROMPT, true), (PROMPT, false)]
    {
        let mut h = Harness::new(fabric, 2, "the_first_message_waits_for_nobody");
        let length = length.min(h.end(0).transport().capabilities().max_message);
        let owes = h.end(0).transport().owes();
        h.check(!owes, "something is owed before anything was posted");
        h.end(1).polled = false;
        let bytes = pattern(length as u64, length);
        h.send(0, 1, b"first", &bytes);
        h.until("the first message complete while its receiver does nothing", |h| h.end(0).all_sent());
        if idles {
            h.run_until_idle();
        }
        h.end(1).polled = true;
        h.until("the first message received from a sender that is polled only while it owes", |h| {
            let owes = h.end(0).transport().owes();
            h.end(0).polled = owes;
            h.end(1).received_from(0).count() == 1
        });
        h.end(0).polled = true;
        h.until("nothing owed once all has arrived", |h| !h.end(0).transport().owes());
        h.check_received(1, 0, &[(b"first".to_vec(), bytes)]);
        h.finish();
    }
}

/// Messages before there is a connection, kept or waiting in their sender's memory, keep their order among themselves
/// and with those that come after it; so do those of a sender that closes meanwhile.
pub fn first_messages_keep_their_order(fabric: &mut dyn Fabric) {
    const LENGTHS: [usize; 12] = [1, 100, 3_000, 0, 70_000, PROMPT, 1 << 20, 5, PROMPT, 600_000, 200_000, 9];
    for closes in [false, true] {
        let mut h = Harness::new(fabric, 2, "first_messages_keep_their_order");
        let longest = h.end(0).transport().capabilities().max_message;
        let lengths = LENGTHS.into_iter().cycle().take(5 * LENGTHS.len());
        let make =
            |(index, length): (usize, usize)| (vec![index as u8], pattern(index as u64, length.min(longest)));
        let messages: Vec<_> = lengths.enumerate().map(make).collect();
        let (_, key) = h.expose(1, 0, 300_000);
        h.end(1).polled = false;
        let mut posted = 0;
        for (index, (header, bytes)) in messages.iter().enumerate() {
            h.soon = index % 5 == 3;
            match h.try_post(0, bytes.clone(), &message(1, header)) {
                Ok(_) => posted += 1,
                Err(Refused::Busy(_)) => break,
                Err(refused) => h.broken(format!("no connection yet is no reason for {refused:?}")),
            }
        }
        h.check(posted > 0, "not even one message was accepted before there was a connection");
        h.soon = false;
        h.end(1).polled = true;
        // A put among them, from memory of its own.
        h.put(0, 1, key, 0, &pattern(7, 300_000));
        for (header, bytes) in &messages[posted..] {
            h.send(0, 1, header, bytes);
        }
        if closes {
            h.end(0).transport().close();
            h.until("Closed", |h| h.end(0).closed);
        }
        h.until("all messages received", |h| h.end(1).received_from(0).count() == messages.len());
        h.until("everything sent", |h| h.end(0).all_sent() && h.end(1).all_filled());
        h.check_received(1, 0, &messages);
        h.finish();
    }
}
