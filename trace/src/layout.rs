//! Where what stands in the file of a trace, and what its head says.
//!
//! ```text
//!  0        256              4096              65536
//!  ├ head ──┼ Info (JSON) ───┼ labels ─────────┼ slots ─────────▶
//! ```

use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};

use super::clock::Anchor;

/// The first bytes of every trace; the last one is the version.
pub(crate) const MAGIC: [u8; 8] = *b"rwtrace\x01";
/// Where the words about the rank begin.
pub(crate) const INFO: usize = 256;
/// Where labels begin.
pub(crate) const LABELS: usize = 4 << 10;
/// Where slots begin.
pub(crate) const SLOTS: usize = 64 << 10;
/// The end of the names of files.
pub(crate) const EXTENSION: &str = "trace";

/// Whose trace it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Info {
    /// The number of the world: another one for each job, and each generation of an elastic one.
    pub world: u64,
    /// The name of the job, if it has one.
    pub job: Option<String>,
    /// Which rank.
    pub rank: usize,
    /// Of how many.
    pub size: usize,
    /// The name of its host.
    pub host: String,
    /// Tells hosts apart of which two have the same name: ranks with the same one share a clock.
    pub host_id: u64,
    /// Its process.
    pub pid: u32,
    /// The program, as it was started.
    pub program: String,
}

impl Info {
    /// The name of the file.
    pub(crate) fn file(&self) -> String {
        format!("{:016x}-{:05}.{EXTENSION}", self.world, self.rank)
    }
}

/// An anchor as it lies in the head.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Moment {
    pub(crate) ticks: u64,
    pub(crate) monotonic: u64,
    pub(crate) wall: u64,
}

impl From<Anchor> for Moment {
    fn from(Anchor { ticks, monotonic, wall }: Anchor) -> Self {
        Self { ticks, monotonic, wall }
    }
}

impl From<Moment> for Anchor {
    fn from(Moment { ticks, monotonic, wall }: Moment) -> Self {
        Self { ticks, monotonic, wall }
    }
}

/// What changes, and what is needed to read the rest.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Head {
    pub(crate) magic: [u8; 8],
    /// How many slots there are.
    pub(crate) slots: u64,
    /// How many have been written since the beginning: the latest is that before this one, modulo `slots`.
    pub(crate) written: u64,
    /// How many bytes of labels.
    pub(crate) labels: u64,
    /// How many bytes of words about the rank.
    pub(crate) info: u64,
    /// Nanoseconds of 2^32 ticks.
    pub(crate) rate: u64,
    pub(crate) first: Moment,
    pub(crate) latest: Moment,
    /// 1: the rank has ended its trace; 0: it still runs, or was killed.
    pub(crate) closed: u64,
}

const _: () = assert!(size_of::<Head>() <= INFO);
