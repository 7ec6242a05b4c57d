//! The recorder: writes the trace of one rank.
//!
//! Its owner has it under a lock of its own. Neighbours: `layout` says where what stands, `read` reads it.

use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::panic::Location;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use super::clock::Clock;
use super::layout::{Head, INFO, Info, LABELS, MAGIC, SLOTS};
use super::map::{self, Mapped};
use super::slot::Slot;

/// The clocks are compared again after so many slots.
const ANCHORED: u64 = 1 << 12;

/// A name, and where in the program what it names stands; 0 is none.
pub type Label = u16;

/// Why no trace can be written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The folder is not there, and cannot be made.
    #[error("cannot make the folder {}: {error}; RINGWORLD_TRACE is a folder in one that is there", .path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The file cannot be made, or not as large.
    #[error(
        "cannot make the trace {} of {} bytes: {error}; set RINGWORLD_TRACE to a folder that can be written and has \
         room for such a file of each rank, or RINGWORLD_TRACE_SIZE to less",
        .path.display(), .bytes
    )]
    File {
        /// Which.
        path: PathBuf,
        /// Of how many bytes.
        bytes: usize,
        /// Why.
        error: io::Error,
    },
    /// A file of this process may not have so many bytes.
    #[error(
        "cannot make a trace of {bytes} bytes in {}: a file of this process may have {limit} bytes (RLIMIT_FSIZE). Set \
         RINGWORLD_TRACE_SIZE to no more than that, where it is {least} at least, or raise the limit: `ulimit -f` in \
         the shell, `fsize` in /etc/security/limits.conf, LimitFSIZE= in a systemd unit, or `--ulimit fsize=` for a \
         container",
        .folder.display(), least = LEAST
    )]
    Limit {
        /// Where.
        folder: PathBuf,
        /// Of how many bytes.
        bytes: usize,
        /// How many it may have.
        limit: u64,
    },
}

/// The bytes of the shortest trace.
const LEAST: usize = SLOTS + Recorder::FEWEST * size_of::<Slot>();

/// A file of full size that has no name of its own yet: what it costs is known, and nothing of it is lost if its owner
/// never gets to begin.
#[derive(Debug)]
pub struct Room {
    mapped: Option<Mapped>,
    path: PathBuf,
    slots: usize,
}

impl Room {
    /// Makes a file in `folder`, which is made if the one that it is in is there, of at most `bytes`, but of 96 KiB at
    /// least.
    ///
    /// # Errors
    ///
    /// When the folder cannot be made, or the file not with all its bytes, or it may not have so many.
    pub fn take(folder: &Path, bytes: usize) -> Result<Self, RecordError> {
        match std::fs::create_dir(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(RecordError::Folder { path: folder.to_owned(), error });
            }
            _ => {}
        }
        let room = bytes.saturating_sub(SLOTS) / size_of::<Slot>();
        let slots = room.max(Recorder::FEWEST);
        let bytes = SLOTS + slots * size_of::<Slot>();
        if let Some(limit) = map::limit_below(bytes) {
            return Err(RecordError::Limit { folder: folder.to_owned(), bytes, limit });
        }
        // Ranks may be threads of one process, and processes of several hosts may share the folder.
        let unique: u64 = RandomState::new().hash_one(std::process::id());
        let path = folder.join(format!(".{unique:016x}.begins"));
        let mapped = Mapped::create(&path, bytes);
        let mapped = mapped.map_err(|error| RecordError::File { path: path.clone(), bytes, error })?;
        Ok(Self { mapped: Some(mapped), path, slots })
    }

    /// Begins the trace of a rank, under its name.
    ///
    /// # Errors
    ///
    /// When the file cannot have that name.
    pub fn begin(mut self, info: &Info) -> Result<Recorder, RecordError> {
        let path = self.path.with_file_name(info.file());
        let failed = |error| RecordError::File { path: path.clone(), bytes: SLOTS, error };
        if path.exists() {
            return Err(failed(io::ErrorKind::AlreadyExists.into()));
        }
        std::fs::rename(&self.path, &path).map_err(failed)?;
        let Some(mut mapped) = self.mapped.take() else { return Err(failed(io::ErrorKind::NotFound.into())) };
        let clock = Clock::new();
        let (words, rate) = (words(info), clock.rate());
        mapped.bytes()[INFO..INFO + words.len()].copy_from_slice(&words);
        let anchor = clock.anchor().into();
        let head = Head {
            magic: MAGIC,
            slots: self.slots as u64,
            info: words.len() as u64,
            rate,
            first: anchor,
            latest: anchor,
            ..Head::default()
        };
        *head_of(&mut mapped) = head;
        let end = SLOTS + self.slots * size_of::<Slot>();
        let labels = FxHashMap::default();
        Ok(Recorder { mapped, clock, rate, next: SLOTS, end, written: 0, labels, used: 0, path })
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if self.mapped.is_some() {
            // It is ours, and worth nothing; that it stays is no further trouble.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// See the file's head.
#[derive(Debug)]
pub struct Recorder {
    mapped: Mapped,
    clock: Clock,
    /// Nanoseconds of 2^32 ticks.
    rate: u64,
    /// Where the next slot goes, in bytes, and where the last one ends.
    next: usize,
    end: usize,
    written: u64,
    labels: FxHashMap<(usize, usize), Label>,
    used: usize,
    path: PathBuf,
}

impl Recorder {
    /// The fewest slots that there are, however little is allowed.
    pub const FEWEST: usize = 1 << 10;

    /// Takes room in `folder`, and begins.
    ///
    /// # Errors
    ///
    /// As for [`Room::take`] and [`Room::begin`].
    pub fn create(folder: &Path, bytes: usize, info: &Info) -> Result<Self, RecordError> {
        Room::take(folder, bytes)?.begin(info)
    }

    /// Where the trace is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The time, in ticks.
    #[inline]
    #[must_use]
    pub fn now(&self) -> u64 {
        self.clock.ticks()
    }

    /// Writes a slot, in place of the oldest if there is no room.
    #[inline]
    pub fn write(&mut self, slot: Slot) {
        self.put(slot);
        if self.written.is_multiple_of(ANCHORED) {
            self.anchor();
        }
    }

    #[inline]
    fn put(&mut self, slot: Slot) {
        let at = self.next;
        self.next = if at + size_of::<Slot>() < self.end { at + size_of::<Slot>() } else { SLOTS };
        self.written += 1;
        let bytes = self.mapped.bytes();
        bytes[at..at + size_of::<Slot>()].copy_from_slice(bytemuck::bytes_of(&slot));
        bytes[16..24].copy_from_slice(&self.written.to_ne_bytes());
    }

    /// Compares the clocks: before and after long pauses, and now and then.
    #[cold]
    pub fn anchor(&mut self) {
        let anchor = self.clock.anchor();
        head_of(&mut self.mapped).latest = anchor.into();
        self.put(Slot::anchor(anchor.ticks, anchor.monotonic));
    }

    /// How many ticks make so long, about.
    #[must_use]
    pub fn ticks(&self, time: std::time::Duration) -> u64 {
        let ticks = (time.as_nanos() << 32) / u128::from(self.rate.max(1));
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }

    /// Ends it: whoever reads it knows from now on that its rank was not killed. What is written later counts as well.
    pub fn close(&mut self) {
        self.anchor();
        head_of(&mut self.mapped).closed = 1;
    }

    /// The label of a name and a place. 0, which is none, when there are too many: some thousand places have room.
    pub fn label(&mut self, name: &'static str, place: Option<&'static Location<'static>>) -> Label {
        let key = (name.as_ptr() as usize, place.map_or(0, |place| std::ptr::from_ref(place) as usize));
        if let Some(label) = self.labels.get(&key) {
            return *label;
        }
        let mut text = name.to_owned();
        if let Some(place) = place {
            text = format!("{name}\t{}:{}", place.file(), place.line());
        }
        let label = self.add_label(&text);
        self.labels.insert(key, label);
        label
    }

    fn add_label(&mut self, text: &str) -> Label {
        let text = text.get(..text.floor_char_boundary_at(250)).unwrap_or_default();
        let at = LABELS + self.used;
        let next = at + 1 + text.len();
        // Numbers are given out in the order in which they stand there.
        let Ok(label) = Label::try_from(self.labels.values().filter(|label| **label > 0).count() + 1) else {
            return 0;
        };
        if next > SLOTS {
            return 0;
        }
        let bytes = self.mapped.bytes();
        bytes[at] = text.len() as u8;
        bytes[at + 1..next].copy_from_slice(text.as_bytes());
        self.used = next - LABELS;
        head_of(&mut self.mapped).labels = self.used as u64;
        label
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.close();
    }
}

trait Boundary {
    fn floor_char_boundary_at(&self, most: usize) -> usize;
}

impl Boundary for str {
    /// The end of what can be kept of a text, at most so many bytes.
    fn floor_char_boundary_at(&self, most: usize) -> usize {
        (0..=most.min(self.len())).rev().find(|at| self.is_char_boundary(*at)).unwrap_or(0)
    }
}

/// What is said of the rank, as far as there is room: names may be long.
fn words(info: &Info) -> Vec<u8> {
    let cut = |text: &str, most: usize| text[..text.floor_char_boundary_at(most)].to_owned();
    let short = Info {
        job: info.job.as_deref().map(|job| cut(job, 192)),
        host: cut(&info.host, 192),
        program: cut(&info.program, 192),
        ..info.clone()
    };
    // Each of 576 bytes may take six, as \u0000 does, and the numbers take less than 300: all fits between head and
    // labels.
    serde_json::to_vec(&short).unwrap_or_default()
}

#[expect(clippy::indexing_slicing, reason = "a trace is never shorter than its head")]
fn head_of(mapped: &mut Mapped) -> &mut Head {
    bytemuck::from_bytes_mut(&mut mapped.bytes()[..size_of::<Head>()])
}
