//! What is held against this crate's readers of foreign bytes, whatever the bytes. Built for `fuzz/` only (`--cfg
//! fuzzing`).

#![allow(clippy::panic, reason = "a broken promise is reported by a panic")]

use ringworld_auth::Secret;
use ringworld_transport::{Address, Header};

use crate::framing::{Frame, Prelude, decode};
use crate::handshake::{Answer, HELLO, Identity, Initiator, InitiatorStep, Responder};
use crate::listener;

/// A stream of frames without payloads, as it is, then frames made of these bytes, then the same with one byte altered:
/// each is read as soon as it is whole and not before, and as it was written.
///
/// # Panics
///
/// When that is not so.
pub fn frames(bytes: &[u8]) {
    are_read_as_written(bytes);
    let mut stream = Vec::new();
    for part in bytes.chunks(16) {
        let mut words = [[0; 8]; 2];
        part.iter().zip(words.as_flattened_mut()).for_each(|(from, to)| *to = *from);
        let [a, b] = words.map(u64::from_le_bytes);
        let frame = match part.len() % 4 {
            0 => Prelude::put(a, b, a as usize),
            1 => Prelude::fin(a),
            2 => Prelude::fin_ack(b),
            _ => Header::new(part).map_or_else(Prelude::none, |header| Prelude::message(&header, b as usize)),
        };
        stream.extend_from_slice(frame.as_bytes());
    }
    are_read_as_written(&stream);
    if let (Some(which), Some(by)) = (bytes.first(), bytes.last())
        && let Some(at) = (usize::from(*which) * 31).checked_rem(stream.len())
    {
        stream[at] ^= by;
        are_read_as_written(&stream);
    }
}

fn are_read_as_written(mut stream: &[u8]) {
    while let Ok(Some((frame, used))) = decode(stream) {
        let (bytes, rest) = stream.split_at(used);
        assert!(
            (0..used).all(|cut| decode(&bytes[..cut]) == Ok(None)),
            "{bytes:?} is read before it is whole"
        );
        let written = match frame {
            Frame::Message { header, length } => {
                let header = Header::new(header).unwrap_or_else(|| panic!("{header:?} is too long"));
                Prelude::message(&header, length)
            }
            Frame::Put { key, offset, length } => Prelude::put(key, offset, length),
            Frame::Fin { lanes } => Prelude::fin(lanes),
            Frame::FinAck { lanes } => Prelude::fin_ack(lanes),
        };
        assert_eq!(written.as_bytes(), bytes);
        stream = rest;
    }
}

/// Where a rank listens, as it says.
///
/// # Panics
///
/// When an address that can be read is written otherwise.
pub fn address(bytes: &[u8]) {
    if let Ok(addresses) = listener::decode(&Address::new(bytes.to_vec())) {
        assert_eq!(listener::encode(&addresses).as_bytes(), bytes);
    }
}

/// The first words of whoever does not know the secret, on either side, and claims of somebody who does.
///
/// # Panics
///
/// When the former is believed, or the latter for a rank that there cannot be.
pub fn handshake(words: &[u8]) {
    let secret = Secret::new(b"a secret that no input contains".to_vec());
    let identity =
        |rank| Identity { rank, size: 4, job: 7, lanes: 2, secret: secret.clone(), encrypt: false };
    let me = identity(1);
    if let Some(hello) = words.first_chunk::<HELLO>() {
        assert!(matches!(Responder::on_hello(&me, hello), Answer::Reject(_)), "{words:?} is believed");
    }
    let (mut initiator, _) = Initiator::new(&identity(2), 1, 0).unwrap_or_else(|error| panic!("{error}"));
    if let Some(reply) = words.get(..initiator.expects()) {
        let step = initiator.on_frame(reply);
        assert!(!matches!(step, InitiatorStep::Prove(_) | InitiatorStep::Ready(_)), "{words:?} is believed");
    }
    let Some(hello) = crate::handshake::claiming(&secret, words) else { return };
    if let Answer::Challenge(responder, _) = Responder::on_hello(&me, &hello) {
        assert!(
            responder.from < me.size && responder.from != me.rank && responder.lane < me.lanes,
            "{words:?}"
        );
    }
}
