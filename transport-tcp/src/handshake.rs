//! The handshake of one connection, as two state machines without I/O.
//!
//! ```text
//! initiator                                            responder
//!   Hello (magic, version, first message)               ->
//!                                     <-  Welcome (second message)   or Reject (code, not sealed)
//!   Proof (record)                                      ->
//!                                     <-  Verdict (record: ready, or why not)
//! ```
//!
//! The messages are those of [`ringworld_auth`]; the first one says job, ranks and lane, and whether data is encrypted;
//! the second one whether that is right. Invariants: nobody is believed to be a rank of this job before it has proved
//! that it knows the job's secret, on this very connection; and to whoever has not, nothing is said but that its
//! version or its secret is another, which an initiator takes for what anybody may say. All frames have a fixed size,
//! so that reading one never takes bytes of what follows. Integers are little-endian. Neighbours: `pending.rs` owns the
//! sockets, `connect.rs` decides what a verified connection is good for.

use ringworld_auth::{AuthError, FIRST, OVERHEAD, SECOND, Secret, Session};
use ringworld_transport::Rank;

/// First bytes of every connection.
pub(crate) const MAGIC: [u8; 8] = *b"RINGWTCP";
/// Changes whenever bytes on the wire change their meaning.
pub(crate) const VERSION: u32 = 3;
/// What the first message says.
const CLAIM: usize = 32;
/// Size of the first frame.
pub(crate) const HELLO: usize = 12 + FIRST + CLAIM;
/// Size of Welcome and Reject: that of versions before, which so hear that theirs is another.
pub(crate) const REPLY: usize = 72;
/// Size of Proof and Verdict.
pub(crate) const RECORD: usize = 4 + OVERHEAD;

const WELCOME: u32 = 1;
const REJECT: u32 = 3;
const PROOF: u32 = 1;
const READY: u32 = 0;
/// In the claim: data is encrypted.
const ENCRYPTED: u32 = 1;

const _: () = assert!(8 + SECOND + 4 <= REPLY);

/// Who this process is; the same for all its connections.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) rank: Rank,
    pub(crate) size: usize,
    pub(crate) job: u64,
    pub(crate) lanes: usize,
    pub(crate) secret: Secret,
    /// All data is encrypted.
    pub(crate) encrypt: bool,
}

/// Binds the handshake to what it is for.
fn purpose() -> [u8; 18] {
    let mut purpose = *b"ringworld tcp \0\0\0\0";
    purpose[14..].copy_from_slice(&VERSION.to_le_bytes());
    purpose
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
    /// One side encrypts data and the other does not.
    Encryption,
}

impl Rejection {
    const ALL: [Self; 11] = [
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
        Self::Encryption,
    ];

    fn code(self) -> u32 {
        self as u32 + 1
    }

    /// What anybody may claim: it makes the initiator try elsewhere, and no more.
    fn may_be_plain(self) -> bool {
        matches!(self, Self::Version | Self::Secret)
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
            Self::Encryption => {
                "one of the two sides encrypts data and the other does not; set RINGWORLD_ENCRYPT alike on every host"
            }
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
            Self::Encryption => {
                "one of the two sides encrypts data and the other does not (RINGWORLD_ENCRYPT)"
            }
        }
    }
}

/// A Reject frame, to be sent before closing.
pub(crate) fn reject(rejection: Rejection) -> [u8; REPLY] {
    reply(REJECT, rejection.code(), &[])
}

fn reply(kind: u32, code: u32, second: &[u8]) -> [u8; REPLY] {
    let mut bytes = [0; REPLY];
    bytes[..4].copy_from_slice(&kind.to_le_bytes());
    bytes[4..8].copy_from_slice(&code.to_le_bytes());
    bytes[8..8 + second.len()].copy_from_slice(second);
    bytes
}

/// A number in a record of its own.
fn seal(session: &mut Session, number: u32) -> Result<[u8; RECORD], AuthError> {
    let mut record = [0; RECORD];
    session.sealer.seal(&number.to_le_bytes(), &mut record)?;
    Ok(record)
}

fn open(session: &mut Session, record: &[u8; RECORD]) -> Result<u32, AuthError> {
    let mut number = [0; 4];
    session.opener.open(record, &mut number)?;
    Ok(u32::from_le_bytes(number))
}

/// The `N` bytes at `at`; zeros where there are none, which cannot happen with the constants used here.
fn part<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
}

/// The connecting side.
#[derive(Debug)]
pub(crate) enum Initiator {
    /// Has said Hello.
    Begun(ringworld_auth::Initiator),
    /// Has proved itself, and waits for the verdict.
    Proved(Box<Session>),
    /// Over, in one way or the other.
    Over,
}

/// What the initiator does about a reply.
#[derive(Debug)]
pub(crate) enum InitiatorStep {
    /// Send this and wait for the verdict. From here on the responder may take the connection as made.
    Prove([u8; RECORD]),
    /// The connection is made; these are its keys.
    Ready(Box<Session>),
    /// Turned away by the peer, or, where that is all the same, by anybody.
    Rejected(Rejection),
    /// Turned away by somebody who has not shown who it is.
    Anonymous,
    /// The responder is not who it should be.
    Impostor,
    /// The reply is not of this protocol.
    Garbage,
}

/// The first words, with what they claim sealed in them.
fn hello(
    secret: &Secret,
    claim: &[u8; CLAIM],
) -> Result<(ringworld_auth::Initiator, [u8; HELLO]), AuthError> {
    let (initiator, first) = ringworld_auth::Initiator::new(secret, &purpose(), claim)?;
    let mut hello = [0; HELLO];
    hello[..8].copy_from_slice(&MAGIC);
    hello[8..12].copy_from_slice(&VERSION.to_le_bytes());
    hello[12..].copy_from_slice(&first);
    Ok((initiator, hello))
}

/// A Hello of somebody who knows the secret and claims anything.
#[cfg(fuzzing)]
pub(crate) fn claiming(secret: &Secret, claim: &[u8]) -> Option<[u8; HELLO]> {
    hello(secret, claim.first_chunk()?).ok().map(|(_, hello)| hello)
}

impl Initiator {
    /// Begins; returns the Hello to send.
    pub(crate) fn new(identity: &Identity, to: Rank, lane: usize) -> Result<(Self, [u8; HELLO]), AuthError> {
        let mut claim = [0; CLAIM];
        claim[..8].copy_from_slice(&identity.job.to_le_bytes());
        claim[8..16].copy_from_slice(&(identity.rank as u64).to_le_bytes());
        claim[16..24].copy_from_slice(&(to as u64).to_le_bytes());
        claim[24..26].copy_from_slice(&(lane as u16).to_le_bytes());
        claim[26..28].copy_from_slice(&(identity.lanes as u16).to_le_bytes());
        claim[28..].copy_from_slice(&(u32::from(identity.encrypt) * ENCRYPTED).to_le_bytes());
        let (initiator, hello) = hello(&identity.secret, &claim)?;
        Ok((Self::Begun(initiator), hello))
    }

    /// Size of the frame that it waits for.
    pub(crate) fn expects(&self) -> usize {
        if matches!(self, Self::Begun(_)) { REPLY } else { RECORD }
    }

    /// Digests one frame, of the size that it [`expects`](Self::expects).
    pub(crate) fn on_frame(&mut self, bytes: &[u8]) -> InitiatorStep {
        match std::mem::replace(self, Self::Over) {
            Self::Begun(initiator) => self.on_reply(initiator, &part(bytes, 0)),
            Self::Proved(mut session) => match open(&mut session, &part(bytes, 0)) {
                Ok(READY) => InitiatorStep::Ready(session),
                Ok(code) => {
                    Rejection::from_code(code).map_or(InitiatorStep::Garbage, InitiatorStep::Rejected)
                }
                Err(_) => InitiatorStep::Impostor,
            },
            Self::Over => InitiatorStep::Garbage,
        }
    }

    fn on_reply(&mut self, initiator: ringworld_auth::Initiator, bytes: &[u8; REPLY]) -> InitiatorStep {
        match u32::from_le_bytes(part(bytes, 0)) {
            WELCOME => {}
            REJECT => {
                let plain = Rejection::from_code(u32::from_le_bytes(part(bytes, 4)));
                return match plain {
                    Some(rejection) if rejection.may_be_plain() => InitiatorStep::Rejected(rejection),
                    Some(_) => InitiatorStep::Anonymous,
                    None => InitiatorStep::Garbage,
                };
            }
            _ => return InitiatorStep::Garbage,
        }
        let second: [u8; SECOND + 4] = part(bytes, 8);
        let Ok((mut session, verdict)) = initiator.finish(&second) else { return InitiatorStep::Impostor };
        match u32::from_le_bytes(part(&verdict, 0)) {
            READY => {}
            code => {
                return Rejection::from_code(code).map_or(InitiatorStep::Garbage, InitiatorStep::Rejected);
            }
        }
        // It can fail only by numbers that have run out, and this is the first.
        let Ok(proof) = seal(&mut session, PROOF) else { return InitiatorStep::Garbage };
        *self = Self::Proved(Box::new(session));
        InitiatorStep::Prove(proof)
    }
}

/// The accepting side, once a Hello has been found good.
#[derive(Debug)]
pub(crate) struct Responder {
    pub(crate) from: Rank,
    pub(crate) lane: usize,
    pub(crate) session: Session,
}

/// What the responder does about a Hello.
#[derive(Debug)]
pub(crate) enum Answer {
    /// It comes from a rank of this job, or repeats what one has said; send this.
    Challenge(Box<Responder>, [u8; REPLY]),
    /// It was made with the secret and makes no sense here; send this, which only its maker can read.
    Refuse(Rejection, [u8; REPLY]),
    /// It was not made with the secret.
    Reject(Rejection),
    /// The system has no randomness.
    Fail(AuthError),
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

    /// Digests a Hello.
    pub(crate) fn on_hello(identity: &Identity, bytes: &[u8; HELLO]) -> Answer {
        if let Err(rejection) = Self::plausible(bytes) {
            return Answer::Reject(rejection);
        }
        let first: [u8; FIRST + CLAIM] = part(bytes, 12);
        let (responder, claim) = match ringworld_auth::Responder::new(&identity.secret, &purpose(), &first) {
            Ok(begun) => begun,
            Err(AuthError::Forged) => return Answer::Reject(Rejection::Secret),
            Err(error) => return Answer::Fail(error),
        };
        let judged = Self::judge(identity, &claim);
        let code = judged.err().map_or(READY, Rejection::code);
        let (session, second) = match responder.answer(&code.to_le_bytes()) {
            Ok(answered) => answered,
            Err(error) => return Answer::Fail(error),
        };
        let welcome = reply(WELCOME, 0, &second);
        match judged {
            Ok((from, lane)) => Answer::Challenge(Box::new(Self { from, lane, session }), welcome),
            Err(rejection) => Answer::Refuse(rejection, welcome),
        }
    }

    /// Rank and lane of a claim, if it can be.
    fn judge(identity: &Identity, claim: &[u8]) -> Result<(Rank, usize), Rejection> {
        let number = |at| u64::from_le_bytes(part(claim, at));
        let lane = usize::from(u16::from_le_bytes(part(claim, 24)));
        if number(0) != identity.job {
            return Err(Rejection::Job);
        }
        if number(16) != identity.rank as u64 {
            return Err(Rejection::WrongRank);
        }
        let from = usize::try_from(number(8)).map_err(|_| Rejection::BadRank)?;
        if from >= identity.size || from == identity.rank {
            return Err(Rejection::BadRank);
        }
        if usize::from(u16::from_le_bytes(part(claim, 26))) != identity.lanes || lane >= identity.lanes {
            return Err(Rejection::Lanes);
        }
        if u32::from_le_bytes(part(claim, 28)) != u32::from(identity.encrypt) * ENCRYPTED {
            return Err(Rejection::Encryption);
        }
        Ok((from, lane))
    }

    /// Checks the initiator's proof; whether it is [`Responder::from`], and a verdict may be sent.
    pub(crate) fn on_proof(&mut self, bytes: &[u8; RECORD]) -> bool {
        matches!(open(&mut self.session, bytes), Ok(PROOF))
    }

    /// The verdict to send to whoever has proved itself.
    pub(crate) fn verdict(&mut self, refused: Option<Rejection>) -> Result<[u8; RECORD], AuthError> {
        seal(&mut self.session, refused.map_or(READY, Rejection::code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(rank: Rank, job: u64, secret: &[u8]) -> Identity {
        let secret = Secret::new(secret.to_vec());
        Identity { rank, size: 4, job, lanes: 2, secret, encrypt: false }
    }

    fn hello_of(from: &Identity, to: Rank) -> (Initiator, [u8; HELLO]) {
        Initiator::new(from, to, 1).unwrap()
    }

    /// Both sides' first words; the initiator has not read the answer yet.
    fn meet(a: &Identity, b: &Identity) -> (Initiator, Box<Responder>, [u8; REPLY]) {
        let (initiator, hello) = hello_of(a, b.rank);
        match Responder::on_hello(b, &hello) {
            Answer::Challenge(responder, welcome) => (initiator, responder, welcome),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn two_ranks_of_one_job_find_each_other() {
        for secret in [&b"s"[..], b""] {
            let (a, b) = (identity(0, 7, secret), identity(3, 7, secret));
            let (mut initiator, mut responder, welcome) = meet(&a, &b);
            let InitiatorStep::Prove(proof) = initiator.on_frame(&welcome) else { panic!("no proof") };
            assert!(responder.on_proof(&proof));
            assert_eq!((responder.from, responder.lane), (0, 1));
            let verdict = responder.verdict(None).unwrap();
            assert_eq!(initiator.expects(), verdict.len());
            assert!(matches!(initiator.on_frame(&verdict), InitiatorStep::Ready(_)));
        }
    }

    #[test]
    fn whoever_does_not_belong_is_told_the_right_reason_and_nobody_else_is() {
        let me = identity(3, 7, b"s");
        let mut encrypts = identity(0, 7, b"s");
        encrypts.encrypt = true;
        let lanes = Identity { lanes: 4, ..identity(0, 7, b"s") };
        for (who, to, expected) in [
            (identity(0, 8, b"s"), 3, Rejection::Job),
            (identity(0, 7, b"s"), 2, Rejection::WrongRank),
            (identity(4, 7, b"s"), 3, Rejection::BadRank),
            (identity(3, 7, b"s"), 3, Rejection::BadRank),
            (lanes, 3, Rejection::Lanes),
            (encrypts, 3, Rejection::Encryption),
        ] {
            let (mut initiator, hello) = hello_of(&who, to);
            let Answer::Refuse(rejection, reply) = Responder::on_hello(&me, &hello) else {
                panic!("{expected:?}")
            };
            assert_eq!(rejection, expected);
            assert!(
                matches!(initiator.on_frame(&reply), InitiatorStep::Rejected(heard) if heard == expected)
            );
            let (mut other, _) = hello_of(&who, to);
            assert!(matches!(other.on_frame(&reply), InitiatorStep::Impostor), "meant for somebody else");
        }
        assert_eq!(Responder::plausible(b"GET / HT"), Err(Rejection::Magic));
        for version in [1, VERSION + 1] {
            let other = [&MAGIC[..], &version.to_le_bytes()].concat();
            assert_eq!(Responder::plausible(&other), Err(Rejection::Version));
        }
        assert_eq!(Responder::plausible(b"RING"), Ok(()));
    }

    #[test]
    fn without_the_secret_neither_side_is_believed_and_nothing_is_handed_out() {
        let (a, b) = (identity(0, 7, b"right"), identity(3, 7, b"wrong"));
        let (mut initiator, hello) = hello_of(&a, 3);
        assert!(matches!(Responder::on_hello(&b, &hello), Answer::Reject(Rejection::Secret)));
        // What a rank with another secret would answer to its own.
        let (_, _, welcome) = meet(&identity(0, 7, b"wrong"), &b);
        assert!(matches!(initiator.on_frame(&welcome), InitiatorStep::Impostor));
    }

    #[test]
    fn a_recorded_hello_does_not_make_a_rank() {
        let (a, b) = (identity(0, 7, b"s"), identity(3, 7, b"s"));
        let (_, hello) = hello_of(&a, 3);
        let Answer::Challenge(mut responder, _) = Responder::on_hello(&b, &hello) else {
            panic!("not taken")
        };
        assert!(!responder.on_proof(&[9; RECORD]));
        // Nor does the proof of another connection.
        let (mut initiator, _, welcome) = meet(&a, &b);
        let InitiatorStep::Prove(proof) = initiator.on_frame(&welcome) else { panic!("no proof") };
        assert!(!responder.on_proof(&proof));
    }

    #[test]
    fn a_refusal_that_matters_counts_only_from_who_has_proved_itself() {
        let (a, b) = (identity(0, 7, b"s"), identity(3, 7, b"s"));
        for rejection in Rejection::ALL {
            let (mut initiator, _) = hello_of(&a, 3);
            match (initiator.on_frame(&reject(rejection)), rejection) {
                (InitiatorStep::Rejected(heard), Rejection::Version | Rejection::Secret) => {
                    assert_eq!(heard, rejection);
                }
                (InitiatorStep::Anonymous, _) => assert!(!rejection.may_be_plain()),
                (step, _) => panic!("{rejection:?}: {step:?}"),
            }
            let (mut initiator, mut responder, welcome) = meet(&a, &b);
            let InitiatorStep::Prove(_) = initiator.on_frame(&welcome) else { panic!("no proof") };
            let verdict = responder.verdict(Some(rejection)).unwrap();
            assert!(
                matches!(initiator.on_frame(&verdict), InitiatorStep::Rejected(heard) if heard == rejection)
            );
        }
    }

    #[test]
    fn an_altered_byte_is_noticed_wherever_it_matters() {
        let (a, b) = (identity(0, 7, b"s"), identity(3, 7, b"s"));
        let (_, hello) = hello_of(&a, 3);
        for at in 0..HELLO {
            let mut altered = hello;
            altered[at] ^= 1;
            assert!(matches!(Responder::on_hello(&b, &altered), Answer::Reject(_)), "byte {at}");
        }
        for at in 8..8 + SECOND + 4 {
            let (mut initiator, _, mut welcome) = meet(&a, &b);
            welcome[at] ^= 1;
            assert!(matches!(initiator.on_frame(&welcome), InitiatorStep::Impostor), "byte {at}");
        }
        let (mut initiator, _) = hello_of(&a, 3);
        assert!(matches!(initiator.on_frame(&[0xff; REPLY]), InitiatorStep::Garbage));
        assert!(matches!(initiator.on_frame(&[0xff; RECORD]), InitiatorStep::Garbage));
    }
}
