//! An object as it travels: bytes, or the reason why there are none.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::format;
use crate::communicator::Communicator;
use crate::{Error, Result};

/// The longest object. Lengths are a peer's word, so they are bounded before memory is asked for.
pub(crate) const LIMIT: usize = u32::MAX as usize;

/// A serialized object, or why there is none.
pub(crate) type Packed = std::result::Result<Vec<u8>, Refusal>;

/// Why a rank has no bytes to give.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) action: Action,
    pub(crate) reason: String,
}

/// What could not be done with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Action {
    Serialize = 1,
    Deserialize = 2,
    Give = 3,
}

impl Action {
    pub(crate) fn participle(self) -> &'static str {
        match self {
            Self::Serialize => "serialized",
            Self::Deserialize => "deserialized",
            Self::Give => "given",
        }
    }

    pub(crate) fn from_wire(number: u8) -> Option<Self> {
        [Self::Serialize, Self::Deserialize, Self::Give].into_iter().find(|action| *action as u8 == number)
    }
}

impl Refusal {
    /// The error of the rank itself.
    pub(crate) fn into_error(self, operation: String) -> Error {
        Error::Object { operation, action: self.action.participle(), cause: self.reason }
    }
}

pub(crate) fn too_long(length: usize) -> String {
    format!(
        "it has {length} bytes, but the limit is {LIMIT}; send parts of it, or numbers by the typed calls"
    )
}

pub(crate) fn pack<V: Serialize + ?Sized>(value: &V) -> Packed {
    let refusal = |reason| Refusal { action: Action::Serialize, reason };
    let bytes = format::write(value).map_err(|trouble| refusal(trouble.to_string()))?;
    if bytes.len() > LIMIT { Err(refusal(too_long(bytes.len()))) } else { Ok(bytes) }
}

pub(crate) fn unpack<V: DeserializeOwned>(bytes: &[u8]) -> std::result::Result<V, Refusal> {
    format::read(bytes).map_err(|trouble| {
        let wanted = std::any::type_name::<V>();
        let reason = format!("{trouble}; it was to become {wanted}: give both sides the same type");
        Refusal { action: Action::Deserialize, reason }
    })
}

impl Communicator {
    /// The same refusal, of an object that `rank` gave.
    pub(crate) fn of_rank(&self, rank: usize, refusal: Refusal) -> Refusal {
        let reason = format!("the object of rank {rank} on {}: {}", self.host(rank), refusal.reason);
        Refusal { reason, ..refusal }
    }

    /// Memory for `length` bytes, which may be more than there is.
    pub(crate) fn room(&self, length: usize) -> Result<Vec<u8>> {
        let mut room = Vec::new();
        room.try_reserve_exact(length).map_err(|error| Error::System {
            operation: "an object".into(),
            cause: format!("there is no memory for objects of {length} bytes: {error}"),
        })?;
        room.resize(length, 0);
        Ok(room)
    }
}
