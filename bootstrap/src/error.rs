//! Why a process could not join its world.

use crate::interfaces::InterfaceError;
use crate::settings::SettingsError;

/// Why a process could not join its world; each message says what to change.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The settings cannot be used.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// No interface can be used.
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    /// The master was not reached in time.
    #[error(
        "the master {master} was not reached within {seconds:.1} s: {last}; check MASTER_NODE and MASTER_PORT, that \
         its process is running, and that no firewall is between, or raise RINGWORLD_TIMEOUT"
    )]
    Unreachable {
        /// Host and port.
        master: String,
        /// How long it was tried.
        seconds: f64,
        /// What the last attempt met.
        last: String,
    },
    /// The world runs already, and may let this process in: see [`Elastic::knock`](crate::Elastic::knock).
    #[error("the world runs already; one that is elastic lets others in that are (RINGWORLD_ELASTIC=1)")]
    Running {
        /// Where its members are.
        running: Vec<u8>,
    },
    /// The others did not come in time.
    #[error("the world did not form: {0}")]
    Incomplete(String),
    /// The master refused this process.
    #[error("the master {master} refused this process: {reason}")]
    Refused {
        /// Host and port.
        master: String,
        /// Why, and what to change.
        reason: String,
    },
    /// The two sides do not know the same secret.
    #[error("the master {master} and this process do not share a secret: {reason}")]
    Secret {
        /// Host and port.
        master: String,
        /// What differs and what to set.
        reason: String,
    },
    /// Something else listens on the master's port.
    #[error(
        "what answers at {master} is not a ringworld master ({reason}); another program uses the port: choose \
         another MASTER_PORT on all hosts"
    )]
    NotMaster {
        /// Host and port.
        master: String,
        /// What it said.
        reason: String,
    },
    /// The master was reached and then lost, before the world had formed.
    #[error("the master {master} was lost before the world had formed: {reason}")]
    Lost {
        /// Host and port.
        master: String,
        /// How.
        reason: String,
    },
    /// The launcher, which says where the ranks meet, has not.
    #[error(
        "the launcher has not said where the ranks meet (PMI): {0}; to do without its word, set MASTER_NODE and \
         MASTER_PORT to a host of the job and a port that is free there"
    )]
    Launcher(String),
    /// The system refused something.
    #[error("{what}: {cause}")]
    System {
        /// What was asked of it.
        what: String,
        /// What it answered.
        cause: String,
    },
}

impl Error {
    pub(crate) fn system(what: impl Into<String>, cause: impl std::fmt::Display) -> Self {
        Self::System { what: what.into(), cause: cause.to_string() }
    }
}
