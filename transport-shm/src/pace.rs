//! Whether payloads are written by ordinary stores, or past the caches: to shared memory, and out of it.
//!
//! Cores that read one another's payloads may be near, with a cache that both use, or far. To write again what a far
//! core has read takes AMD's processors very long, since each line is called back from there: 64 KiB at 1.6 GB/s on an
//! EPYC, where a near core's came back at 9 and more. Past the caches nothing is called back, and payloads move
//! equally fast from anywhere. So a message of 64 KiB takes 6 us between far cores instead of 33, and one of 1 MiB 46
//! instead of 440; but between ranks that share a core, or a cache, the caches are faster, by up to a half with four
//! ranks on two cores. Which it is shows in how long ordinary stores take, and may change whenever the system moves a
//! process: so now and then a copy by ordinary stores is timed. That goes for slots, and for what is long in a ring or
//! on a board: between far cores a stream of 4 KiB takes 0.8 us a message instead of 2.2. There is one verdict for all
//! peers of a rank, of which some may be near and some far (two cores is all that has been measured). Pure; `outbox.rs`
//! copies and holds the clock.
//!
//! All this was measured before pieces began [as far within a line](crate::memory::within_line) as at their source.
//! Since then the newest EPYC takes a third of the time by ordinary stores between far cores, and short pieces count as
//! near there. A Zen 3 was measured again; see [`SLOW_LONG`].

use std::time::Duration;

/// Shorter payloads are written by ordinary stores always: in short rounds of a ring they are faster so even between
/// far cores (512 bytes to and fro 0.8 us, and past the caches 1.0).
pub(crate) const SHORTEST: usize = 768;
/// Bytes of a nanosecond, once the clock has been read: slower is far. On an EPYC, 1 KiB comes at 9 and more between
/// near cores and at 1.8 between far ones, 4 KiB at 9 and at 2 to 3.5. One KiB in short rounds comes at 5.6 from afar,
/// and is taken for near; to and fro that costs 1.65 us where past the caches it would be 1.2.
const SLOW: u128 = 5;
/// The same of payloads that are [`LONG`], of which processors fetch more lines at once. Between far cores of a Zen 3
/// EPYC 64 KiB come at 6 to 9 bytes, and past the caches broadcasts of 64 KiB take 0.65 to 0.85 of the time,
/// all-reduces of 64 KiB and of 1 MiB 0.75.
const SLOW_LONG: u128 = 8;
const LONG: usize = 16 << 10;
/// Which takes so long, with the fences.
const CLOCK: Duration = Duration::from_nanos(60);
/// Slow copies in a row that are believed: one may have been interrupted.
const BELIEVED: u8 = 2;
/// Fast copies in a row that are believed, at first ...
const BELIEVED_NEAR: u8 = 2;
/// ... and of cores that were far. What was written past the caches is in none of them, so the first ordinary copy to
/// each place behind such ones is fast from anywhere.
const BELIEVED_NEARER: u8 = 8;
/// Copies from one timing to the next. Where it is slow, a timing costs what nine other copies do.
const NEAR: u16 = 32;
const FAR: u16 = 256;
/// From here on a payload is too long for caches.
pub(crate) const TOO_LONG: usize = 8 << 20;

/// Whether a payload of so many bytes is of no use in the caches of whoever receives it. It goes past them from the
/// slots to its place, which otherwise has to be read before it is written, and pushes out what is next: 16 MiB in 0.95
/// ms instead of 1.3 with 32 MiB of the third level, where 4 MiB gain nothing.
pub(crate) fn is_too_long_for_caches(whole: usize) -> bool {
    whole >= TOO_LONG
}

/// How to copy the next payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copy {
    /// By ordinary stores.
    Ordinary,
    /// By ordinary stores, and say how long that took.
    Timed,
    /// Past the caches.
    PastCaches,
}

/// What the last timings were like.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    far: bool,
    slow: u8,
    fast: u8,
    left: u16,
}

impl Pace {
    /// For so many bytes.
    pub(crate) fn next(&mut self, bytes: usize) -> Copy {
        let untimed = if self.far { Copy::PastCaches } else { Copy::Ordinary };
        match self.left.checked_sub(1) {
            _ if bytes < SHORTEST => Copy::Ordinary,
            None => Copy::Timed,
            Some(left) => {
                self.left = left;
                untimed
            }
        }
    }

    /// Whether payloads go past the caches.
    pub(crate) fn is_far(&self) -> bool {
        self.far
    }

    /// Whether they are surely near: memory is then best written all round, which makes copies between far cores look
    /// fast for longer.
    pub(crate) fn is_near(&self) -> bool {
        !self.far && self.fast >= BELIEVED_NEAR
    }

    /// A timed copy of so many bytes has taken so long.
    pub(crate) fn took(&mut self, bytes: usize, time: Duration) {
        let slow = if bytes < LONG { SLOW } else { SLOW_LONG };
        let is_slow = (bytes as u128) < time.saturating_sub(CLOCK).as_nanos() * slow;
        self.slow = if is_slow { self.slow.saturating_add(1) } else { 0 };
        self.fast = if is_slow { 0 } else { self.fast.saturating_add(1) };
        self.far = if self.far { self.fast < BELIEVED_NEARER } else { self.slow >= BELIEVED };
        self.left = match (is_slow, self.far) {
            (true, true) => FAR,
            (true, false) | (false, true) => 0,
            (false, false) => NEAR,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAST: Duration = Duration::from_nanos(1000);
    const SLUGGISH: Duration = Duration::from_nanos(4000);

    /// Copies of 8 KiB until one is timed, which takes so long: how those before it were made.
    fn until_timed(pace: &mut Pace, time: Duration) -> Vec<Copy> {
        let copies =
            std::iter::from_fn(|| Some(pace.next(8 << 10)).filter(|copy| *copy != Copy::Timed)).collect();
        pace.took(8 << 10, time);
        copies
    }

    #[test]
    fn slow_stores_are_avoided_and_tried_again_now_and_then() {
        let pace = &mut Pace::default();
        assert_eq!(until_timed(pace, FAST), []);
        assert_eq!(until_timed(pace, SLUGGISH), [Copy::Ordinary; NEAR as usize]);
        assert_eq!(until_timed(pace, SLUGGISH), [], "the next one confirms it");
        assert_eq!(until_timed(pace, SLUGGISH), [Copy::PastCaches; FAR as usize]);
        assert_eq!(until_timed(pace, FAST), [Copy::PastCaches; FAR as usize]);
        assert_eq!(until_timed(pace, SLUGGISH), [], "what was past the caches is no more");
        assert_eq!(until_timed(pace, FAST), [Copy::PastCaches; FAR as usize]);
        for _ in 1..BELIEVED_NEARER {
            assert!(pace.is_far() && !pace.is_near());
            assert_eq!(until_timed(pace, FAST), []);
        }
        assert_eq!(until_timed(pace, FAST), [Copy::Ordinary; NEAR as usize], "it has come near");
    }

    #[test]
    fn of_long_payloads_more_is_expected() {
        // Some 6.5 bytes a nanosecond.
        for (bytes, is_slow) in [(LONG / 2, false), (LONG - 1, false), (LONG, true), (4 * LONG, true)] {
            let pace = &mut Pace::default();
            for _ in 0..BELIEVED {
                pace.took(bytes, CLOCK + Duration::from_nanos(bytes as u64 * 2 / 13));
            }
            assert_eq!(pace.is_far(), is_slow, "{bytes}");
        }
    }

    #[test]
    fn near_is_believed_when_it_is_told_again() {
        let pace = &mut Pace::default();
        let mut near = |time| {
            until_timed(pace, time);
            pace.is_near()
        };
        let times = [FAST, FAST, SLUGGISH, FAST, FAST, SLUGGISH, FAST, SLUGGISH, FAST, FAST];
        let expected = [false, true, false, false, true, false, false, false, false, true];
        assert_eq!(times.map(&mut near), expected);
    }

    #[test]
    fn one_slow_copy_alone_changes_nothing() {
        let pace = &mut Pace::default();
        assert_eq!(until_timed(pace, SLUGGISH), []);
        assert_eq!(until_timed(pace, FAST), []);
        assert_eq!(until_timed(pace, FAST), [Copy::Ordinary; NEAR as usize]);
    }
}
