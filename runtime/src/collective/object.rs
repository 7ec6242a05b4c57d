//! Collectives on objects: anything serde can write, of any length on each rank.
//!
//! Neighbours: `object_exchange` moves the bytes, `message/object` turns values into bytes and back.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::object_exchange::{Asked, Call, Gathered};
#[cfg(doc)]
use crate::Error;
use crate::Result;
use crate::communicator::Communicator;
use crate::message::object::{Action, Packed, Refusal, pack, unpack};
use ringworld_engine::signature;

/// # Collectives on objects
///
/// Anything serde can write, as mpi4py's lower-case calls take it.
impl Communicator {
    /// Gives the root's object to every rank: `Some` at the root, and usually `None` elsewhere, where it
    /// is not looked at. The root gets its own object back as it is.
    ///
    /// # Errors
    ///
    /// [`Error::Object`], on every rank and naming the root, when the root gives none or it cannot be
    /// written; on the ranks concerned when it cannot be read; and those of [`Communicator::broadcast`].
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let config = (world.rank() == 0).then(|| vec!["lr=0.1".to_string()]);
    /// let config = world.broadcast_object(config, 0)?;
    /// assert_eq!(config, ["lr=0.1"]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias = "broadcast_object_list")]
    pub fn broadcast_object<V>(&self, object: Option<V>, root: usize) -> Result<V>
    where
        V: Serialize + DeserializeOwned,
    {
        let asked = Asked::new(signature::Call::BroadcastObject, Some(root));
        self.check_rank(asked.name(), root)?;
        let packed = (self.rank() == root).then(|| match &object {
            Some(object) => pack(object),
            None => Err(missing("the root gave no object; it must give Some")),
        });
        let bytes = self.broadcast_packed(asked, packed, root)?;
        match object {
            Some(object) if self.rank() == root => Ok(object),
            _ => self.read(asked, root, &bytes),
        }
    }

    /// Gives every rank's object to `root`, in rank order; the others get `None`.
    ///
    /// # Errors
    ///
    /// [`Error::Object`], on every rank and naming the rank, when an object cannot be written; at the root
    /// when one cannot be read. [`Error::Mismatch`], on every rank, when ranks make different calls on
    /// objects or give different roots. [`Error::InvalidRank`], and whatever ends the world meanwhile.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let names = world.gather_objects(&format!("rank {}", world.rank()), 0)?;
    /// assert_eq!(names, Some(vec!["rank 0".to_string()]));
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    pub fn gather_objects<V>(&self, object: &V, root: usize) -> Result<Option<Vec<V>>>
    where
        V: Serialize + DeserializeOwned,
    {
        let asked = Asked::new(Call::Gather.in_signature(), Some(root));
        self.check_rank(asked.name(), root)?;
        let gathered = self.gather_packed(asked, Call::Gather, &pack(object), Some(root))?;
        gathered.map(|gathered| self.read_all(asked, &gathered)).transpose()
    }

    /// Gives every rank's object to every rank, in rank order.
    ///
    /// # Errors
    ///
    /// [`Error::Object`], on every rank and naming the rank, when an object cannot be written; on the ranks
    /// concerned when one cannot be read. [`Error::Mismatch`], on every rank, when ranks make different
    /// calls on objects; and whatever ends the world meanwhile.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// assert_eq!(world.all_gather_objects(&Some(1.5))?, [Some(1.5)]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    pub fn all_gather_objects<V>(&self, object: &V) -> Result<Vec<V>>
    where
        V: Serialize + DeserializeOwned,
    {
        let asked = Asked::new(Call::AllGather.in_signature(), None);
        let gathered = self.gather_packed(asked, Call::AllGather, &pack(object), None)?;
        match gathered {
            Some(gathered) => self.read_all(asked, &gathered),
            // Without a root they go everywhere.
            None => Ok(Vec::new()),
        }
    }

    /// Gives rank `r` object number `r` of the root: `Some` at the root, one for each rank, and usually
    /// `None` elsewhere, where it is not looked at.
    ///
    /// # Errors
    ///
    /// [`Error::Object`], on every rank and naming the root, when the root gives none or not one for each
    /// rank, or one cannot be written; on the ranks concerned when theirs cannot be read; and those of
    /// [`Communicator::broadcast`].
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let shards = (world.rank() == 0).then(|| (0..world.size()).map(|r| format!("shard {r}")).collect::<Vec<_>>());
    /// let mine = world.scatter_objects(shards.as_deref(), 0)?;
    /// assert_eq!(mine, format!("shard {}", world.rank()));
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias = "scatter_object_list")]
    pub fn scatter_objects<V>(&self, objects: Option<&[V]>, root: usize) -> Result<V>
    where
        V: Serialize + DeserializeOwned,
    {
        let asked = Asked::new(signature::Call::ScatterObjects, Some(root));
        self.check_rank(asked.name(), root)?;
        let packed = (self.rank() == root).then(|| match objects {
            None => Err(missing("the root gave no objects; it must give Some")),
            Some(objects) if objects.len() != self.size() => {
                let (given, ranks) = (objects.len(), self.size());
                Err(missing(format!(
                    "the root gave {given} objects for {ranks} ranks; it must give one for each"
                )))
            }
            Some(objects) => objects
                .iter()
                .zip(0..)
                .map(|(object, rank)| {
                    pack(object).map_err(|refusal: Refusal| Refusal {
                        reason: format!("the object for rank {rank}: {}", refusal.reason),
                        ..refusal
                    })
                })
                .collect(),
        });
        let bytes = self.scatter_packed(asked, packed, root)?;
        self.read(asked, root, &bytes)
    }

    /// Combines the ranks' objects in rank order, `fold(fold(x0, x1), x2)` and so on, at `root`, which
    /// gets the result; the others get `None`.
    ///
    /// `fold` runs at the root only, and need be neither associative nor commutative; the root holds the
    /// objects of all ranks for it.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::gather_objects`].
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let seen = std::collections::BTreeSet::from([world.rank()]);
    /// let union = world.reduce_object(seen, |a, b| &a | &b, 0)?;
    /// assert_eq!(union.map(|union| union.len()), Some(world.size()));
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    pub fn reduce_object<V>(&self, object: V, fold: impl FnMut(V, V) -> V, root: usize) -> Result<Option<V>>
    where
        V: Serialize + DeserializeOwned,
    {
        let call = Call::Reduce;
        let asked = Asked::new(call.in_signature(), Some(root));
        self.check_rank(asked.name(), root)?;
        match self.gather_packed(asked, call, &pack(&object), Some(root))? {
            None => Ok(None),
            Some(gathered) => {
                Ok(Some(self.read_all(asked, &gathered)?.into_iter().reduce(fold).unwrap_or(object)))
            }
        }
    }

    /// Combines the ranks' objects in rank order, `fold(fold(x0, x1), x2)` and so on, and gives the result
    /// to every rank. `fold` runs on rank 0 only, so all get the same, whatever it does.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::all_gather_objects`]. When rank 0 cannot read an object or write the result,
    /// every rank gets that error.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let longest = world.all_reduce_object("abc".to_string(), |a, b| if b.len() > a.len() { b } else { a })?;
    /// assert_eq!(longest, "abc");
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    pub fn all_reduce_object<V>(&self, object: V, fold: impl FnMut(V, V) -> V) -> Result<V>
    where
        V: Serialize + DeserializeOwned,
    {
        let (asked, root) = (Asked::new(Call::AllReduce.in_signature(), None), 0);
        let gathered = self.gather_packed(asked, Call::AllReduce, &pack(&object), Some(root))?;
        // What fails at the root is for everybody to hear: they wait for the result.
        let result: Option<Packed> = gathered.map(|gathered| {
            let objects = gathered
                .iter()
                .zip(0..)
                .map(|(bytes, rank)| unpack::<V>(bytes).map_err(|refusal| self.of_rank(rank, refusal)));
            let objects: Vec<V> = objects.collect::<std::result::Result<_, Refusal>>()?;
            pack(&objects.into_iter().reduce(fold).unwrap_or(object))
        });
        let bytes = self.broadcast_packed(asked, result, root)?;
        self.read(asked, root, &bytes)
    }

    /// Reads the object that `rank` gave.
    fn read<V: DeserializeOwned>(&self, asked: Asked, rank: usize, bytes: &[u8]) -> Result<V> {
        unpack(bytes).map_err(|refusal| self.of_rank(rank, refusal).into_error(asked.to_string()))
    }

    fn read_all<V: DeserializeOwned>(&self, asked: Asked, gathered: &Gathered) -> Result<Vec<V>> {
        gathered.iter().zip(0..).map(|(bytes, rank)| self.read(asked, rank, bytes)).collect()
    }
}

/// What was to be sent was not there.
fn missing(reason: impl Into<String>) -> Refusal {
    Refusal { action: Action::Give, reason: reason.into() }
}
