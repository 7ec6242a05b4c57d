//! Objects: anything serde can write, as messages of bytes (postcard), like mpi4py's lower-case calls.
//!
//! Objects are conveniences: each is written to memory and read back, and collectives agree on lengths
//! first. Numbers in bulk belong into the typed calls. Neighbours: `travel` moves the bytes, and what a rank
//! has to say instead of them.

mod travel;

use ringworld_protocol::Mode;
use serde::Serialize;
use serde::de::DeserializeOwned;

use self::travel::{Action, Call, Gathered, LIMIT, Packed, Refusal};
use crate::communicator::{Communicator, Source, Tag};
use crate::datatype::ElementCode;
use crate::stamp;
use crate::{Error, Result};

impl Communicator {
    /// Sends a value that serde can write. Receive it with [`Communicator::recv_object`].
    ///
    /// Written by [postcard](https://docs.rs/postcard), which does not describe itself: both sides must
    /// use the same type. This holds for all calls on objects, and so does the limit of 4 GiB for each.
    ///
    /// # Errors
    ///
    /// [`Error::Object`] when it cannot be written, and those of [`Communicator::send`].
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// world.send_object(&("hello", 42), 0, 6)?;
    /// let (text, number): (String, i32) = world.recv_object(0, 6)?;
    /// assert_eq!((text.as_str(), number), ("hello", 42));
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    pub fn send_object<V: Serialize + ?Sized>(&self, value: &V, to: usize, tag: u32) -> Result<()> {
        let bytes = pack(value)
            .map_err(|refusal| refusal.into_error(format!("send_object (to rank {to}, tag {tag})")))?;
        self.send_bytes("send_object", ElementCode::OBJECT, &bytes, to, tag, Mode::Standard)
    }

    /// Receives a value that was sent by [`Communicator::send_object`], of whatever size.
    ///
    /// # Errors
    ///
    /// [`Error::Object`] when the message is no such value, and those of [`Communicator::recv`].
    ///
    /// See [`Communicator::send_object`] for an example.
    pub fn recv_object<V: DeserializeOwned>(
        &self,
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<V> {
        let message = self.probe_matched(from, tag)?;
        let status = message.status();
        let name = || format!("recv_object (from rank {}, tag {})", status.source, status.tag);
        if status.count > LIMIT {
            let reason = too_long(status.count);
            return Err(Refusal { action: Action::Deserialize, reason }.into_error(name()));
        }
        let mut bytes = self.room("recv_object", status.count)?;
        message.recv_as(ElementCode::OBJECT, &mut bytes)?;
        unpack(&bytes).map_err(|refusal| refusal.into_error(name()))
    }

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
    pub fn broadcast_object<V>(&self, object: Option<V>, root: usize) -> Result<V>
    where
        V: Serialize + DeserializeOwned,
    {
        let call = stamp::Call::BroadcastObject;
        let name = call.name();
        self.check_rank(name, root)?;
        let packed = (self.rank() == root).then(|| match &object {
            Some(object) => pack(object),
            None => Err(missing("the root gave no object; it must give Some")),
        });
        let bytes = self.broadcast_packed(call, packed, root)?;
        match object {
            Some(object) if self.rank() == root => Ok(object),
            _ => self.read(name, root, &bytes),
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
        self.check_rank(Call::Gather.name(), root)?;
        let gathered = self.gather_packed(Call::Gather, &pack(object), Some(root))?;
        gathered.map(|gathered| self.read_all(Call::Gather.name(), &gathered)).transpose()
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
        let gathered = self.gather_packed(Call::AllGather, &pack(object), None)?;
        match gathered {
            Some(gathered) => self.read_all(Call::AllGather.name(), &gathered),
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
    pub fn scatter_objects<V>(&self, objects: Option<&[V]>, root: usize) -> Result<V>
    where
        V: Serialize + DeserializeOwned,
    {
        let call = stamp::Call::ScatterObjects;
        let name = call.name();
        self.check_rank(name, root)?;
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
        let bytes = self.scatter_packed(call, packed, root)?;
        self.read(name, root, &bytes)
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
        self.check_rank(call.name(), root)?;
        match self.gather_packed(call, &pack(&object), Some(root))? {
            None => Ok(None),
            Some(gathered) => {
                Ok(Some(self.read_all(call.name(), &gathered)?.into_iter().reduce(fold).unwrap_or(object)))
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
        let (call, root) = (stamp::Call::AllReduceObject, 0);
        let gathered = self.gather_packed(Call::AllReduce, &pack(&object), Some(root))?;
        // What fails at the root is for everybody to hear: they wait for the result.
        let result: Option<Packed> = gathered.map(|gathered| {
            let objects = gathered.iter().zip(0..).map(|(bytes, rank)| {
                unpack::<V>(bytes).map_err(|refusal| Refusal {
                    reason: format!("the object of rank {rank}: {}", refusal.reason),
                    ..refusal
                })
            });
            let objects: Vec<V> = objects.collect::<std::result::Result<_, Refusal>>()?;
            pack(&objects.into_iter().reduce(fold).unwrap_or(object))
        });
        let bytes = self.broadcast_packed(call, result, root)?;
        self.read(call.name(), root, &bytes)
    }

    /// Reads the object that `rank` gave.
    fn read<V: DeserializeOwned>(&self, name: &str, rank: usize, bytes: &[u8]) -> Result<V> {
        unpack(bytes).map_err(|refusal| {
            let reason = format!("the object of rank {rank} on {}: {}", self.host(rank), refusal.reason);
            Refusal { reason, ..refusal }.into_error(name.into())
        })
    }

    fn read_all<V: DeserializeOwned>(&self, name: &str, gathered: &Gathered) -> Result<Vec<V>> {
        gathered.iter().zip(0..).map(|(bytes, rank)| self.read(name, rank, bytes)).collect()
    }
}

impl Refusal {
    /// The error of the rank itself.
    fn into_error(self, operation: String) -> Error {
        Error::Object { operation, action: self.action.participle(), cause: self.reason }
    }
}

/// What was to be written was not there.
fn missing(reason: impl Into<String>) -> Refusal {
    Refusal { action: Action::Serialize, reason: reason.into() }
}

fn too_long(length: usize) -> String {
    format!(
        "it has {length} bytes, but the limit is {LIMIT}; send parts of it, or numbers by the typed calls"
    )
}

fn pack<V: Serialize + ?Sized>(value: &V) -> Packed {
    let refusal = |reason| Refusal { action: Action::Serialize, reason };
    let bytes = postcard::to_stdvec(value).map_err(|error| refusal(error.to_string()))?;
    if bytes.len() > LIMIT { Err(refusal(too_long(bytes.len()))) } else { Ok(bytes) }
}

fn unpack<V: DeserializeOwned>(bytes: &[u8]) -> std::result::Result<V, Refusal> {
    let reason = match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => return Ok(value),
        Ok((_, left)) => format!(
            "{} of {} bytes are left over; sender and receiver must use the same type",
            left.len(),
            bytes.len()
        ),
        Err(error) => error.to_string(),
    };
    Err(Refusal { action: Action::Deserialize, reason })
}
