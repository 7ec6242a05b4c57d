//! The handshake of one connection, as two state machines without I/O.
//!
//! ```text
//! initiator                                            responder
//!   Hello (magic, version, first message)               ->
//!                                     <-  Welcome (second message)   or nothing, for now
//!   Offer (record)  + link, outbox, bell                ->
//!                                     <-  Accept (record)  + outbox, bell
//! ```
//!
//! The messages are those of [`ringworld_auth`]. The first one claims job and ranks, the second one is the verdict
//! about that. The offer carries descriptors: the memory of the link, the outbox, and the event by which its owner is
//! woken. It also carries a number that stands in that memory; the responder answers with what it has found there, and
//! has written another. So both know that they share memory, because they have done it. Invariants: no descriptor of
//! anybody is used who has not proved that it knows the job's secret on this very connection; whoever has not gets no
//! answer that depends on it. Neighbours: `packet.rs` sends and receives, `connect.rs` decides.

use ringworld_auth::{AuthError, FIRST, OVERHEAD, SECOND, Secret, Session};
use ringworld_transport::Rank;

const MAGIC: [u8; 8] = *b"RINGWSHM";
/// Changes whenever bytes on the wire, in links or in outboxes change their meaning.
const VERSION: u32 = 5;
const CLAIM: usize = 32;
const HELLO: usize = 12 + FIRST + CLAIM;
const WELCOME: usize = SECOND + 4;
const RECORD: usize = 8 + OVERHEAD;

/// Who this process is; the same for all its connections.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) rank: Rank,
    pub(crate) size: usize,
    pub(crate) job: u64,
    pub(crate) secret: Secret,
}

/// What a responder says to a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Ready,
    /// Another job, size or rank than this process expects.
    Wrong,
    /// The initiator is down, as far as this process knows.
    Down,
    /// This process has closed.
    Finished,
}

impl Verdict {
    const ALL: [Self; 4] = [Self::Ready, Self::Wrong, Self::Down, Self::Finished];

    fn code(self) -> u32 {
        self as u32
    }

    fn from_code(code: u32) -> Option<Self> {
        Self::ALL.get(code as usize).copied()
    }
}

/// Why a handshake came to nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    #[error("{0}")]
    Auth(#[from] AuthError),
    #[error("it does not speak this protocol")]
    Magic,
    #[error(
        "it speaks version {0} of this protocol, and this process {VERSION}; run the same release everywhere"
    )]
    Version(u32),
    #[error("an answer that makes no sense")]
    Nonsense,
    #[error("the memory that it was handed is not the memory that was meant")]
    OtherMemory,
    #[error("what it is to be woken by is {0}")]
    OtherBell(String),
}

fn purpose() -> [u8; 18] {
    let mut purpose = *b"ringworld shm \0\0\0\0";
    purpose[14..].copy_from_slice(&VERSION.to_le_bytes());
    purpose
}

fn word<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// What stands in a shared word once the responder has seen `proof` there.
pub(crate) fn answer_to(proof: u64) -> u64 {
    !proof
}

/// The side that dialled.
#[derive(Debug)]
pub(crate) struct Initiator(ringworld_auth::Initiator);

impl Initiator {
    /// Begins; returns Hello.
    pub(crate) fn new(identity: &Identity, peer: Rank) -> Result<(Self, Vec<u8>), Trouble> {
        let mut claim = [0; CLAIM];
        for (place, value) in claim.chunks_exact_mut(8).zip([
            identity.job,
            identity.rank as u64,
            peer as u64,
            identity.size as u64,
        ]) {
            place.copy_from_slice(&value.to_le_bytes());
        }
        let (initiator, first) = ringworld_auth::Initiator::new(&identity.secret, &purpose(), &claim)?;
        let mut hello = MAGIC.to_vec();
        hello.extend(VERSION.to_le_bytes());
        hello.extend(first);
        Ok((Self(initiator), hello))
    }

    /// Digests Welcome.
    pub(crate) fn welcomed(self, packet: &[u8]) -> Result<(Session, Verdict), Trouble> {
        if packet.len() != WELCOME {
            return Err(Trouble::Nonsense);
        }
        let (session, verdict) = self.0.finish(packet)?;
        let code = word(&verdict, 0).map(u32::from_le_bytes);
        let verdict = code.and_then(Verdict::from_code).ok_or(Trouble::Nonsense)?;
        Ok((session, verdict))
    }
}

/// The side that was dialled, when it has read Hello.
#[derive(Debug)]
pub(crate) struct Responder {
    responder: ringworld_auth::Responder,
    /// Who the initiator claims to be; `None`: nobody of this world.
    pub(crate) claimed: Option<Rank>,
}

impl Responder {
    /// Digests Hello.
    pub(crate) fn new(identity: &Identity, hello: &[u8]) -> Result<Self, Trouble> {
        if !hello.starts_with(&MAGIC) {
            return Err(Trouble::Magic);
        }
        let version = word(hello, 8).map(u32::from_le_bytes).ok_or(Trouble::Magic)?;
        if version != VERSION {
            return Err(Trouble::Version(version));
        }
        if hello.len() != HELLO {
            return Err(Trouble::Nonsense);
        }
        let (responder, claim) = ringworld_auth::Responder::new(&identity.secret, &purpose(), &hello[12..])?;
        let field = |index: usize| word(&claim, 8 * index).map(u64::from_le_bytes).ok_or(Trouble::Nonsense);
        let (job, from, to, size) = (field(0)?, field(1)?, field(2)?, field(3)?);
        let right = job == identity.job && to == identity.rank as u64 && size == identity.size as u64;
        let claimed =
            usize::try_from(from).ok().filter(|from| *from < identity.size && *from != identity.rank);
        Ok(Self { responder, claimed: claimed.filter(|_| right) })
    }

    /// Makes Welcome.
    pub(crate) fn answer(self, verdict: Verdict) -> Result<(Session, Vec<u8>), Trouble> {
        Ok(self.responder.answer(&verdict.code().to_le_bytes())?)
    }
}

/// Offer or Accept: a number that only the other side of this connection can read.
pub(crate) fn seal(session: &mut Session, number: u64) -> Result<Vec<u8>, Trouble> {
    let mut record = vec![0; RECORD];
    let length = session.sealer.seal(&number.to_le_bytes(), &mut record)?;
    record.truncate(length);
    Ok(record)
}

/// The number of Offer or Accept.
pub(crate) fn open(session: &mut Session, record: &[u8]) -> Result<u64, Trouble> {
    if record.len() != RECORD {
        return Err(Trouble::Nonsense);
    }
    let mut bytes = [0; RECORD];
    let length = session.opener.open(record, &mut bytes)?;
    word(&bytes[..length], 0).map(u64::from_le_bytes).ok_or(Trouble::Nonsense)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(rank: Rank, job: u64, secret: &[u8]) -> Identity {
        Identity { rank, size: 4, job, secret: Secret::new(secret.to_vec()) }
    }

    #[test]
    fn both_sides_end_with_keys_of_their_own() {
        let (one, other) = (identity(1, 7, b"s"), identity(2, 7, b"s"));
        let (initiator, hello) = Initiator::new(&one, 2).unwrap();
        let responder = Responder::new(&other, &hello).unwrap();
        assert_eq!(responder.claimed, Some(1));
        let (mut theirs, welcome) = responder.answer(Verdict::Ready).unwrap();
        let (mut ours, verdict) = initiator.welcomed(&welcome).unwrap();
        assert_eq!(verdict, Verdict::Ready);
        let offer = seal(&mut ours, 12).unwrap();
        assert!(open(&mut theirs, &offer[1..]).is_err());
        assert_eq!(open(&mut theirs, &offer).unwrap(), 12);
        assert!(open(&mut theirs, &offer).is_err(), "an offer was taken twice");
        let accept = seal(&mut theirs, answer_to(12)).unwrap();
        assert_eq!(open(&mut ours, &accept).unwrap(), answer_to(12));
    }

    #[test]
    fn verdicts_are_read_as_they_were_made() {
        for verdict in Verdict::ALL {
            assert_eq!(Verdict::from_code(verdict.code()), Some(verdict));
        }
        assert_eq!(Verdict::from_code(99), None);
    }

    #[test]
    fn claims_of_other_jobs_and_impossible_ranks_are_seen() {
        let me = identity(2, 7, b"s");
        for (from, job, to) in [(1, 8, 2), (1, 7, 3), (2, 7, 2), (9, 7, 2)] {
            let (_, hello) = Initiator::new(&identity(from, job, b"s"), to).unwrap();
            assert_eq!(Responder::new(&me, &hello).unwrap().claimed, None, "{from} {job} {to}");
        }
    }

    #[test]
    fn whoever_does_not_know_the_secret_is_not_answered() {
        let me = identity(2, 7, b"s");
        let (_, mut hello) = Initiator::new(&identity(1, 7, b"another"), 2).unwrap();
        assert!(matches!(Responder::new(&me, &hello), Err(Trouble::Auth(AuthError::Forged))));
        hello[8] = 9;
        assert!(matches!(Responder::new(&me, &hello), Err(Trouble::Version(9))));
        for wrong in [&b""[..], b"GET / HTTP/1.1", &hello[..20]] {
            assert!(Responder::new(&me, wrong).is_err());
        }
    }
}
