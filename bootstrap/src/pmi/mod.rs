//! Where the ranks meet, by PMI-1: the process managers of MPICH and Intel MPI (Hydra), and others that speak it.
//!
//! `mpiexec` gives every process a socket, `PMI_FD`. What the first of them says of where it serves, all others hear:
//!
//! ```text
//! init, get_my_kvsname          ► all: the name of the job
//! get_maxes, put                ► PMI_RANK 0, which serves from then on
//! barrier_in                    ► all; nobody goes on before all have come
//! get                           ► the others
//! finalize                      ► all, once the world has formed
//! ```
//!
//! Between `init` and `finalize` the launcher kills all when one process ends: that is as it should be while a world
//! forms. From then on ringworld itself watches, and its errors name the one that has failed; the launcher would kill
//! those who are about to say so. After `finalize` it goes by their exit codes. What fails before leaves the socket
//! open: the launcher must not kill a process that has yet to say why.
//!
//! Neighbours: `answer` and `place` are pure and read what is said, `channel` has the socket; `appointment` makes a
//! rendezvous of it.

mod answer;
mod channel;
mod place;

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::settings::Pmi;
use crate::waiting::{Reminders, so_far};
use answer::Answer;
use channel::Channel;

pub(crate) use place::Place;

/// What the place of the rendezvous is called.
const KEY: &str = "ringworld_master";
/// What names of jobs have at most; more is no name.
const LONGEST_NAME: usize = 256;
/// How long the goodbye may take: the world has formed, and can do without.
const GOODBYE: Duration = Duration::from_secs(5);

/// What all processes of the job know.
#[derive(Clone, Debug)]
pub(crate) struct Met {
    /// The name that the launcher has for the job.
    pub(crate) job: String,
    /// Where the first process serves.
    pub(crate) place: Place,
}

/// Serves the job of this name, and says where; at a place where it has been before, if one is given.
pub(crate) type Serve<'a> = dyn FnMut(&str, Option<&Place>) -> Result<Place, Error> + 'a;

/// A process is given one conversation. Worlds after the first meet where that did.
enum State {
    Fresh,
    Failed { why: String, _open: Option<Channel> },
    Met { met: Met, open: Option<Channel> },
}

static STATE: Mutex<State> = Mutex::new(State::Fresh);

/// Meets the others, at what the first process serves.
pub(crate) fn meet(pmi: &Pmi, timeout: Duration, serve: &mut Serve<'_>) -> Result<Met, Error> {
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    match &*state {
        State::Met { met, .. } => {
            if pmi.rank == 0 {
                serve(&met.job, Some(&met.place))?;
            }
            return Ok(met.clone());
        }
        State::Failed { why, .. } => return Err(Error::Launcher(format!("{why} (when it was asked first)"))),
        State::Fresh => {}
    }
    let channel = match Channel::take(pmi.descriptor) {
        Ok(channel) => channel,
        Err(why) => {
            *state = State::Failed { why: why.clone(), _open: None };
            return Err(Error::Launcher(why));
        }
    };
    match converse(&channel, pmi, timeout, serve) {
        Ok(met) => {
            *state = State::Met { met: met.clone(), open: Some(channel) };
            Ok(met)
        }
        Err(error) => {
            *state = State::Failed { why: error.to_string(), _open: Some(channel) };
            Err(error)
        }
    }
}

/// Tells the launcher that the world has formed, once.
pub(crate) fn formed() {
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    let State::Met { open, .. } = &mut *state else { return };
    let Some(channel) = open.take() else { return };
    let deadline = Instant::now() + GOODBYE;
    if let Err(why) = channel.ask("cmd=finalize", "finalize_ack", deadline, &mut || {}, |_| Ok(())) {
        tracing::warn!(
            "the launcher was told that the world has formed, and did not hear it ({why}); it may end the job"
        );
    }
}

fn converse(channel: &Channel, pmi: &Pmi, timeout: Duration, serve: &mut Serve<'_>) -> Result<Met, Error> {
    let begin = Instant::now();
    let deadline = begin + timeout;
    let fail = |why: String| {
        let waited = begin.elapsed().as_secs_f64();
        Error::Launcher(if Instant::now() < deadline { why } else { format!("{why} within {waited:.1} s") })
    };
    let ask = |line: &str, expected: &str| {
        channel.ask(line, expected, deadline, &mut || {}, |_| Ok(())).map_err(fail)
    };
    channel
        .ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init", deadline, &mut || {}, version)
        .map_err(fail)?;
    let job = channel.ask("cmd=get_my_kvsname", "my_kvsname", deadline, &mut || {}, name).map_err(fail)?;
    let own = if pmi.rank == 0 {
        let room = channel
            .ask("cmd=get_maxes", "maxes", deadline, &mut || {}, |answer| answer.number("vallen_max"))
            .map_err(fail)?;
        let place = serve(&job, None)?;
        // It counts the end of the text.
        let text = place.text(room.saturating_sub(1)).map_err(fail)?;
        ask(&format!("cmd=put kvsname={job} key={KEY} value={text}"), "put_result")?;
        Some(place)
    } else {
        None
    };
    barrier(channel, pmi, begin, timeout).map_err(Error::Launcher)?;
    let place = match own {
        Some(place) => place,
        None => channel
            .ask(&format!("cmd=get kvsname={job} key={KEY}"), "get_result", deadline, &mut || {}, |answer| {
                Place::read(answer.word("value")?)
            })
            .map_err(fail)?,
    };
    Ok(Met { job, place })
}

/// Waits for all others, and says so where that takes long.
fn barrier(channel: &Channel, pmi: &Pmi, begin: Instant, timeout: Duration) -> Result<(), String> {
    let mut reminders = Reminders::default();
    let mut remind = || {
        let waited = begin.elapsed();
        if reminders.due(waited) {
            let so_far = so_far(waited, timeout);
            let text = format!("waiting in the launcher's barrier for other ranks ({so_far})");
            if pmi.rank == 0 {
                tracing::warn!("{text}");
            } else {
                tracing::info!("{text}");
            }
        }
    };
    let passed = channel.ask("cmd=barrier_in", "barrier_out", begin + timeout, &mut remind, |_| Ok(()));
    passed.map_err(|why| match begin.elapsed() {
        waited if waited < timeout => why,
        waited => format!(
            "{why} within {:.1} s, so not all of the {} ranks have come; raise RINGWORLD_TIMEOUT if they need longer",
            waited.as_secs_f64(),
            pmi.size
        ),
    })
}

fn version(answer: &Answer<'_>) -> Result<(), String> {
    match answer.number("pmi_version")? {
        1 => Ok(()),
        other => Err(format!("it speaks PMI-{other}, and this program PMI-1")),
    }
}

/// A name that can be said again as it was heard.
fn name(answer: &Answer<'_>) -> Result<String, String> {
    let name = answer.word("kvsname")?;
    if name.len() > LONGEST_NAME || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!("expected a name of at most {LONGEST_NAME} letters as kvsname, heard {name:?}"));
    }
    Ok(name.into())
}
