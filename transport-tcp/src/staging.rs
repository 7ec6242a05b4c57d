//! Memory that is read into before it is known where the bytes belong.
//!
//! Between two calls a lane has at most the beginning of a prelude left over ([`Rest`]), so one [`Staging`] serves all
//! lanes of a transport in turn: it stays in the cache, and a peer costs a hundred bytes and not 64 KiB. Neighbour:
//! `lane.rs` fills and empties it.

use crate::framing::MAX_PRELUDE;

/// Bytes that are read ahead of knowing where they belong. Large enough for several small messages per
/// call, small enough that copying out of it is cheap beside a large payload.
pub(crate) const STAGING: usize = 64 << 10;

/// The beginning of a prelude of which the rest has not come.
#[derive(Clone, Copy)]
pub(crate) struct Rest {
    bytes: [u8; MAX_PRELUDE],
    length: u8,
}

impl Rest {
    pub(crate) const NONE: Self = Self { bytes: [0; MAX_PRELUDE], length: 0 };
}

/// What has been read and not been delivered.
pub(crate) struct Staging {
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
}

impl Staging {
    pub(crate) fn new() -> Self {
        Self { bytes: vec![0; STAGING].into_boxed_slice(), start: 0, end: 0 }
    }

    /// Goes on with a lane where it was left.
    pub(crate) fn resume(&mut self, rest: &Rest) {
        let length = usize::from(rest.length);
        // Mostly nothing.
        if length > 0 {
            self.bytes[..length].copy_from_slice(&rest.bytes[..length]);
        }
        (self.start, self.end) = (0, length);
    }

    /// What is left over of a lane. More than the beginning of a prelude is left only of one that is given up.
    pub(crate) fn leave(&self, rest: &mut Rest) {
        let left = self.staged();
        let length = left.len().min(MAX_PRELUDE);
        if length > 0 {
            rest.bytes[..length].copy_from_slice(&left[..length]);
        }
        rest.length = length as u8;
    }

    pub(crate) fn staged(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    pub(crate) fn consume(&mut self, count: usize) {
        self.start += count;
    }

    /// Memory for `most` bytes behind what is there, and always for a whole prelude.
    pub(crate) fn room(&mut self, most: usize) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.bytes.len() - self.end < MAX_PRELUDE {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let until = self.bytes.len().min(self.end + most);
        &mut self.bytes[self.end..until]
    }

    /// Bytes have been written to the room.
    pub(crate) fn filled(&mut self, count: usize) {
        self.end += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_one_lane_is_there_again_after_another() {
        let mut staging = Staging::new();
        let (mut one, mut other) = (Rest::NONE, Rest::NONE);
        staging.resume(&one);
        staging.room(STAGING)[..5].copy_from_slice(b"abcde");
        staging.filled(5);
        staging.consume(2);
        staging.leave(&mut one);
        staging.resume(&other);
        assert!(staging.staged().is_empty());
        staging.room(4).copy_from_slice(b"wxyz");
        staging.filled(4);
        staging.leave(&mut other);
        staging.resume(&one);
        assert_eq!(staging.staged(), b"cde");
        staging.resume(&other);
        assert_eq!(staging.staged(), b"wxyz");
    }

    #[test]
    fn there_is_always_room_for_a_prelude() {
        let mut staging = Staging::new();
        staging.resume(&Rest::NONE);
        assert_eq!(staging.room(STAGING).len(), STAGING);
        staging.filled(STAGING);
        staging.consume(STAGING - 3);
        assert_eq!(staging.room(STAGING).len(), STAGING - 3);
        assert_eq!(staging.staged().len(), 3);
        staging.consume(3);
        assert_eq!(staging.room(10).len(), 10);
    }
}
