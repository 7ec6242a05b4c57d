//! Traces, read again: of a rank that has ended, runs, or was killed.
//!
//! What is read may be anything, also half of a file, or one that changes meanwhile: whatever contradicts itself is an
//! error or left out, and nothing is believed before it has been compared with what is there.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::clock::Anchor;
use super::layout::{EXTENSION, Head, INFO, Info, LABELS, MAGIC, SLOTS};
use super::slot::{Kind, Slot};

/// What one rank has left.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Whose it is.
    pub info: Info,
    /// The oldest first.
    pub(crate) slots: Vec<Slot>,
    labels: Vec<String>,
    /// In the order of their ticks, one at least.
    anchors: Vec<(u64, u64)>,
    /// Nanoseconds of 2^32 ticks.
    rate: u64,
    /// What is to be added to the monotonic clock to have that of the wall.
    pub(crate) wall: i128,
    /// How many slots have gone because there was no room.
    pub lost: u64,
    /// The rank has ended its trace, and was not killed.
    pub closed: bool,
}

/// Why a file is no trace.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system does not let it be read.
    #[error("cannot read {}: {error}", .path.display())]
    System {
        /// Which file or folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It is something else.
    #[error("{} is no trace of this version of ringworld: {why}", .path.display())]
    Other {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

/// The traces that lie in a folder, by the number of their world.
pub type Found = BTreeMap<u64, Vec<PathBuf>>;

/// Looks for traces in a folder, by their names.
///
/// # Errors
///
/// When the folder cannot be read.
pub fn find(folder: &Path) -> Result<Found, ReadError> {
    let failed = |error| ReadError::System { path: folder.to_owned(), error };
    let mut found = Found::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let world = path
            .file_name()
            .and_then(|name| name.to_str()?.strip_suffix(EXTENSION)?.split_once('-'))
            .and_then(|(world, _)| u64::from_str_radix(world, 16).ok());
        if let Some(world) = world {
            found.entry(world).or_default().push(path);
        }
    }
    found.values_mut().for_each(|paths| paths.sort());
    Ok(found)
}

impl Trace {
    /// Reads one.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or is no trace.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        let bytes = std::fs::read(path);
        let bytes = bytes.map_err(|error| ReadError::System { path: path.to_owned(), error })?;
        Self::parse(&bytes).map_err(|why| ReadError::Other { path: path.to_owned(), why })
    }

    /// The same, of what has been read.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let piece = |from: usize, to: usize| bytes.get(from..to).ok_or("it is cut off".to_owned());
        let head: Head = bytemuck::pod_read_unaligned(piece(0, size_of::<Head>())?);
        if head.magic != MAGIC {
            return Err("it begins otherwise".into());
        }
        let up_to = |from: usize, length: u64, limit: usize| {
            let end = usize::try_from(length).ok().and_then(|length| from.checked_add(length));
            end.filter(|end| *end <= limit).ok_or(format!("{length} bytes do not fit where it says they are"))
        };
        let info = piece(INFO, up_to(INFO, head.info, LABELS)?)?;
        let info: Info = serde_json::from_slice(info).map_err(|error| error.to_string())?;
        let labels = labels(piece(LABELS, up_to(LABELS, head.labels, SLOTS)?)?);
        let room = head.slots.checked_mul(size_of::<Slot>() as u64).ok_or("it has too many slots")?;
        let ring = piece(SLOTS, up_to(SLOTS, room, bytes.len())?)?;
        let ring: Vec<Slot> =
            ring.chunks_exact(size_of::<Slot>()).map(bytemuck::pod_read_unaligned).collect();
        let oldest = head.written.saturating_sub(head.slots);
        let slots = (oldest..head.written).filter_map(|number| {
            let at = usize::try_from(number.checked_rem(head.slots)?).ok()?;
            ring.get(at).copied()
        });
        let slots: Vec<Slot> = slots.collect();
        let (first, latest): (Anchor, Anchor) = (head.first.into(), head.latest.into());
        let within = slots.iter().filter(|slot| slot.kind() == Some(Kind::Anchor));
        let mut anchors: Vec<_> = within.map(|slot| (slot.begin(), slot.monotonic())).collect();
        anchors.extend([first, latest].map(|anchor| (anchor.ticks, anchor.monotonic)));
        anchors.sort_unstable();
        // Both clocks only go forward; what does not is of a slot that was being written.
        anchors.dedup_by(|later, earlier| later.0 <= earlier.0 || later.1 <= earlier.1);
        Ok(Self {
            info,
            slots,
            labels,
            anchors,
            rate: head.rate,
            wall: i128::from(latest.wall) - i128::from(latest.monotonic),
            lost: oldest,
            closed: head.closed == 1,
        })
    }

    /// The name and the place of a label.
    pub(crate) fn label(&self, label: u16) -> (&str, Option<&str>) {
        let text = usize::from(label).checked_sub(1).and_then(|index| self.labels.get(index));
        match text.map(|text| text.split_once('\t').ok_or(text)) {
            None => ("", None),
            Some(Ok((name, place))) => (name, Some(place)),
            Some(Err(name)) => (name, None),
        }
    }

    /// Has ticks be nanoseconds of a clock, and drops the anchors of the real one.
    #[cfg(test)]
    pub(crate) fn plain_ticks(&mut self) {
        (self.anchors, self.rate, self.wall) = (vec![(0, 0)], 1 << 32, 0);
        self.slots.retain(|slot| slot.kind() != Some(Kind::Anchor));
    }

    /// Leaves the latest slots only; how many go.
    pub fn keep_latest(&mut self, most: usize) -> usize {
        let go = self.slots.len().saturating_sub(most);
        self.slots.drain(..go);
        go
    }

    /// How many slots there are.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Ticks in nanoseconds of the host's monotonic clock: between two anchors by both, beyond them by the rate.
    pub(crate) fn nanoseconds(&self, ticks: u64) -> i128 {
        let after = self.anchors.partition_point(|(at, _)| *at <= ticks);
        let pair = match (after.checked_sub(1).and_then(|at| self.anchors.get(at)), self.anchors.get(after)) {
            (Some(before), Some(after)) => Some((*before, *after)),
            _ => None,
        };
        if let Some(((from, start), (to, end))) = pair {
            let (span, passed) = (i128::from(to - from), i128::from(ticks - from));
            return i128::from(start) + passed * i128::from(end - start) / span.max(1);
        }
        let (at, nanoseconds) =
            if after == 0 { self.anchors.first() } else { self.anchors.last() }.copied().unwrap_or_default();
        i128::from(nanoseconds) + (i128::from(ticks) - i128::from(at)) * i128::from(self.rate) / (1 << 32)
    }
}

fn labels(mut bytes: &[u8]) -> Vec<String> {
    let mut labels = Vec::new();
    while let Some((length, rest)) = bytes.split_first()
        && let Some((text, rest)) = rest.split_at_checked(usize::from(*length))
    {
        labels.push(String::from_utf8_lossy(text).into_owned());
        bytes = rest;
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::super::recorder::Recorder;
    use super::*;
    use std::time::Duration;

    fn info(rank: usize) -> Info {
        Info { world: 7, rank, size: 4, host: "a".into(), ..Info::default() }
    }

    #[test]
    fn what_a_recorder_has_written_is_read_while_it_runs_and_after() {
        let folder = tempfile::tempdir().unwrap();
        let mut recorder = Recorder::create(folder.path(), 0, &info(3)).unwrap();
        let send = recorder.label("send", None);
        let here = recorder.label("recv", Some(std::panic::Location::caller()));
        assert_eq!(recorder.label("send", None), send);
        let begin = recorder.now();
        std::thread::sleep(Duration::from_millis(20));
        let end = recorder.now();
        recorder.write(Slot::new(Kind::Call, begin, end).labelled(send).bytes_of(8));
        let trace = Trace::read(recorder.path()).unwrap();
        assert_eq!((trace.info.clone(), trace.closed, trace.lost), (info(3), false, 0));
        assert_eq!(trace.slots.len(), 1);
        assert_eq!(trace.label(send), ("send", None));
        assert!(matches!(trace.label(here), ("recv", Some(place)) if place.contains("read.rs:")));
        assert_eq!(trace.label(99), ("", None));
        let path = recorder.path().to_owned();
        drop(recorder);
        let trace = Trace::read(&path).unwrap();
        assert!(trace.closed);
        let length = trace.nanoseconds(end) - trace.nanoseconds(begin);
        assert!((20_000_000..2_000_000_000).contains(&length), "{length}");
        let found = find(folder.path()).unwrap();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [(7, vec![path])]);
    }

    #[test]
    fn the_oldest_go_and_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let mut recorder = Recorder::create(folder.path(), 0, &info(0)).unwrap();
        for number in 0..10_000 {
            recorder.write(Slot::new(Kind::Sent, 5, 5).with(1, number));
        }
        let trace = Trace::read(recorder.path()).unwrap();
        let numbers: Vec<u32> =
            trace.slots.iter().filter(|slot| slot.kind() == Some(Kind::Sent)).map(Slot::number).collect();
        let first = numbers[0];
        assert_eq!(numbers, (first..10_000).collect::<Vec<_>>());
        // Two anchors are among them.
        assert_eq!((trace.slots.len(), trace.lost), (Recorder::FEWEST, 10_002 - Recorder::FEWEST as u64));
        assert!(std::fs::metadata(recorder.path()).unwrap().len() <= (96 << 10), "it does not grow");
    }

    #[test]
    fn labels_beyond_the_room_are_none() {
        let folder = tempfile::tempdir().unwrap();
        let mut recorder = Recorder::create(folder.path(), 0, &info(0)).unwrap();
        let mut last = 0;
        for number in 0..2_000 {
            let name: &'static str = Box::leak(format!("{number:0>200}").into_boxed_str());
            let label = recorder.label(name, None);
            assert!(label == last + 1 || label == 0, "{label} after {last}");
            last = last.max(label);
        }
        assert!((200..2_000).contains(&last), "{last}");
        let trace = Trace::read(recorder.path()).unwrap();
        assert!(trace.label(last).0.ends_with(&format!("{}", last - 1)));
    }

    #[test]
    fn ticks_between_anchors_go_by_both() {
        let anchors = vec![(1_000, 5_000), (2_000, 6_000), (4_000, 10_000)];
        let trace = Trace {
            info: info(0),
            slots: vec![],
            labels: vec![],
            anchors,
            rate: 1 << 32,
            wall: 0,
            lost: 0,
            closed: true,
        };
        let of = |ticks| trace.nanoseconds(ticks);
        assert_eq!([of(1_000), of(1_500), of(3_000), of(4_000)], [5_000, 5_500, 8_000, 10_000]);
        assert_eq!([of(900), of(4_100)], [4_900, 10_100], "beyond them by the rate");
    }

    #[test]
    fn whatever_is_cut_off_or_changed_is_an_error_or_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let mut recorder = Recorder::create(folder.path(), 0, &info(0)).unwrap();
        let label = recorder.label("send", None);
        (0..50).for_each(|n| recorder.write(Slot::new(Kind::Sent, 5, 5).with(1, n).labelled(label)));
        let whole = std::fs::read(recorder.path()).unwrap();
        for length in [0, 1, 100, INFO, LABELS, SLOTS, whole.len() - 1] {
            assert!(Trace::parse(&whole[..length]).is_err(), "{length}");
        }
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..3_000 {
            let mut changed = whole.clone();
            for _ in 0..random.usize(1..5) {
                let at = random.usize(..size_of::<Head>() + 300);
                changed[at] = random.u8(..);
            }
            if let Ok(trace) = Trace::parse(&changed) {
                trace.slots.iter().for_each(|slot| {
                    trace.nanoseconds(slot.begin());
                });
            }
        }
    }

    #[test]
    fn a_folder_that_cannot_be_is_an_error_that_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let error = Recorder::create(&folder.path().join("no/such"), 0, &info(0)).unwrap_err().to_string();
        assert!(error.contains("no/such") && error.contains("RINGWORLD_TRACE"), "{error}");
        Recorder::create(&folder.path().join("made"), 0, &info(0)).unwrap();
        // The same rank of the same world, again: never written over.
        let error = Recorder::create(&folder.path().join("made"), 0, &info(0)).unwrap_err().to_string();
        assert!(error.contains("exists"), "{error}");
    }
}
