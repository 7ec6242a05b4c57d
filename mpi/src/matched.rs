//! Handles of messages that matched probes have set aside.

use std::sync::{Arc, Mutex, PoisonError};

use crate::comms::Comm;
use crate::objects::Table;
use crate::point_to_point::Matched;
use crate::standard::Message;

static MADE: Table<Mutex<Option<Matched>>> = Table::new();

pub(crate) fn insert(found: Matched) -> Message {
    Message(MADE.insert(Arc::new(Mutex::new(Some(found)))))
}

/// Whose message it is that is still there.
pub(crate) fn comm(handle: Message) -> Option<Arc<Comm>> {
    let message = MADE.get(handle.0)?;
    let found = message.lock().unwrap_or_else(PoisonError::into_inner);
    found.as_ref().map(|found| Arc::clone(&found.comm))
}

/// Takes the message from its handle.
pub(crate) fn take(handle: Message) -> Option<Matched> {
    MADE.remove(handle.0)?.lock().unwrap_or_else(PoisonError::into_inner).take()
}
