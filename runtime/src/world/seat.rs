//! The one place that a launcher has for this process.
//!
//! `ringworld run` serves one world, and its rendezvous ends when that has formed and been left: whoever came there
//! again would find nobody, try until `timeout` is over, and blame the address. So a process that has joined is told at
//! once. Not so where processes meet by themselves, and can meet again; nor in an elastic world, which has a door.

use std::sync::{Mutex, PoisonError};

use ringworld_bootstrap::Settings;

use crate::{Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
    /// Its world is forming.
    Joining,
    /// Its world lives; which rank it is there.
    Joined(usize),
    /// It was this rank of its world.
    Left(usize),
}

static STATE: Mutex<State> = Mutex::new(State::Free);

fn replace(state: State) {
    *STATE.lock().unwrap_or_else(PoisonError::into_inner) = state;
}

/// Held as long as the world is; left with it.
#[derive(Debug)]
pub(super) struct Seat {
    rank: Option<usize>,
}

impl Seat {
    /// The seat, if the launcher has one for this process; `None`: no launcher does.
    pub(super) fn take(settings: &Settings) -> Result<Option<Self>> {
        if !settings.launcher || settings.parent_pid.is_none() || settings.elastic {
            return Ok(None);
        }
        let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reason) = refusal(*state) {
            return Err(Error::Bootstrap(reason));
        }
        *state = State::Joining;
        Ok(Some(Self { rank: None }))
    }

    /// The world has formed.
    pub(super) fn joined(&mut self, rank: usize) {
        self.rank = Some(rank);
        replace(State::Joined(rank));
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        // What has not formed may be tried again: the others may still wait for this rank.
        replace(self.rank.map_or(State::Free, State::Left));
    }
}

/// Why nobody can sit there now.
fn refusal(state: State) -> Option<String> {
    let who = match state {
        State::Free => return None,
        State::Joining => {
            "this process is joining the world of `ringworld run` already, in another thread".into()
        }
        State::Joined(rank) => {
            format!("this process has joined the world of `ringworld run` already: it is rank {rank} there")
        }
        State::Left(rank) => format!(
            "this process has been in the world of `ringworld run` already: it was rank {rank} there, and has left it \
             (its World was dropped or finished)"
        ),
    };
    Some(format!(
        "{who}; a process joins once. Make one World at the beginning, keep it until the end, and hand on references \
         or clones of its Communicator; duplicate() and split() make others"
    ))
}
