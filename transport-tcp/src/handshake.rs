//! The handshake of one connection, as two state machines without I/O.
//!
//! ```text
//! initiator                                   responder
//!   Hello (magic, version, job, from, to, lane, lanes, nonce)  ->
//!                                 <-  Welcome (nonce, proof)   or Reject (code)
//!   Proof (proof)                                              ->   or Refuse
//!                                 <-  Ready                    or Reject (code)
//! ```
//!
//! Invariant: nobody is believed to be a rank of this job before it has proved, by
//! [`ringworld_auth`], that it knows the job's secret, for exactly this job, pair of ranks and lane.
//! All frames have a fixed size, so that reading one never takes bytes of what follows. Integers are
//! little-endian. Neighbours: `pending.rs` owns the sockets, `connect.rs` decides what a
//! verified connection is good for.

use ringworld_auth::{LENGTH, Nonce, Proof, Role, Secret};
use ringworld_transport::Rank;

/// First bytes of every connection.
pub(crate) const MAGIC: [u8; 8] = *b"RINGWTCP";
/// Changes whenever bytes on the wire change their meaning.
pub(crate) const VERSION: u32 = 2;
/// Size of the first frame.
pub(crate) const HELLO: usize = 72;
/// Size of what the responder sends, Welcome, Ready or Reject.
pub(crate) const REPLY: usize = 8 + 2 * LENGTH;
/// Size of what the initiator sends second.
pub(crate) const ANSWER: usize = 4 + LENGTH;

const WELCOME: u32 = 1;
const READY: u32 = 2;
const REJECT: u32 = 3;
const PROOF: u32 = 1;
const REFUSE: u32 = 2;

/// Who this process is; the same for all its connections.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) rank: Rank,
    pub(crate) size: usize,
    pub(crate) job: u64,
    pub(crate) lanes: usize,
    pub(crate) secret: Secret,
}

impl Identity {
    fn context(&self, from: Rank, to: Rank, lane: usize) -> [u8; 38] {
        let mut context = [0; 38];
        context[..12].copy_from_slice(b"ringworldtcp");
        context[12..20].copy_from_slice(&self.job.to_le_bytes());
        context[20..28].copy_from_slice(&(from as u64).to_le_bytes());
        context[28..36].copy_from_slice(&(to as u64).to_le_bytes());
        context[36..].copy_from_slice(&(lane as u16).to_le_bytes());
        context
    }
}

/// Why a responder turns an initiator away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rejection {
    /// Not our protocol at all. Nothing is answered.
    Magic,
    Version,
    Job,
    /// The initiator looked for another rank than this one.
    WrongRank,
    /// The initiator's own rank cannot be.
    BadRank,
    Lanes,
    Secret,
    /// This pair is connected already.
    Duplicate,
    /// The initiator's rank is down, as far as this process knows.
    Down,
    /// This process has closed, or is about to.
    Finished,
}

impl Rejection {
    const ALL: [Self; 10] = [
        Self::Magic,
        Self::Version,
        Self::Job,
        Self::WrongRank,
        Self::BadRank,
        Self::Lanes,
        Self::Secret,
        Self::Duplicate,
        Self::Down,
        Self::Finished,
    ];

    fn code(self) -> u32 {
        self as u32 + 1
    }

    fn from_code(code: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|rejection| rejection.code() == code)
    }

    /// For the process that was turned away: what is wrong and what to do.
    pub(crate) fn advice(self) -> &'static str {
        match self {
            Self::Magic => "it does not speak ringworld's protocol",
            Self::Version => {
                "it speaks another version of the protocol; run the same version of ringworld on every host"
            }
            Self::Job => {
                "it belongs to another job; make sure that all ranks use the same rendezvous address and port"
            }
            Self::WrongRank => {
                "another rank of the job answers there; is the same address in use on two hosts?"
            }
            Self::BadRank => "it says that this rank cannot be; start all ranks with the same world size",
            Self::Lanes => "it uses another number of lanes; give every rank the same setting",
            Self::Secret => "the job's secrets differ; set the same secret on every host",
            Self::Duplicate => "it says that this rank is connected already; was one rank started twice?",
            Self::Down => "it has declared this rank dead",
            Self::Finished => "it has finished",
        }
    }

    /// For the log of the process that turned somebody away.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Magic => "it does not speak ringworld's protocol",
            Self::Version => "another version of ringworld",
            Self::Job => "it belongs to another job",
            Self::WrongRank => "it looks for another rank",
            Self::BadRank => "it claims a rank that cannot be",
            Self::Lanes => "it uses another number of lanes",
            Self::Secret => "it has another secret, or none",
            Self::Duplicate => "its rank is connected already",
            Self::Down => "its rank has been declared dead",
            Self::Finished => "this rank has finished",
        }
    }
}

/// A Reject frame, to be sent before closing.
pub(crate) fn reject(rejection: Rejection) -> [u8; REPLY] {
    reply(REJECT, rejection.code(), None)
}

/// A Ready frame.
pub(crate) fn ready() -> [u8; REPLY] {
    reply(READY, 0, None)
}

fn reply(kind: u32, code: u32, welcome: Option<(&Nonce, &Proof)>) -> [u8; REPLY] {
    let mut bytes = [0; REPLY];
    bytes[..4].copy_from_slice(&kind.to_le_bytes());
    bytes[4..8].copy_from_slice(&code.to_le_bytes());
    if let Some((nonce, proof)) = welcome {
        bytes[8..8 + LENGTH].copy_from_slice(&nonce.0);
        bytes[8 + LENGTH..].copy_from_slice(&proof.0);
    }
    bytes
}

fn answer(kind: u32, proof: &Proof) -> [u8; ANSWER] {
    let mut bytes = [0; ANSWER];
    bytes[..4].copy_from_slice(&kind.to_le_bytes());
    bytes[4..].copy_from_slice(&proof.0);
    bytes
}

/// The `N` bytes at `at`; zeros where there are none, which cannot happen with the constants used here.
fn part<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
}

/// The connecting side.
#[derive(Debug)]
pub(crate) struct Initiator {
    to: Rank,
    lane: usize,
    nonce: Nonce,
    proved: bool,
}

/// What the initiator does about a reply.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum InitiatorStep {
    /// Send this and wait for the next reply. From here on the responder may take the connection as made.
    Prove([u8; ANSWER]),
    /// The connection is made.
    Ready,
    /// Turned away.
    Rejected(Rejection),
    /// The responder is not who it should be; send this so that it knows, then close.
    Impostor([u8; ANSWER]),
    /// The reply is not of this protocol.
    Garbage,
}

impl Initiator {
    /// Begins; returns the Hello to send.
    pub(crate) fn new(identity: &Identity, to: Rank, lane: usize, nonce: Nonce) -> (Self, [u8; HELLO]) {
        let mut hello = [0; HELLO];
        hello[..8].copy_from_slice(&MAGIC);
        hello[8..12].copy_from_slice(&VERSION.to_le_bytes());
        hello[12..14].copy_from_slice(&(lane as u16).to_le_bytes());
        hello[14..16].copy_from_slice(&(identity.lanes as u16).to_le_bytes());
        hello[16..24].copy_from_slice(&identity.job.to_le_bytes());
        hello[24..32].copy_from_slice(&(identity.rank as u64).to_le_bytes());
        hello[32..40].copy_from_slice(&(to as u64).to_le_bytes());
        hello[40..].copy_from_slice(&nonce.0);
        (Self { to, lane, nonce, proved: false }, hello)
    }

    /// Digests one reply.
    pub(crate) fn on_reply(&mut self, identity: &Identity, bytes: &[u8; REPLY]) -> InitiatorStep {
        let code = u32::from_le_bytes(part(bytes, 4));
        match u32::from_le_bytes(part(bytes, 0)) {
            WELCOME if !self.proved => {
                let (theirs, proof) = (Nonce(part(bytes, 8)), Proof(part(bytes, 8 + LENGTH)));
                let context = identity.context(identity.rank, self.to, self.lane);
                if !identity.secret.verify(&proof, Role::Responder, &context, &self.nonce, &theirs) {
                    return InitiatorStep::Impostor(answer(REFUSE, &Proof([0; LENGTH])));
                }
                self.proved = true;
                let proof = identity.secret.prove(Role::Initiator, &context, &self.nonce, &theirs);
                InitiatorStep::Prove(answer(PROOF, &proof))
            }
            READY if self.proved => InitiatorStep::Ready,
            REJECT => Rejection::from_code(code).map_or(InitiatorStep::Garbage, InitiatorStep::Rejected),
            _ => InitiatorStep::Garbage,
        }
    }
}

/// The accepting side, once a Hello has been found good.
#[derive(Debug)]
pub(crate) struct Responder {
    pub(crate) from: Rank,
    pub(crate) lane: usize,
    theirs: Nonce,
    ours: Nonce,
}

impl Responder {
    /// Whether `bytes`, a part of a Hello from its beginning, can still become one: lets whoever is no rank be
    /// turned away at their first byte.
    pub(crate) fn plausible(bytes: &[u8]) -> Result<(), Rejection> {
        let magic = bytes.len().min(MAGIC.len());
        if bytes[..magic] != MAGIC[..magic] {
            return Err(Rejection::Magic);
        }
        match bytes.get(8..12) {
            Some(version) if version != VERSION.to_le_bytes() => Err(Rejection::Version),
            _ => Ok(()),
        }
    }

    /// Digests a Hello; returns the Welcome to send.
    pub(crate) fn on_hello(
        identity: &Identity,
        bytes: &[u8; HELLO],
        ours: Nonce,
    ) -> Result<(Self, [u8; REPLY]), Rejection> {
        Self::plausible(bytes)?;
        let number = |at| u64::from_le_bytes(part(bytes, at));
        let lane = usize::from(u16::from_le_bytes(part(bytes, 12)));
        if number(16) != identity.job {
            return Err(Rejection::Job);
        }
        if number(32) != identity.rank as u64 {
            return Err(Rejection::WrongRank);
        }
        let from = usize::try_from(number(24)).map_err(|_| Rejection::BadRank)?;
        if from >= identity.size || from == identity.rank {
            return Err(Rejection::BadRank);
        }
        if usize::from(u16::from_le_bytes(part(bytes, 14))) != identity.lanes || lane >= identity.lanes {
            return Err(Rejection::Lanes);
        }
        let responder = Self { from, lane, theirs: Nonce(part(bytes, 40)), ours };
        let context = identity.context(from, identity.rank, lane);
        let proof = identity.secret.prove(Role::Responder, &context, &responder.theirs, &responder.ours);
        Ok((responder, reply(WELCOME, 0, Some((&ours, &proof)))))
    }

    /// Checks the initiator's answer; `Ok` says that it is [`Responder::from`], and Ready may be sent.
    pub(crate) fn on_answer(&self, identity: &Identity, bytes: &[u8; ANSWER]) -> Result<(), Rejection> {
        let context = identity.context(self.from, identity.rank, self.lane);
        let proof = Proof(part(bytes, 4));
        if u32::from_le_bytes(part(bytes, 0)) == PROOF
            && identity.secret.verify(&proof, Role::Initiator, &context, &self.theirs, &self.ours)
        {
            return Ok(());
        }
        Err(Rejection::Secret)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(rank: Rank, job: u64, secret: &[u8]) -> Identity {
        Identity { rank, size: 4, job, lanes: 2, secret: Secret::new(secret.to_vec()) }
    }

    fn hello_of(from: &Identity, to: Rank) -> (Initiator, [u8; HELLO]) {
        Initiator::new(from, to, 1, Nonce([1; LENGTH]))
    }

    fn connect(a: &Identity, b: &Identity, to: Rank) -> Result<Responder, Rejection> {
        let (_, hello) = hello_of(a, to);
        Responder::on_hello(b, &hello, Nonce([2; LENGTH])).map(|(responder, _)| responder)
    }

    #[test]
    fn two_ranks_of_one_job_find_each_other() {
        let (a, b) = (identity(0, 7, b"s"), identity(3, 7, b"s"));
        let (mut initiator, hello) = hello_of(&a, 3);
        let (responder, welcome) = Responder::on_hello(&b, &hello, Nonce([2; LENGTH])).unwrap();
        let InitiatorStep::Prove(proof) = initiator.on_reply(&a, &welcome) else { panic!("no proof") };
        assert_eq!(responder.on_answer(&b, &proof), Ok(()));
        assert_eq!((responder.from, responder.lane), (0, 1));
        assert_eq!(initiator.on_reply(&a, &ready()), InitiatorStep::Ready);
    }

    #[test]
    fn whoever_does_not_belong_is_rejected_for_the_right_reason() {
        let me = identity(3, 7, b"s");
        assert_eq!(connect(&identity(0, 8, b"s"), &me, 3).unwrap_err(), Rejection::Job);
        assert_eq!(connect(&identity(0, 7, b"s"), &me, 2).unwrap_err(), Rejection::WrongRank);
        assert_eq!(connect(&identity(4, 7, b"s"), &me, 3).unwrap_err(), Rejection::BadRank);
        assert_eq!(connect(&identity(3, 7, b"s"), &me, 3).unwrap_err(), Rejection::BadRank);
        let lanes = Identity { lanes: 4, ..identity(0, 7, b"s") };
        assert_eq!(connect(&lanes, &me, 3).unwrap_err(), Rejection::Lanes);
        assert_eq!(Responder::plausible(b"GET / HT"), Err(Rejection::Magic));
        for version in [1, VERSION + 1] {
            let other = [&MAGIC[..], &version.to_le_bytes()].concat();
            assert_eq!(Responder::plausible(&other), Err(Rejection::Version));
        }
        assert_eq!(Responder::plausible(b"RING"), Ok(()));
    }

    #[test]
    fn without_the_secret_neither_side_is_believed() {
        let (a, b) = (identity(0, 7, b"right"), identity(3, 7, b"wrong"));
        let (mut initiator, hello) = hello_of(&a, 3);
        let (responder, welcome) = Responder::on_hello(&b, &hello, Nonce([2; LENGTH])).unwrap();
        let InitiatorStep::Impostor(refuse) = initiator.on_reply(&a, &welcome) else { panic!("believed") };
        assert_eq!(responder.on_answer(&b, &refuse), Err(Rejection::Secret));
        // An initiator that ignores the wrong proof cannot make a right one.
        let forged = answer(PROOF, &Proof([9; LENGTH]));
        assert_eq!(responder.on_answer(&b, &forged), Err(Rejection::Secret));
        // Ready without Welcome is worth nothing.
        let (mut initiator, _) = hello_of(&a, 3);
        assert_eq!(initiator.on_reply(&a, &ready()), InitiatorStep::Garbage);
    }

    #[test]
    fn every_rejection_travels() {
        let a = identity(0, 7, b"");
        for rejection in Rejection::ALL {
            let (mut initiator, _) = hello_of(&a, 3);
            assert_eq!(initiator.on_reply(&a, &reject(rejection)), InitiatorStep::Rejected(rejection));
        }
        let (mut initiator, _) = hello_of(&a, 3);
        assert_eq!(initiator.on_reply(&a, &[0xff; REPLY]), InitiatorStep::Garbage);
    }
}
