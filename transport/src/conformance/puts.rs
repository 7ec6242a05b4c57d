//! Promises about puts: any order, any fragments, filled exactly once, large both ways.

use super::Fabric;
use super::accounting::State;
use super::harness::Harness;
use super::pattern::pattern;

/// Cuts `0..length` into fragments of 1 byte to 64 KiB and shuffles them.
fn fragments(seed: u64, length: usize) -> Vec<std::ops::Range<usize>> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut cut = Vec::new();
    let mut from = 0;
    while from < length {
        let bound = 1 << rng.u32(..17);
        let to = length.min(from + 1 + rng.usize(..bound));
        cut.push(from..to);
        from = to;
    }
    rng.shuffle(&mut cut);
    cut
}

/// Puts in any fragments and any order of offsets, to several exposures in turn, fill each exposure once,
/// with the right bytes.
pub fn puts_fill_exposures_in_any_order(fabric: &mut dyn Fabric) {
    let mut h = Harness::new(fabric, 2, "puts_fill_exposures_in_any_order");
    let lengths = [1, 2, 4_096, 300_000, 1 << 20];
    let exposed = lengths.map(|length| h.expose(1, 0, length));
    let sources: Vec<Vec<u8>> = lengths.iter().map(|&length| pattern(length as u64, length)).collect();
    let mut queues: Vec<_> = lengths.iter().map(|&length| fragments(length as u64 + 7, length)).collect();
    while queues.iter().any(|q| !q.is_empty()) {
        for (index, queue) in queues.iter_mut().enumerate() {
            if let Some(piece) = queue.pop() {
                h.put(0, 1, exposed[index].1, piece.start, &sources[index][piece]);
            }
        }
    }
    h.until("all exposures filled", |h| h.end(1).all_filled());
    h.until("all puts sent", |h| h.end(0).all_sent());
    for (index, source) in sources.iter().enumerate() {
        let right = h.end(1).exposures[exposed[index].0].bytes == *source;
        h.check(right, format!("the exposure of {} bytes holds other bytes than were put", source.len()));
    }
    h.finish();
}

/// An exposure that lacks a single byte is not filled; that byte fills it.
pub fn an_exposure_is_filled_by_its_last_byte_only(fabric: &mut dyn Fabric) {
    let mut h = Harness::new(fabric, 2, "an_exposure_is_filled_by_its_last_byte_only");
    let source = pattern(71, 10_000);
    let (index, key) = h.expose(0, 1, source.len());
    h.put(1, 0, key, 0, &source[..5_000]);
    h.put(1, 0, key, 5_001, &source[5_001..]);
    h.until("the puts sent", |h| h.end(1).all_sent());
    h.run_until_idle();
    let early = h.end(0).exposures[index].state != State::Pending;
    h.check(!early, "Filled was reported with one byte missing");
    h.put(1, 0, key, 5_000, &source[5_000..5_001]);
    h.until("the exposure filled", |h| h.end(0).all_filled());
    let right = h.end(0).exposures[index].bytes == source;
    h.check(right, "the exposure holds other bytes than were put");
    h.finish();
}

/// Large puts and messages, both ways at once, all finish: nobody waits for the other to stop sending.
pub fn large_puts_and_messages_both_ways_at_once_finish(fabric: &mut dyn Fabric) {
    const LENGTH: usize = 8 << 20;
    let mut h = Harness::new(fabric, 2, "large_puts_and_messages_both_ways_at_once_finish");
    let keys = [h.expose(0, 1, LENGTH), h.expose(1, 0, LENGTH)];
    let sources = [pattern(81, LENGTH), pattern(82, LENGTH)];
    let messages: Vec<Vec<(Vec<u8>, Vec<u8>)>> = (0..2)
        .map(|rank| (0..16).map(|i| (vec![i as u8], pattern(rank * 100 + i, 30_000))).collect())
        .collect();
    for index in 0..16 {
        for rank in 0..2 {
            let (header, bytes) = &messages[rank][index];
            h.send(rank, 1 - rank, header, bytes);
            let piece = index * (LENGTH / 16)..(index + 1) * (LENGTH / 16);
            h.put(rank, 1 - rank, keys[1 - rank].1, piece.start, &sources[rank][piece]);
        }
    }
    h.until("all exposures filled and all messages received", |h| {
        (0..2).all(|rank| h.end(rank).all_filled() && h.end(rank).received_from(1 - rank).count() == 16)
    });
    h.until("everything sent", |h| h.end(0).all_sent() && h.end(1).all_sent());
    for rank in 0..2 {
        h.check_received(1 - rank, rank, &messages[rank]);
        let right = h.end(rank).exposures[keys[rank].0].bytes == sources[1 - rank];
        h.check(right, format!("the exposure of rank {rank} holds other bytes than were put"));
    }
    h.finish();
}
