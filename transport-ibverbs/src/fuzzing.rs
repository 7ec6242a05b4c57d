//! What is held against this crate's readers of foreign bytes, whatever the bytes. Built for `fuzz/` only (`--cfg
//! fuzzing`).

#![allow(clippy::panic, reason = "a broken promise is reported by a panic")]

use ringworld_transport::Address;

use crate::blob::{Offer, PORT, PortAddress, VERSION};
use crate::config::Config;
use crate::wire::{PRELUDE, Prelude};

/// What ranks tell one another to connect, as it is, and the same with what every introduction begins with: what can be
/// read is written as it was.
///
/// # Panics
///
/// When that is not so.
pub fn introductions(bytes: &[u8]) {
    is_read_as_written(bytes);
    let mut likely = bytes.to_vec();
    if let Some(front) = likely.first_chunk_mut::<{ PORT + 5 }>() {
        front[0] = VERSION;
        front[1] = 1 + front[1] % 2;
        front[2] = 1 + front[2] % 5;
        // Slots of 256 bytes or more, in messages that hold one.
        (front[24], front[30]) = (front[24] | 1, 0xff);
        front[31] = 1 + front[31] % Config::MAX_QUEUE_PAIRS as u8;
        (front[PORT], front[PORT + 4]) = (0, 0);
        is_read_as_written(&likely);
    }
}

fn is_read_as_written(bytes: &[u8]) {
    if let Ok(address) = PortAddress::decode(&Address::new(bytes.to_vec())) {
        assert_eq!(address.encode().as_bytes(), bytes);
    }
    if let Ok(offer) = Offer::decode(bytes) {
        assert_eq!(offer.encode(), bytes);
    }
}

/// A receive slot as it came: its parts are the whole, and the front is as it was written.
///
/// # Panics
///
/// When that is not so.
pub fn slot(bytes: &[u8]) {
    parts_are_the_whole(bytes);
    let mut likely = bytes.to_vec();
    if let Some([kind, header, ..]) = likely.get_mut(..PRELUDE) {
        (*kind, *header) = (*kind % 8, *header % 32);
        parts_are_the_whole(&likely);
    }
}

fn parts_are_the_whole(bytes: &[u8]) {
    if let Ok((prelude, header, payload)) = Prelude::decode(bytes) {
        assert_eq!(prelude.encode(), bytes[..PRELUDE]);
        assert_eq!((header.len(), PRELUDE + header.len() + payload.len()), (prelude.header, bytes.len()));
    }
}
