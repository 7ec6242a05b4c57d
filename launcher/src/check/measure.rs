//! Measures one pair, in its own world of two: latency with the offset of the clocks, and the bandwidth of each
//! direction.
//!
//! The lower rank leads: it says what comes next, so that both always do the same. The cost is bounded: about the
//! budget, and on a link so slow that even the first burst takes longer, that burst. The time-out of the world's
//! operations bounds everything else.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ringworld::{Result, World};

use super::words::Measured;

/// Tags.
const CONTROL: u32 = 0;
const DATA: u32 = 1;

/// Round trips that do not count: the first opens the connection.
const WARM_UP: usize = 3;
/// Round trips that count, unless they take too long.
const FEWEST: usize = 16;
/// Round trips at most: their times are kept.
const MOST: usize = 20_000;
/// Bytes of the first burst.
const FIRST: u64 = 64 << 10;
/// Bursts that count.
const REPEATS: usize = 3;
/// Bytes of the longest burst.
const LAST: u64 = 1 << 30;
/// Bytes of the longest message, and how many are under way at a time.
const CHUNK: usize = 1 << 20;
const UNDER_WAY: usize = 4;

/// What ends a series.
const STOP: u64 = 0;
/// What asks for another round trip.
const AGAIN: u64 = 1;

/// Memory for messages, for as many pairs as there are.
pub(super) struct Room {
    send: Vec<u8>,
    recv: Vec<u8>,
}

impl Room {
    pub(super) fn new() -> Self {
        Self { send: vec![0x5a; CHUNK], recv: vec![0; UNDER_WAY * CHUNK] }
    }
}

/// Measures the other rank of this world of two; `None` on the one that does not lead.
pub(super) fn measure(world: &World, room: &mut Room, budget: Duration) -> Result<Option<Measured>> {
    let (latency_s, clock_offset_s, clock_error_s) = latency(world, budget / 5)?;
    let there_bytes_per_s = bandwidth(world, room, 0, budget / 16)?;
    let back_bytes_per_s = bandwidth(world, room, 1, budget / 16)?;
    let measured = Measured { latency_s, there_bytes_per_s, back_bytes_per_s, clock_offset_s, clock_error_s };
    Ok((world.rank() == 0).then_some(measured))
}

/// Nanoseconds since 1970, by the clock of this host.
fn clock() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// Half of the median round trip, the offset of the other's clock, and the error of that, in seconds.
fn latency(world: &World, budget: Duration) -> Result<(f64, f64, f64)> {
    if world.rank() == 1 {
        loop {
            let mut word = [STOP];
            world.recv(&mut word, 0, CONTROL)?;
            if word == [STOP] {
                return Ok((0.0, 0.0, 0.0));
            }
            world.send(&[clock()], 0, CONTROL)?;
        }
    }
    let mut trips: Vec<(f64, f64)> = Vec::new();
    let mut start = Instant::now();
    for trip in 0..WARM_UP + MOST {
        let (before, sent) = (clock(), Instant::now());
        world.send(&[AGAIN], 1, CONTROL)?;
        let mut theirs = [0i64];
        world.recv(&mut theirs, 1, CONTROL)?;
        let took = sent.elapsed().as_secs_f64();
        if trip < WARM_UP {
            start = Instant::now();
            continue;
        }
        let [theirs] = theirs;
        trips.push((took, theirs.saturating_sub(before) as f64 / 1e9 - took / 2.0));
        let spent = start.elapsed();
        if spent >= budget && (trips.len() >= FEWEST || spent >= 4 * budget) {
            break;
        }
    }
    world.send(&[STOP], 1, CONTROL)?;
    trips.sort_by(|one, other| one.0.total_cmp(&other.0));
    // There is one at least.
    let at = |index: usize| trips.get(index).copied().unwrap_or((f64::NAN, f64::NAN));
    let ((shortest, offset), (median, _)) = (at(0), at(trips.len() / 2));
    Ok((median / 2.0, offset, shortest / 2.0))
}

/// Bytes per second from `sender` to the other, by bursts that double until one takes long enough. What else the
/// processors do makes a link slower, and a shaper has credit to give once its link was idle, be it for a moment in
/// which this process had no core: so the first burst of the last length does not count, and of those that follow it at
/// once the one in the middle does.
fn bandwidth(world: &World, room: &mut Room, sender: usize, enough: Duration) -> Result<f64> {
    let other = 1 - world.rank();
    if world.rank() == sender {
        let (mut bytes, mut rates) = (FIRST, Vec::new());
        while rates.len() < 1 + REPEATS {
            let start = Instant::now();
            world.send(&[bytes], other, CONTROL)?;
            send_burst(world, &room.send, other, bytes)?;
            // The last byte has come when the other says so.
            world.recv(&mut [STOP], other, CONTROL)?;
            let took = start.elapsed();
            if took < enough && bytes < LAST {
                // What is bought with credit of a shaper, or of buffers, is over sooner or later.
                bytes *= 2;
                rates.clear();
                continue;
            }
            rates.push(bytes as f64 / took.as_secs_f64());
        }
        rates[1..].sort_by(f64::total_cmp);
        let rate = rates[1 + REPEATS / 2];
        world.send(&[STOP], other, CONTROL)?;
        world.send(&[rate], other, CONTROL)?;
        return Ok(rate);
    }
    loop {
        let mut bytes = [STOP];
        world.recv(&mut bytes, other, CONTROL)?;
        let [bytes] = bytes;
        if bytes == STOP {
            let mut rate = [0f64];
            world.recv(&mut rate, other, CONTROL)?;
            let [rate] = rate;
            return Ok(rate);
        }
        recv_burst(world, &mut room.recv, other, bytes.min(LAST))?;
        world.send(&[STOP], other, CONTROL)?;
    }
}

/// The lengths of a burst's messages.
fn chunks(bytes: u64) -> impl Iterator<Item = usize> {
    let whole = (bytes / CHUNK as u64) as usize;
    std::iter::repeat_n(CHUNK, whole).chain(Some((bytes % CHUNK as u64) as usize).filter(|rest| *rest > 0))
}

fn send_burst(world: &World, memory: &[u8], other: usize, bytes: u64) -> Result<()> {
    let lengths: Vec<usize> = chunks(bytes).collect();
    for group in lengths.chunks(UNDER_WAY) {
        world.scope(|s| {
            group.iter().try_for_each(|length| s.send(&memory[..*length], other, DATA).map(drop))
        })?;
    }
    Ok(())
}

fn recv_burst(world: &World, memory: &mut [u8], other: usize, bytes: u64) -> Result<()> {
    let lengths: Vec<usize> = chunks(bytes).collect();
    for group in lengths.chunks(UNDER_WAY) {
        let places = memory.chunks_exact_mut(CHUNK).zip(group);
        world.scope(|s| {
            places
                .into_iter()
                .try_for_each(|(place, length)| s.recv(&mut place[..*length], other, DATA).map(drop))
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_cut_into_messages_that_are_all_of_it() {
        for bytes in [1, FIRST, CHUNK as u64, CHUNK as u64 + 1, 7 * CHUNK as u64 - 1] {
            let lengths: Vec<usize> = chunks(bytes).collect();
            assert_eq!(lengths.iter().sum::<usize>() as u64, bytes);
            assert!(lengths.iter().all(|length| (1..=CHUNK).contains(length)));
        }
    }

    #[test]
    fn two_ranks_of_this_process_are_measured_within_their_budget() {
        let budget = Duration::from_millis(80);
        let start = Instant::now();
        let measured =
            ringworld::testing::ranks(2, |world| measure(&world, &mut Room::new(), budget).unwrap());
        let took = start.elapsed();
        let [Some(one), None] = measured[..] else { panic!("{measured:?}") };
        assert!(one.latency_s > 0.0 && one.latency_s < 1.0, "{one:?}");
        assert!(one.there_bytes_per_s > 1e5 && one.back_bytes_per_s > 1e5, "{one:?}");
        // Both read the same clock.
        assert!(one.clock_offset_s.abs() <= one.clock_error_s + 1e-5, "{one:?}");
        assert!(took < Duration::from_secs(20), "{took:?}");
    }
}
