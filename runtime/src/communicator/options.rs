//! What a communicator can be asked to do differently: algorithms, segments, the order of reductions.
//!
//! The settings of the world are where every communicator begins; [`Communicator::with`] makes a handle of
//! the same communicator that differs. All ranks must use the same options for a call: their digest is part
//! of the signature of every message, so that ranks that do not are told.

use std::hash::Hasher as _;
use std::sync::Arc;

use ringworld_bootstrap::Settings;
use ringworld_collectives::{Algorithm, Placement, Tuning};

#[cfg(doc)]
use super::Communicator;
use crate::{Error, Result};

/// What collectives of one handle go by.
#[derive(Clone, Debug)]
pub(crate) struct Effective {
    /// The numbers before the placement and the wishes.
    base: Tuning,
    /// All that was wished for, the settings first.
    wishes: Options,
    /// Which ranks of the communicator share a host.
    placement: Placement,
    memory: Memory,
    pub(crate) tuning: Tuning,
    pub(crate) reproducible: bool,
    pub(crate) digest: u8,
}

/// Which ranks share memory, as far as all of them know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    Nobody,
    /// Those of one host.
    OfHosts,
    /// All, wherever they say that they are: ranks of a test.
    All,
}

impl Effective {
    pub(crate) fn new(base: Tuning, wishes: Options, placement: Placement, memory: Memory) -> Self {
        let all_share = match memory {
            Memory::Nobody => false,
            Memory::OfHosts => placement.hosts() == 1,
            Memory::All => true,
        };
        let mut tuning = base.clone().on_hosts(&placement).in_shared_memory(all_share);
        if let Some(segment) = wishes.segment {
            tuning = tuning.with_segment(segment);
        }
        for algorithm in &wishes.algorithms {
            tuning.algorithms.insert(*algorithm);
        }
        let reproducible = wishes.reproducible.unwrap_or(false);
        let digest = digest(&tuning, reproducible);
        Self { base, wishes, placement, memory, tuning, reproducible, digest }
    }

    /// Those of a world, with segments that go without asking first: in large worlds, whose eager limit is lower, a
    /// segment that asks costs a round trip more (simulated with 300 ranks and 16 MiB, 50 ms instead of 36).
    pub(crate) fn of_world(
        mut settings: Options,
        placement: Placement,
        eager: usize,
        memory: Memory,
    ) -> Self {
        const WORTH_A_MESSAGE: usize = 64 << 10;
        let longest = eager.max(WORTH_A_MESSAGE);
        let base = Tuning::default();
        let segment = base.segment.min(longest);
        settings.segment = settings.segment.map(|segment| segment.min(longest));
        Self::new(Tuning { segment, ..base }, settings, placement, memory)
    }

    /// The same for other ranks.
    pub(super) fn placed(self: &Arc<Self>, placement: Placement) -> Arc<Self> {
        if placement == self.placement {
            return Arc::clone(self);
        }
        Arc::new(Self::new(self.base.clone(), self.wishes.clone(), placement, self.memory))
    }
}

/// Wishes for the collectives of a communicator; see [`Communicator::with`].
///
/// ```
/// use ringworld::{Op, Options};
/// # let world = ringworld::testing::alone();
/// let exact = world.with(&Options::new().reproducible(true));
/// exact.all_reduce(&mut [0.1f64, 0.2], Op::Sum)?;
/// let ring = world.with(&Options::new().algorithm("all-reduce/ring")?);
/// ring.all_reduce(&mut [0.1f64, 0.2], Op::Sum)?;
/// # Ok::<(), ringworld::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Options {
    algorithms: Vec<Algorithm>,
    segment: Option<usize>,
    reproducible: Option<bool>,
}

impl Options {
    /// No wishes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Uses one algorithm for its collective, such as `all-reduce/ring`, whatever the size. A later wish
    /// for the same collective wins. A call that the algorithm cannot serve is an error.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] when there is no such algorithm; the message lists those there are.
    pub fn algorithm(mut self, path: &str) -> Result<Self> {
        let algorithm: Algorithm =
            path.parse().map_err(|error| Error::InvalidOption { detail: format!("{error}") })?;
        self.algorithms.push(algorithm);
        Ok(self)
    }

    /// Cuts pipelined collectives into segments of at most this many bytes.
    #[must_use]
    pub fn segment(mut self, bytes: usize) -> Self {
        self.segment = Some(bytes);
        self
    }

    /// Combines operands strictly from rank 0 upwards: `((x0 op x1) op x2) op …` for every element. The
    /// bits of a result then depend on the operands and on nothing else: neither on the length of the
    /// data, nor on the algorithm, nor on how tensors are grouped. It costs speed where fast algorithms
    /// combine in another order.
    #[must_use]
    pub fn reproducible(mut self, yes: bool) -> Self {
        self.reproducible = Some(yes);
        self
    }

    /// What the environment and the settings file ask for; see `docs/settings.md`.
    ///
    /// # Errors
    ///
    /// [`Error::Bootstrap`] when a setting is wrong.
    ///
    /// ```
    /// let selections = ringworld::selections(&ringworld::Options::from_env()?, 8, 1);
    /// # assert!(!selections.is_empty());
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    pub fn from_env() -> Result<Self> {
        let settings = Settings::from_env().map_err(|error| Error::Bootstrap(error.to_string()))?;
        Self::from_settings(&settings)
    }

    pub(crate) fn from_settings(settings: &Settings) -> Result<Self> {
        let mut options = Self::new().reproducible(settings.reproducible);
        for path in &settings.algorithms {
            options = options
                .algorithm(path)
                .map_err(|error| Error::Bootstrap(format!("the setting algorithms: {error}")))?;
        }
        options.segment = settings.segment;
        Ok(options)
    }

    /// What they come to where otherwise these numbers serve.
    pub(super) fn effective(&self, tuning: Tuning, placement: Placement, memory: Memory) -> Effective {
        Effective::new(tuning, self.clone(), placement, memory)
    }

    pub(super) fn apply(&self, base: &Effective) -> Effective {
        let mut wishes = base.wishes.clone();
        wishes.algorithms.extend(&self.algorithms);
        wishes.segment = self.segment.or(wishes.segment);
        wishes.reproducible = self.reproducible.or(wishes.reproducible);
        Effective::new(base.base.clone(), wishes, base.placement.clone(), base.memory)
    }
}

/// Eight bits that tell one set of options from another, the same in every process of one build.
fn digest(tuning: &Tuning, reproducible: bool) -> u8 {
    // FNV-1a over the fields as they print: no hasher of the standard library promises to stay the same.
    let mut hasher = fnv::FnvHasher::default();
    hasher.write(format!("{tuning:?} {reproducible}").as_bytes());
    let hash = hasher.finish();
    (hash ^ hash >> 32).to_le_bytes().into_iter().fold(0, |folded, byte| folded ^ byte)
}
