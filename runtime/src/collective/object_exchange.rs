//! How serialized objects travel in collectives: bytes whose length only their rank knows, or the reason
//! why there are none.
//!
//! A rank that has no bytes to give must not leave the others waiting for them. So its failure takes the
//! place of its object: everybody hears of it in the exchange that announces lengths, gets the reason by
//! broadcast, and returns the same error. Neighbours: `object` turns values into bytes and back.

use std::fmt::{self, Display};
use std::panic::Location;

use super::within::Within;
use crate::communicator::Communicator;
use crate::message::object::{Action, LIMIT, Packed, Refusal, cut};
use crate::{Error, Result};
use ringworld_engine::signature::{self, describe_told_site, site};

/// The longest reason that is told to others.
const REASON: usize = 1 << 10;

/// Short objects travel with their announcement.
const FIRST: usize = 256;
const HEAD: usize = size_of::<Announcement>();

/// The call that the user made: what errors name, whichever part of it has failed.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    call: signature::Call,
    root: Option<usize>,
    site: &'static Location<'static>,
}

impl Asked {
    #[track_caller]
    pub(super) fn new(call: signature::Call, root: Option<usize>) -> Self {
        Self { call, root, site: Location::caller() }
    }

    pub(super) fn name(&self) -> &'static str {
        self.call.name()
    }

    /// Collectives as parts of the call.
    fn within<'a>(&self, communicator: &'a Communicator) -> Within<'a> {
        communicator.within(self.call, self.root.unwrap_or(0))
    }

    /// The result of a part of the call.
    fn names<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| error.of_call(self.to_string()))
    }
}

impl Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, Self { root, site, .. }) = (self.name(), self);
        match root {
            Some(root) => write!(f, "{name}(root {root}) at {}:{}", site.file(), site.line()),
            None => write!(f, "{name}() at {}:{}", site.file(), site.line()),
        }
    }
}

/// The collectives in which every rank gives an object, by their numbers in the announcement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Call {
    Gather = 1,
    AllGather = 2,
    Reduce = 3,
    AllReduce = 4,
}

impl Call {
    const ALL: [Self; 4] = [Self::Gather, Self::AllGather, Self::Reduce, Self::AllReduce];

    /// As the signature of its messages names it.
    pub(super) fn in_signature(self) -> signature::Call {
        match self {
            Self::Gather => signature::Call::GatherObjects,
            Self::AllGather => signature::Call::AllGatherObjects,
            Self::Reduce => signature::Call::ReduceObject,
            Self::AllReduce => signature::Call::AllReduceObject,
        }
    }

    pub(super) fn name(self) -> &'static str {
        self.in_signature().name()
    }

    fn describe(number: u8, root: u32) -> String {
        match Self::ALL.into_iter().find(|call| *call as u8 == number) {
            None => "a call that this version does not know".into(),
            Some(call @ (Self::AllGather | Self::AllReduce)) => call.name().into(),
            Some(call) => format!("{} with root {root}", call.name()),
        }
    }
}

/// What a rank says of its object before it travels.
#[derive(Clone, Copy, bytemuck::Zeroable, bytemuck::Pod)]
#[repr(C)]
struct Announcement {
    /// In bytes, of the object or the reason.
    length: u64,
    root: u32,
    call: u8,
    /// 0: there is an object. Else an [`Action`].
    refusal: u8,
    zero: [u8; 2],
    /// Where the call stands; see the engine's `signature`.
    site: [u8; 8],
}

impl Announcement {
    #[track_caller]
    fn of(call: u8, root: usize, packed: &Packed) -> Self {
        let (refusal, bytes) = content(packed);
        Self { refusal, ..Self::of_object(call, root, bytes) }
    }

    #[track_caller]
    fn of_object(call: u8, root: usize, bytes: &[u8]) -> Self {
        // Ranks are 32 bits wide elsewhere too; no world is larger.
        Self {
            length: bytes.len() as u64,
            root: root as u32,
            call,
            refusal: 0,
            zero: [0; 2],
            site: site(Location::caller()),
        }
    }

    /// The announced length, or that there is no object; an error when no honest rank says so.
    fn read(&self, limit: usize) -> std::result::Result<usize, String> {
        usize::try_from(self.length)
            .ok()
            .filter(|length| *length <= limit)
            .ok_or_else(|| format!("{} bytes were announced, but the limit is {limit}", self.length))
    }
}

/// What travels: the object, or the reason why there is none.
fn content(packed: &Packed) -> (u8, &[u8]) {
    match packed {
        Ok(bytes) => (0, bytes),
        Err(refusal) => (refusal.action as u8, cut(&refusal.reason, REASON).as_bytes()),
    }
}

/// Bytes of all ranks, one after another.
pub(super) struct Gathered {
    pub(super) bytes: Vec<u8>,
    /// The length of each rank's.
    pub(super) lengths: Vec<usize>,
}

impl Gathered {
    /// The bytes of each rank.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.lengths.iter().scan(0, |start, length| {
            let bytes = &self.bytes[*start..][..*length];
            *start += length;
            Some(bytes)
        })
    }
}

impl Communicator {
    /// The error that every rank returns when `rank` had no object to give.
    fn refused(&self, asked: Asked, rank: usize, action: u8, reason: &str) -> Error {
        Error::Object {
            operation: asked.to_string(),
            action: Action::from_wire(action).unwrap_or(Action::Give).participle(),
            cause: format!("rank {rank} on {} says: {reason}", self.host(rank)),
        }
    }

    /// Gives the root's bytes to every rank. On other ranks `packed` is not looked at.
    #[track_caller]
    pub(super) fn broadcast_packed(
        &self,
        asked: Asked,
        packed: Option<Packed>,
        root: usize,
    ) -> Result<Vec<u8>> {
        let within = asked.within(self);
        let mut first = [0u8; FIRST];
        let packed = packed.unwrap_or_else(|| Ok(Vec::new()));
        let (_, bytes) = content(&packed);
        let inline = bytes.len().min(FIRST - HEAD);
        first[..HEAD].copy_from_slice(bytemuck::bytes_of(&Announcement::of(0, root, &packed)));
        first[HEAD..][..inline].copy_from_slice(&bytes[..inline]);
        asked.names(within.broadcast(&mut first, root))?;

        let announced: Announcement = bytemuck::pod_read_unaligned(&first[..HEAD]);
        let limit = if announced.refusal == 0 { LIMIT } else { REASON };
        let length = announced.read(limit).map_err(|cause| self.refused(asked, root, 0, &cause))?;
        let inline = length.min(FIRST - HEAD);
        let mut all = asked.names(self.room(length))?;
        all[..inline].copy_from_slice(&first[HEAD..][..inline]);
        if length > inline {
            if self.rank() == root {
                all.copy_from_slice(bytes);
            }
            asked.names(within.broadcast(&mut all[inline..], root))?;
        }
        match announced.refusal {
            0 => Ok(all),
            action => Err(self.refused(asked, root, action, &String::from_utf8_lossy(&all))),
        }
    }

    /// Gives every rank's bytes to `root`, or to every rank when there is no root. `None` where they do
    /// not go.
    #[track_caller]
    pub(super) fn gather_packed(
        &self,
        asked: Asked,
        call: Call,
        packed: &Packed,
        root: Option<usize>,
    ) -> Result<Option<Gathered>> {
        let within = asked.within(self);
        let mine = Announcement::of(call as u8, root.unwrap_or(0), packed);
        let mut announced = vec![mine; self.size()];
        asked.names(within.all_gather(&[mine], &mut announced))?;
        self.agree_on_objects(asked, &announced)?;
        if let Some(rank) = announced.iter().position(|announced| announced.refusal != 0) {
            return Err(self.told(asked, rank, &announced[rank], content(packed).1));
        }
        let read = |(announced, rank): (&Announcement, usize)| {
            announced.read(LIMIT).map_err(|cause| self.refused(asked, rank, 0, &cause))
        };
        let lengths = announced.iter().zip(0..).map(read).collect::<Result<Vec<usize>>>()?;
        let here = root.is_none_or(|root| root == self.rank());
        let total = lengths.iter().fold(0usize, |total, length| total.saturating_add(*length));
        let mut bytes = asked.names(self.room(if here { total } else { 0 }))?;
        let mine = content(packed).1;
        asked.names(match root {
            Some(root) => within.gather_varied(mine, &mut bytes, &lengths, root),
            None => within.all_gather_varied(mine, &mut bytes, &lengths),
        })?;
        Ok(here.then_some(Gathered { bytes, lengths }))
    }

    /// Gives rank `r` the root's bytes number `r`. On other ranks `packed` is not looked at; at the root there
    /// are as many as ranks, or a refusal.
    #[track_caller]
    pub(super) fn scatter_packed(
        &self,
        asked: Asked,
        packed: Option<std::result::Result<Vec<Vec<u8>>, Refusal>>,
        root: usize,
    ) -> Result<Vec<u8>> {
        let within = asked.within(self);
        let (parts, refusal) = match packed {
            None => (Vec::new(), None),
            Some(Ok(parts)) => (parts, None),
            Some(Err(refusal)) => (Vec::new(), Some(Err(refusal))),
        };
        // What the root refuses, it refuses to everybody.
        let announced: Vec<Announcement> = match &refusal {
            Some(refusal) => vec![Announcement::of(0, root, refusal); self.size()],
            None => parts.iter().map(|part| Announcement::of_object(0, root, part)).collect(),
        };
        let mut mine = [Announcement::of_object(0, root, &[])];
        asked.names(within.scatter(&announced, &mut mine, root))?;
        let [mine] = mine;
        if mine.refusal != 0 {
            let reason = refusal.as_ref().map_or(&[][..], |refusal| content(refusal).1);
            return Err(self.told(asked, root, &mine, reason));
        }
        let length = mine.read(LIMIT).map_err(|cause| self.refused(asked, root, 0, &cause))?;
        let mut bytes = asked.names(self.room(length))?;
        let lengths: Vec<usize> = parts.iter().map(Vec::len).collect();
        asked.names(within.scatter_varied(&parts.concat(), &lengths, &mut bytes, root))?;
        Ok(bytes)
    }

    /// Tells everybody why `rank` has no object; at that rank, `reason` says it.
    #[track_caller]
    fn told(&self, asked: Asked, rank: usize, announced: &Announcement, reason: &[u8]) -> Error {
        let mut text = match announced.read(REASON) {
            Ok(length) => vec![0u8; length],
            Err(cause) => return self.refused(asked, rank, announced.refusal, &cause),
        };
        if rank == self.rank() {
            text.copy_from_slice(reason);
        }
        match asked.names(self.within(asked.call, rank).broadcast(&mut text, rank)) {
            Ok(()) => self.refused(asked, rank, announced.refusal, &String::from_utf8_lossy(&text)),
            Err(error) => error,
        }
    }

    /// All ranks must have made the same call with the same root. Every rank compares the same
    /// announcements, so all come to the same end.
    fn agree_on_objects(&self, asked: Asked, announced: &[Announcement]) -> Result<()> {
        let what = |rank: usize| (announced[rank].call, announced[rank].root);
        let Some(other) = (0..self.size()).find(|rank| what(*rank) != what(0)) else { return Ok(()) };
        let describe = |rank: usize| {
            let (call, root) = what(rank);
            let at = describe_told_site(announced[rank].site, asked.site);
            format!("rank {rank} on {} called {} at {at}", self.host(rank), Call::describe(call, root))
        };
        let detail = format!("ranks disagree: {}, but {}", describe(0), describe(other));
        Err(Error::Mismatch { operation: asked.to_string(), detail })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_that_nothing_honest_has_is_refused_before_memory_is_asked_for() {
        let announced = |length| Announcement { length, ..bytemuck::Zeroable::zeroed() };
        assert_eq!(announced(LIMIT as u64).read(LIMIT), Ok(LIMIT));
        for length in [LIMIT as u64 + 1, u64::MAX] {
            let error = announced(length).read(LIMIT).unwrap_err();
            assert!(error.contains(&format!("{length} bytes were announced")), "{error}");
        }
        assert!(announced(REASON as u64 + 1).read(REASON).is_err());
    }

    #[test]
    fn a_long_reason_is_cut_between_characters() {
        for shift in 0..4 {
            let reason = "x".repeat(shift) + &"\u{1f980}".repeat(REASON);
            let packed = Err(Refusal { action: Action::Serialize, reason });
            let (_, bytes) = content(&packed);
            assert!(bytes.len() <= REASON && bytes.len() > REASON - 4);
            assert!(std::str::from_utf8(bytes).is_ok());
        }
    }
}
