//! What the control plane tells a rank, what a rank tells the control plane, and who listens.
//!
//! Neighbours: `client` and `parent` tell the listener; `session` reports.

use std::sync::{Arc, Mutex, PoisonError};

use crate::wire::Fault;

/// Something that happened to the world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlEvent {
    /// A rank is dead or out of reach.
    PeerDown {
        /// Which.
        rank: usize,
        /// Name of its host.
        host: String,
        /// Why.
        cause: String,
        /// Whether its link to this rank has failed, as opposed to one between it and somebody else.
        link: bool,
    },
    /// A rank has said goodbye.
    PeerFinished {
        /// Which.
        rank: usize,
    },
    /// The answer to [`Session::ask_left`](crate::Session::ask_left).
    Left {
        /// Which rank was asked about.
        rank: usize,
        /// What it has left: see [`Session::leave_behind`](crate::Session::leave_behind).
        left: Vec<u8>,
    },
    /// A rank has said something to this one, by [`Session::tell`](crate::Session::tell).
    Told {
        /// Which.
        rank: usize,
        /// What: bytes that only the two understand.
        words: Vec<u8>,
    },
    /// The answer to [`Session::ask_story`](crate::Session::ask_story).
    Story {
        /// Who is late, or that nobody can move; empty if there is nothing to say.
        text: String,
    },
    /// A rank has given the world up.
    Abort {
        /// Which.
        rank: usize,
        /// The exit code for everybody.
        code: i32,
        /// Why.
        reason: String,
    },
    /// A rank has found what ends the world for all.
    Fault {
        /// Which rank found it.
        rank: usize,
        /// What.
        fault: Fault,
    },
    /// The master is out of reach, or has given this rank up; nothing more will be heard.
    MasterLost {
        /// How.
        cause: String,
    },
}

/// Something that this rank has found out and all should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// The data plane lost a peer.
    PeerLost {
        /// Which.
        rank: usize,
        /// How.
        cause: String,
    },
    /// What ends the world for all.
    Fault(Fault),
}

/// Who hears the control plane's events; set once the process has joined.
pub(crate) type Listener = Arc<dyn Fn(ControlEvent) + Send + Sync>;

/// Where the listener is kept until it is needed.
#[derive(Clone, Default)]
pub(crate) struct Hook(Arc<Mutex<Option<Listener>>>);

impl Hook {
    pub(crate) fn set(&self, listener: Option<Listener>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = listener;
    }

    pub(crate) fn call(&self, event: ControlEvent) {
        let listener = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(listener) = listener {
            listener(event);
        }
    }
}
