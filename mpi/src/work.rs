//! Operations under way: one or many of the runtime's, and what is done when they have ended.

use std::time::Duration;

use ringworld::foreign::{Pending, PendingId, wait_any};
use smallvec::SmallVec;

use crate::error::{Error, Result};
use crate::standard::UNDEFINED;
use crate::status::Status;

/// How an operation of the runtime's has ended.
pub(crate) type Ended = ringworld::Result<Option<ringworld::Status>>;

/// What is done when operations have ended. Memory that they use is kept here.
pub(crate) type Then = Box<dyn FnOnce(Vec<Ended>) -> Result<Work> + Send>;

/// Operations of the runtime's, by name.
pub(crate) type Names = SmallVec<[PendingId; 1]>;

/// Something under way.
pub(crate) enum Work {
    Done(Status),
    /// A send or a receive on the program's own memory; the sender's rank is less by so much in the communicator.
    One(Pending, usize),
    Many(Many),
    /// What others bring to its end.
    Poll(Box<dyn FnMut() -> Option<Result<Status>> + Send>),
}

/// Several operations and what comes after them.
pub(crate) struct Many {
    pending: Vec<Pending>,
    ended: Vec<Option<Ended>>,
    then: Option<Then>,
}

impl Drop for Many {
    fn drop(&mut self) {
        if self.ended.iter().any(Option::is_none) {
            // Operations may still use the memory that is kept there.
            std::mem::forget(self.then.take());
        }
    }
}

/// What is known of a message that has come; `first`: the rank of the communicator's first possible sender.
pub(crate) fn status_of(status: Option<ringworld::Status>, first: usize) -> Status {
    status.map_or(Status::EMPTY, |status| Status {
        source: (status.source - first.min(status.source)) as i32,
        // Programs give no larger ones.
        tag: i32::try_from(status.tag).unwrap_or(UNDEFINED),
        error: 0,
        bytes: status.bytes() as i64,
        cancelled: false,
    })
}

/// The end of one operation.
pub(crate) fn end_of(ended: Ended, first: usize) -> Result<Status> {
    match ended {
        Ok(status) => Ok(status_of(status, first)),
        Err(ringworld::Error::Cancelled { .. }) => Ok(Status { cancelled: true, ..Status::EMPTY }),
        Err(why) => Err(not_received(why, first)),
    }
}

/// Why a message could not be received, and which.
#[cold]
pub(crate) fn not_received(why: ringworld::Error, first: usize) -> Error {
    let of = match &why {
        ringworld::Error::Truncated { source_rank, tag, .. } => {
            let tag = i32::try_from(*tag).unwrap_or(UNDEFINED);
            Some(((source_rank - first.min(*source_rank)) as i32, tag))
        }
        _ => None,
    };
    Error { of, ..why.into() }
}

/// The first failure of several operations.
pub(crate) fn all_well(ended: Vec<Ended>) -> Result<()> {
    ended.into_iter().try_for_each(|ended| ended.map(drop).map_err(Error::from))
}

impl Work {
    pub(crate) fn many(pending: Vec<Pending>, then: Then) -> Self {
        let ended = pending.iter().map(|_| None).collect();
        Self::Many(Many { pending, ended, then: Some(then) })
    }

    /// Makes progress; the end, once. Afterwards it is done.
    #[inline]
    pub(crate) fn poll(&mut self) -> Option<Result<Status>> {
        self.poll_by(Pending::is_done)
    }

    /// The same where the program does not ask for the end: a receive that only this rank itself could send for is not
    /// given up.
    pub(crate) fn poll_unasked(&mut self) -> Option<Result<Status>> {
        self.poll_by(Pending::has_ended)
    }

    fn poll_by(&mut self, has_ended: fn(&Pending) -> bool) -> Option<Result<Status>> {
        loop {
            match self {
                Self::Done(status) => return Some(Ok(*status)),
                Self::One(pending, first) => {
                    return has_ended(pending).then(|| end_of(pending.wait(), *first));
                }
                Self::Many(many) => {
                    for (pending, ended) in many.pending.iter_mut().zip(&mut many.ended) {
                        if ended.is_none() && has_ended(pending) {
                            *ended = Some(pending.wait());
                        }
                    }
                    if many.ended.iter().any(Option::is_none) {
                        return None;
                    }
                    match many.go_on() {
                        Ok(next) => *self = next,
                        Err(why) => return Some(Err(why)),
                    }
                }
                Self::Poll(poll) => return poll(),
            }
        }
    }

    /// Waits for the end.
    pub(crate) fn wait(&mut self) -> Result<Status> {
        loop {
            match self {
                Self::Done(status) => return Ok(*status),
                Self::One(pending, first) => return end_of(pending.wait(), *first),
                Self::Many(many) => {
                    for (pending, ended) in many.pending.iter_mut().zip(&mut many.ended) {
                        if ended.is_none() {
                            *ended = Some(pending.wait());
                        }
                    }
                    *self = many.go_on()?;
                }
                Self::Poll(_) => {
                    let mut pause = Pause::default();
                    loop {
                        if let Some(ended) = self.poll() {
                            return ended;
                        }
                        pause.wait();
                    }
                }
            }
        }
    }

    /// Whether its end, or what comes before, brings something into memory of the program's. Sends of memory as it lies
    /// bring nothing; of others it is not known.
    pub(crate) fn brings(&self) -> bool {
        match self {
            Self::Done(_) => false,
            Self::One(pending, _) => pending.receives(),
            Self::Many(_) | Self::Poll(_) => true,
        }
    }

    /// The operations of the runtime's that have not ended; whether these are all that it waits for.
    fn open<'a>(&'a self, into: &mut Vec<&'a Pending>) -> bool {
        match self {
            Self::Done(_) => true,
            Self::One(pending, _) => {
                into.push(pending);
                true
            }
            Self::Many(many) => {
                let open = many.pending.iter().zip(&many.ended).filter(|(_, ended)| ended.is_none());
                into.extend(open.map(|(pending, _)| pending));
                true
            }
            Self::Poll(_) => false,
        }
    }

    /// By what another thread can withdraw it while it is waited for.
    pub(crate) fn names(&self) -> Names {
        match self {
            Self::Done(_) | Self::Poll(_) => Names::new(),
            Self::One(pending, _) => Names::from_iter([pending.id()]),
            Self::Many(many) => many.pending.iter().map(Pending::id).collect(),
        }
    }
}

impl Many {
    fn go_on(&mut self) -> Result<Work> {
        let ended = self.ended.iter_mut().filter_map(Option::take).collect();
        self.pending.clear();
        self.ended.clear();
        self.then.take().map_or(Ok(Work::Done(Status::EMPTY)), |then| then(ended))
    }
}

/// Sleeps until something may have happened to one of them.
pub(crate) fn wait_for_news(works: &[&Work], pause: &mut Pause) {
    let mut open = Vec::new();
    let all_open = works.iter().all(|work| work.open(&mut open));
    if all_open && !open.is_empty() {
        let _ended = wait_any(&open);
    } else {
        pause.wait();
    }
}

/// Waiting for what nobody wakes us for: shortly at first, then longer.
#[derive(Default)]
pub(crate) struct Pause(u32);

impl Pause {
    pub(crate) fn wait(&mut self) {
        self.0 = self.0.saturating_add(1);
        match self.0 {
            0..200 => std::thread::yield_now(),
            200..400 => std::thread::sleep(Duration::from_micros(20)),
            _ => std::thread::sleep(Duration::from_micros(500)),
        }
    }
}
