//! What a master needs to know.

use std::time::Duration;

use ringworld_auth::Secret;

use crate::settings::Settings;

/// What a master needs to know.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MasterConfig {
    /// How many ranks to wait for.
    pub world_size: usize,
    /// How many hosts the joiners must agree on, if it matters.
    pub num_nodes: Option<usize>,
    /// What joiners must prove to know.
    pub secret: Secret,
    /// Name of the job; joiners must give the same.
    pub job: Option<String>,
    /// How long the world may take to form.
    pub timeout: Duration,
    /// Silence after which a rank is declared dead, if any; told to every joiner.
    pub peer_timeout: Option<Duration>,
    /// Nobody is let in any more once the world has formed.
    pub(crate) once: bool,
    /// Why ranks of other hosts may not find this master.
    pub(crate) seclusion: Option<String>,
}

impl MasterConfig {
    /// A master for `world_size` ranks, with the secret, the job and the timeouts of the settings.
    #[must_use]
    pub fn new(world_size: usize, settings: &Settings) -> Self {
        Self {
            world_size,
            num_nodes: settings.num_nodes,
            secret: settings.secret.clone(),
            job: settings.job.clone(),
            timeout: settings.timeout,
            peer_timeout: settings.peer_timeout,
            once: false,
            seclusion: None,
        }
    }
}
