//! What is held against this crate's readers of foreign bytes, whatever the bytes. Built for `fuzz/` only (`--cfg
//! fuzzing`).

#![allow(clippy::panic, reason = "a broken promise is reported by a panic")]

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::frames::encode;
use crate::handshake::{accept, connect};
use crate::wire::{ToMaster, ToRank};
use ringworld_auth::Secret;

/// The body of a control frame: what can be read can be written, and then reads the same.
///
/// # Panics
///
/// When that is not so.
pub fn control_frame(body: &[u8]) {
    again::<ToMaster>(body);
    again::<ToRank>(body);
}

fn again<T: Serialize + DeserializeOwned>(body: &[u8]) {
    let Ok(message) = postcard::from_bytes::<T>(body) else { return };
    let written = encode(&message).unwrap_or_else(|error| panic!("{body:?} cannot be written: {error}"));
    let read: T = postcard::from_bytes(&written).unwrap_or_else(|error| panic!("{written:?}: {error}"));
    assert_eq!(encode(&read).ok(), Some(written), "{body:?}");
}

/// The first words of whoever does not know the secret, on either side: none of them is believed.
///
/// # Panics
///
/// When that is not so.
pub fn control_handshake(words: &[u8]) {
    let secret = Secret::new(b"a secret that no input contains".to_vec());
    let runtime =
        tokio::runtime::Builder::new_current_thread().build().unwrap_or_else(|error| panic!("{error}"));
    let stream = || tokio::io::join(words, tokio::io::sink());
    let master = runtime.block_on(accept(&mut stream(), &secret, 7, || panic!("{words:?} is vouched for")));
    assert!(master.is_err(), "{words:?} is believed by a master");
    assert!(runtime.block_on(connect(&mut stream(), &secret)).is_err(), "{words:?} is believed by a rank");
}
