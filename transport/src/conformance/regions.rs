//! Promises about registered regions: operations in them do what they do elsewhere, whatever becomes of the region.

use std::ops::Range;

use super::Fabric;
use super::accounting::State;
use super::buffer::Buffer;
use super::harness::Harness;
use super::pattern::pattern;
use crate::{Rank, RegionId};

/// The registered part of the memory in these checks; there is more of it on either side.
const MARGIN: usize = 20_000;
const REGION: Range<usize> = MARGIN..MARGIN + (1 << 20);
const ALL: usize = REGION.end + MARGIN;

/// Memory at `at`, of which the middle is registered.
fn registered(h: &mut Harness<'_>, at: Rank) -> (Buffer, Option<RegionId>) {
    let memory = h.memory(at, ALL);
    let region = h.register(at, &memory.part(REGION));
    (memory, region)
}

/// A put out of memory of rank 0 into memory of rank 1, and that it arrives.
fn transfer(h: &mut Harness<'_>, from: &Buffer, into: &Buffer, span: Range<usize>) {
    let bytes = pattern(span.start as u64 + 1, span.len());
    from.part(span.clone()).copy_in(&bytes);
    let (index, key) = h.expose_part(1, 0, into.part(span.clone()));
    h.put_part(0, 1, key, 0, &from.part(span.clone()));
    h.until("the exposure filled", |h| h.end(1).exposures[index].state == State::Done);
    h.until("the put sent", |h| h.end(0).all_sent());
    let right = h.end(1).exposures[index].bytes == bytes;
    h.check(right, format!("{span:?} of memory registered at {REGION:?} holds other bytes than were put"));
}

/// Spans anywhere in a registered region and across its ends arrive whole; also where regions are nested, overlap, or
/// are registered twice, and when some or all of them have been deregistered.
pub fn puts_from_and_into_registered_memory_arrive(fabric: &mut dyn Fabric) {
    let mut h = Harness::new(fabric, 2, "puts_from_and_into_registered_memory_arrive");
    let (from, from_region) = registered(&mut h, 0);
    let (into, into_region) = registered(&mut h, 1);
    let (start, end) = (REGION.start, REGION.end);
    let spans = [
        REGION,
        start..start + 1,
        end - 1..end,
        start..start + 100_000,
        end - 100_000..end,
        start + 1..end - 1,
        start - 1..start + 100_000,
        end - 100_000..end + 1,
        0..ALL,
        0..MARGIN,
        end..ALL,
    ];
    for span in spans.clone() {
        transfer(&mut h, &from, &into, span);
    }
    let nothing = from.part(start..start);
    let empty = h.register(0, &nothing);
    h.check(empty.is_none(), "an empty region was registered");
    let again = h.register(0, &from.part(REGION));
    let inside = h.register(0, &from.part(start + 50_000..end - 50_000));
    let across = h.register(1, &into.part(0..start + 50_000));
    for (rank, region) in [(0, inside), (0, from_region), (1, into_region), (0, again), (1, across)] {
        for span in [REGION, 0..MARGIN + 50_000, start + 50_000..end - 50_000] {
            transfer(&mut h, &from, &into, span);
        }
        h.deregister(rank, region);
    }
    for span in spans {
        transfer(&mut h, &from, &into, span);
    }
    h.finish();
}

/// Puts and exposures that are under way when their region is deregistered end as they would have; deregistering it
/// again does nothing.
pub fn deregistering_leaves_operations_under_way_alone(fabric: &mut dyn Fabric) {
    const PIECE: usize = 150_000;
    for steps in [0, 1, 5, 50] {
        let mut h = Harness::new(fabric, 2, "deregistering_leaves_operations_under_way_alone");
        let (from, from_region) = registered(&mut h, 0);
        let (into, into_region) = registered(&mut h, 1);
        let pieces: Vec<_> = (0..6).map(|n| MARGIN + n * PIECE..MARGIN + (n + 1) * PIECE).collect();
        let mut sent = Vec::new();
        for (n, piece) in pieces.iter().enumerate() {
            let bytes = pattern(n as u64 + 1, PIECE);
            from.part(piece.clone()).copy_in(&bytes);
            let (index, key) = h.expose_part(1, 0, into.part(piece.clone()));
            h.put_part(0, 1, key, 0, &from.part(piece.clone()));
            sent.push((index, bytes));
        }
        for _ in 0..steps {
            h.step();
        }
        for _ in 0..2 {
            h.deregister(0, from_region);
            h.deregister(1, into_region);
        }
        h.until("all exposures filled and all puts sent", |h| h.end(1).all_filled() && h.end(0).all_sent());
        for (index, bytes) in sent {
            let right = h.end(1).exposures[index].bytes == bytes;
            h.check(right, "a put under way when its region was deregistered arrived changed");
        }
        h.finish();
    }
}

/// A peer that dies in the middle of a put into a registered region writes nothing more into it, and others go on to
/// use it.
pub fn a_lost_peer_leaves_registered_memory_alone(fabric: &mut dyn Fabric) {
    const HALF: usize = 1 << 19;
    let mut h = Harness::new(fabric, 3, "a_lost_peer_leaves_registered_memory_alone");
    let (into, _) = registered(&mut h, 0);
    let (from, _) = registered(&mut h, 2);
    let (lost, key) = h.expose_part(0, 2, into.part(MARGIN..MARGIN + HALF));
    h.put_part(2, 0, key, 0, &from.part(MARGIN..MARGIN + HALF - 1));
    h.send(2, 0, b"hello", b"");
    h.until("connected", |h| h.end(0).received_from(2).count() == 1);
    h.vanish(2);
    // From here the harness has overwritten what was exposed to it, and checks in the end that it stays so.
    h.until("PeerDown", |h| h.end(0).is_down(2));
    let state = h.end(0).exposures[lost].state;
    h.check(state == State::Lost, "an exposure to the dead peer that lacked a byte was reported as filled");
    let (other, key) = h.expose_part(0, 1, into.part(MARGIN + HALF..REGION.end));
    let bytes = pattern(3, HALF);
    h.put(1, 0, key, 0, &bytes);
    h.until("puts of the living go on", |h| h.end(0).exposures[other].state == State::Done);
    let right = h.end(0).exposures[other].bytes == bytes;
    h.check(right, "the exposure holds other bytes than were put");
    h.finish();
}

/// After `close` has ended and after `abort`, memory of regions is the caller's, and nothing is registered any more.
pub fn nothing_is_registered_after_the_end(fabric: &mut dyn Fabric) {
    for abort in [false, true] {
        let mut h = Harness::new(fabric, 2, "nothing_is_registered_after_the_end");
        let (from, region) = registered(&mut h, 0);
        let (into, _) = registered(&mut h, 1);
        transfer(&mut h, &from, &into, REGION);
        let (_, key) = h.expose_part(1, 0, into.part(REGION));
        h.put_part(0, 1, key, 0, &from.part(REGION));
        if abort {
            h.step();
            h.abort(0);
            h.until("PeerDown", |h| h.end(1).is_down(0));
        } else {
            h.end(0).transport().close();
            h.until("Closed and PeerClosed", |h| h.end(0).closed && h.end(1).closed_peers == [0]);
        }
        h.deregister(0, region);
        let late = h.register(0, &from.part(REGION));
        h.check(late.is_none(), "a region was registered after the end");
        h.finish();
    }
}
