//! The state of an elastic program: the newest that somebody has reaches everybody, and it is the same everywhere.
//!
//! ```text
//! all       what has each?                 version, digest, kinds of vectors        one exchange of objects
//!           decide                         the same on all ranks; no I/O
//! source,   value and lengths ──▶ room?    ──▶ vectors, in place ──▶ digest?         a communicator of their own
//! needy
//! all       has all gone well?                                                      one exchange of objects
//! ```
//!
//! Invariant: a rank has a whole state or none, whatever fails and when. Who is up to date is not written to; who is
//! older keeps what it has until the newer state has come and has the right digest; who has none says so until then.
//! Neighbours: `decide` says who gives to whom, `vector` has the memory.

mod decide;
mod digest;
mod vector;

use std::any::Any;
use std::panic::Location;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use self::decide::SharedState;
use self::decide::{Disagreement, Offer};
use self::digest::digest;
pub use self::vector::StateVector;
use crate::communicator::Communicator;
use crate::message::object::{pack, unpack};
use crate::{Error, Op, Result};

/// Why a rank has not got what was sent to it.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Trouble {
    Unreadable(String),
    NoRoom(String),
    Differs { got: u64 },
}

/// What comes ahead of the vectors.
#[derive(Serialize, Deserialize)]
struct Ahead {
    value: Vec<u8>,
    lengths: Vec<u64>,
}

/// # State of elastic programs
impl Communicator {
    /// Gives every rank the newest state that one of them has, and makes sure that all have the same. What a program
    /// calls first in each generation of an [elastic world](crate::World::recover); every rank must call it.
    ///
    /// A state is a `value` that serde can write, any number of long `vectors`, and its `version`: how many steps have
    /// led to it, or `None` at a rank that has no state. After a failure the versions of survivors may differ by one,
    /// for one may have completed a call in which another has failed. The newest version wins, so that no step is lost
    /// that any survivor has completed; of the ranks that have it the lowest gives its state to those whose state is
    /// older, or that have none. Their `version`, `value` and `vectors` are replaced; vectors get the source's lengths.
    /// Where nobody has a state nothing changes, and the result says so.
    ///
    /// Vectors travel from memory to memory, not through serde. They are sent only to ranks that need them: where
    /// nobody does, this costs one small exchange and a digest at memory speed. So it can also be called during a
    /// generation, to check that the ranks have not drifted apart.
    ///
    /// A rank has a whole state or none, also after an error. `version` says which: who had an older state still has
    /// that, or has the newest; who had none may find remains in its vectors, and `None`. So after an error that
    /// [is recoverable](Error::is_recoverable) this call can be made again with the same arguments in the next
    /// generation. To keep what it has until the newer is there, an older rank needs room for both.
    ///
    /// The digest is over the bytes in memory, so all ranks must have the byte order of one another, as for all other
    /// calls, and a `value` must be written alike wherever it is equal: `BTreeMap`, not `HashMap`.
    ///
    /// # Errors
    ///
    /// On every rank alike, and the world can go on: [`Error::StateDiffers`] when ranks with the same version have
    /// states with different digests, or what has arrived somewhere is not what was sent; [`Error::InvalidCount`] when
    /// ranks give different numbers or kinds of vectors; [`Error::Object`] when a value cannot be written or read;
    /// [`Error::System`] when there is no memory for the vectors. [`Error::Mismatch`] when ranks make another call; and
    /// whatever ends the world meanwhile.
    ///
    /// ```
    /// use ringworld::testing;
    ///
    /// // Rank 0 has just come; rank 1 has missed the last step.
    /// let states = testing::ranks(3, |world| {
    ///     let (mut step, mut weights) = match world.rank() {
    ///         0 => (None, vec![]),
    ///         1 => (Some(6), vec![0.5f32; 4]),
    ///         _ => (Some(7), vec![0.25f32; 4]),
    ///     };
    ///     let mut epoch = step.map_or(0, |step| step / 5);
    ///     let shared = world.share_state(&mut step, &mut epoch, &mut [&mut weights]).unwrap();
    ///     assert_eq!((shared.source, shared.older, shared.newcomers), (Some(2), vec![1], vec![0]));
    ///     (step, epoch, weights)
    /// });
    /// assert_eq!(states, vec![(Some(7), 1, vec![0.25; 4]); 3]);
    /// ```
    #[track_caller]
    #[doc(alias("checkpoint", "elastic", "TorchState", "State.sync", "sync_module_states"))]
    pub fn share_state<V: Serialize + DeserializeOwned>(
        &self,
        version: &mut Option<u64>,
        value: &mut V,
        vectors: &mut [&mut dyn StateVector],
    ) -> Result<SharedState> {
        let site = Location::caller();
        let asked = format!("share_state() at {}:{}", site.file(), site.line());
        let sharing = Sharing { among: self, asked: &asked };
        sharing.run(version, value, vectors).map_err(|error| error.of_call(asked.clone()))
    }
}

/// One call of [`Communicator::share_state`].
#[derive(Clone, Copy)]
struct Sharing<'a> {
    among: &'a Communicator,
    asked: &'a str,
}

impl Sharing<'_> {
    #[track_caller]
    fn run<V: Serialize + DeserializeOwned>(
        self,
        version: &mut Option<u64>,
        value: &mut V,
        vectors: &mut [&mut dyn StateVector],
    ) -> Result<SharedState> {
        // Written wherever there is a state: the digest is of all of it.
        let packed = version.map(|_| pack(value));
        let (packed, refusal) = match packed {
            Some(Ok(bytes)) => (bytes, None),
            Some(Err(refusal)) => (Vec::new(), Some(refusal.reason)),
            None => (Vec::new(), None),
        };
        let elements = vectors.iter().map(|vector| vector.element()).collect();
        let digest = version.map(|_| digest(&packed, vectors));
        let offers =
            self.among.all_gather_objects(&Offer { version: *version, digest, elements, refusal })?;
        let shared = decide::decide(&offers).map_err(|disagreement| self.disagreed(disagreement))?;
        let Some(source) = shared.source.filter(|_| shared.older.len() + shared.newcomers.len() > 0) else {
            return Ok(shared);
        };
        let rank = self.among.rank();
        let concerned = rank == source || shared.was_given_to(rank);
        // The source is rank 0 there.
        let key = if rank == source { 0 } else { rank + 1 };
        let trouble = match self.among.split(concerned.then_some(0), key)? {
            Some(group) if rank == source => self.give(&group, packed, vectors)?,
            Some(group) => Self::take(&group, &shared, version, value, vectors)?,
            None => None,
        };
        self.agree(source, &shared, &self.among.all_gather_objects(&trouble)?)?;
        Ok(shared)
    }

    #[track_caller]
    fn give(
        self,
        group: &Communicator,
        packed: Vec<u8>,
        vectors: &mut [&mut dyn StateVector],
    ) -> Result<Option<Trouble>> {
        let lengths = vectors.iter().map(|vector| vector.length() as u64).collect();
        group.broadcast_object(Some(Ahead { value: packed, lengths }), 0)?;
        if !group.all_reduce_one(0u8, Op::Max)?.eq(&0) {
            return Ok(None);
        }
        vectors.iter_mut().try_for_each(|vector| vector.broadcast(group))?;
        Ok(None)
    }

    /// The state that comes from the source, if it comes well; else everything stays as it was.
    fn take<V: Serialize + DeserializeOwned>(
        group: &Communicator,
        shared: &SharedState,
        version: &mut Option<u64>,
        value: &mut V,
        vectors: &mut [&mut dyn StateVector],
    ) -> Result<Option<Trouble>> {
        // Until the new state is whole there is none, and the old one is out of its way.
        let had = version.take();
        let kept: Option<Vec<Box<dyn Any>>> =
            had.map(|_| vectors.iter_mut().map(|vector| vector.set_aside()).collect());
        let arrived = Self::arrive::<V>(group, shared, vectors);
        match arrived {
            Ok(Ok(new)) => {
                *value = new;
                *version = shared.version;
                Ok(None)
            }
            failed => {
                if let Some(kept) = kept {
                    vectors.iter_mut().zip(kept).for_each(|(vector, old)| vector.put_back(old));
                    *version = had;
                }
                failed.map(Result::err)
            }
        }
    }

    fn arrive<V: DeserializeOwned>(
        group: &Communicator,
        shared: &SharedState,
        vectors: &mut [&mut dyn StateVector],
    ) -> Result<Result<V, Trouble>> {
        let ahead: Ahead = group.broadcast_object(None, 0)?;
        let ready = make_ready::<V>(&ahead, vectors);
        // The others wait for vectors only if all have room for them.
        let refused = group.all_reduce_one(u8::from(ready.is_err()), Op::Max)? != 0;
        let value = match ready {
            Ok(value) if !refused => value,
            // Somebody else's trouble is theirs to tell; this rank has nothing, all the same.
            Ok(_) => return Ok(Err(Trouble::NoRoom(String::new()))),
            Err(trouble) => return Ok(Err(trouble)),
        };
        vectors.iter_mut().try_for_each(|vector| vector.broadcast(group))?;
        let got = digest(&ahead.value, vectors);
        Ok(if Some(got) == shared.digest { Ok(value) } else { Err(Trouble::Differs { got }) })
    }

    /// What all make of what each has told.
    fn agree(self, source: usize, shared: &SharedState, told: &[Option<Trouble>]) -> Result<()> {
        let operation = || self.asked.to_owned();
        let host = |rank: usize| self.among.host(rank);
        let troubles = || told.iter().enumerate().filter_map(|(rank, told)| Some((rank, told.as_ref()?)));
        // Before those that have nothing only because of others.
        let own = troubles().find(|(_, trouble)| !matches!(trouble, Trouble::NoRoom(why) if why.is_empty()));
        match own {
            None => Ok(()),
            Some((rank, Trouble::Unreadable(why))) => Err(Error::Object {
                operation: operation(),
                action: "deserialized",
                cause: format!("the state of rank {source}, at rank {rank} on {}: {why}", host(rank)),
            }),
            Some((rank, Trouble::NoRoom(why))) => Err(Error::System {
                operation: operation(),
                cause: format!("rank {rank} on {} has no room for the state: {why}", host(rank)),
            }),
            Some((rank, Trouble::Differs { got })) => Err(Error::StateDiffers {
                operation: operation(),
                detail: format!(
                    "what rank {rank} on {} has received has the digest {got:016x}, but rank {source} has sent \
                     {:016x}; memory or a link may be faulty, or a value is not written as it was read",
                    host(rank),
                    shared.digest.unwrap_or_default()
                ),
            }),
        }
    }

    fn disagreed(self, disagreement: Disagreement) -> Error {
        let operation = self.asked.to_owned();
        let host = |rank: usize| self.among.host(rank);
        match disagreement {
            Disagreement::Refused { rank, why } => Error::Object {
                operation,
                action: "serialized",
                cause: format!("rank {rank} on {} says: {why}", host(rank)),
            },
            Disagreement::Vectors { detail } => Error::InvalidCount { operation, detail },
            Disagreement::Differ { detail } => Error::StateDiffers { operation, detail },
        }
    }
}

/// The value, and room for the vectors.
fn make_ready<V: DeserializeOwned>(
    ahead: &Ahead,
    vectors: &mut [&mut dyn StateVector],
) -> Result<V, Trouble> {
    let value = unpack(&ahead.value).map_err(|refusal| Trouble::Unreadable(refusal.reason))?;
    if ahead.lengths.len() != vectors.len() {
        let (sent, given) = (ahead.lengths.len(), vectors.len());
        return Err(Trouble::Unreadable(format!("lengths of {sent} vectors came for {given}")));
    }
    for (vector, length) in vectors.iter_mut().zip(&ahead.lengths) {
        vector.make_room(*length).map_err(Trouble::NoRoom)?;
    }
    Ok(value)
}
