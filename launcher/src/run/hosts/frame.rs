//! What the launcher and its helpers on other hosts say to one another, over the standard input and output of the
//! command that connects them. Pure: values in, bytes out, and back.
//!
//! ```text
//! ssh's own noise, if any
//! helper ──► ringworld-run-host VERSION            a line, from which on there are frames only
//!        ◄── Start                                 programs, environments, the secret: nothing of it in an argument
//!        ──► Started | Failed
//!        ──► Output, Closed, Ended, Say            no more output than there is Room for
//!        ◄── Clear, Again                          of a rank that has ended: end its group, start another in its place
//!        ──► Again | NotAgain
//!        ◄── Signal, Input, Hush, Finish           the end of the helper's input ends its ranks at once
//!        ◄─► Alive                                 so that a network that drops everything is noticed
//! ```
//!
//! A frame is four bytes with its length, least first, and the value by postcard. Both ends are of one version.

use super::super::supervisor::Ending;
use crate::cli::{BindTo, Endpoint, Stdin};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The line by which a helper begins, without its version.
pub(super) const GREETING: &str = "ringworld-run-host ";

/// What both ends must agree on: the second number counts changes to the frames within a version.
pub(super) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "/2");

/// How many bytes of output may be on their way from a host, without what its ranks say last.
pub(super) const WINDOW: usize = 256 * 1024;

/// The longest frame: of output it is a pipe's content, and of the start a whole environment.
const LONGEST: usize = 16 << 20;

/// From the launcher.
#[derive(Serialize, Deserialize)]
pub(super) enum Down {
    Start(Box<Start>),
    /// For the process group of every rank.
    Signal(i32),
    /// What the ranks that read the launcher's input get next; one at a time, see [`Up::InputTaken`].
    Input(Vec<u8>),
    InputEnd,
    /// There is room for so many more bytes of output.
    Room(u32),
    /// Nobody reads this stream of a rank any more.
    Hush {
        rank: u32,
        which: u32,
    },
    Alive,
    /// The job is over: end what is left of it, say what it still had to say, and go.
    Finish,
    /// End what is left of the group of a rank that has ended.
    Clear {
        rank: u32,
    },
    /// Start a rank that has ended again; see [`Up::Again`].
    Again {
        rank: u32,
    },
}

/// From a helper; ranks are counted from its first.
#[derive(Serialize, Deserialize)]
pub(super) enum Up {
    /// The process id of each rank.
    Started(Vec<i32>),
    /// Nothing was started.
    Failed {
        status: u8,
        message: String,
    },
    Output {
        rank: u32,
        which: u32,
        bytes: Vec<u8>,
    },
    Closed {
        rank: u32,
        which: u32,
    },
    Ended {
        rank: u32,
        ending: Ending,
    },
    Say(String),
    InputTaken,
    /// No rank reads it any more.
    InputClosed,
    Alive,
    /// The rank was started again, as this process. All that the one before has written has been sent.
    Again {
        rank: u32,
        pid: i32,
    },
    /// It could not be.
    NotAgain {
        rank: u32,
        why: String,
    },
}

/// Everything that a helper needs to know.
#[derive(Serialize, Deserialize)]
pub(super) struct Start {
    /// Where the launcher works, and thus the ranks.
    pub(super) folder: Vec<u8>,
    pub(super) parts: Vec<PartOf>,
    /// The part of each rank of this host.
    pub(super) of: Vec<u32>,
    pub(super) first: u32,
    pub(super) all: u32,
    /// How many hosts there are, if all have as many ranks.
    pub(super) nodes: Option<u32>,
    /// Where the ranks meet, in any of these places.
    pub(super) places: Vec<Endpoint>,
    pub(super) job: String,
    pub(super) secret: Vec<u8>,
    /// The launcher's variables that the ranks are to have.
    pub(super) passed: Vec<(Vec<u8>, Vec<u8>)>,
    pub(super) bind_to: BindTo,
    /// Who of this host's ranks reads the launcher's input.
    pub(super) stdin: Stdin,
    /// The world is to go on after failures, with so many ranks at least and at most.
    pub(super) elastic: Option<[Option<u32>; 2]>,
    /// Ranks may be started again.
    pub(super) again: bool,
    /// How long the launcher may be silent, in milliseconds.
    pub(super) patience: Option<u64>,
}

/// A [`Part`](crate::cli::Part), on its way.
#[derive(Serialize, Deserialize)]
pub(super) struct PartOf {
    pub(super) program: Vec<Vec<u8>>,
    pub(super) wdir: Option<Vec<u8>>,
    pub(super) mpi: bool,
    pub(super) env: Vec<(String, String)>,
}

/// The frame.
///
/// # Errors
///
/// When it is too long to be sent.
pub(super) fn encode(value: &impl Serialize) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; 4];
    bytes = postcard::to_extend(value, bytes).map_err(|error| error.to_string())?;
    let length = bytes.len() - 4;
    let head = u32::try_from(length).ok().filter(|_| length <= LONGEST).map(u32::to_le_bytes);
    match (head, bytes.first_chunk_mut()) {
        (Some(head), Some(place)) => *place = head,
        _ => return Err(format!("{length} bytes are too many for one message; {LONGEST} fit")),
    }
    Ok(bytes)
}

/// Puts frames together from bytes as they come.
#[derive(Default)]
pub(super) struct Decoder {
    bytes: Vec<u8>,
}

impl Decoder {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next frame that is there as a whole.
    ///
    /// # Errors
    ///
    /// When it cannot be one; nothing after it can be read either.
    pub(super) fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, String> {
        let Some(head) = self.bytes.first_chunk() else { return Ok(None) };
        let length = usize::try_from(u32::from_le_bytes(*head)).unwrap_or(usize::MAX);
        if length > LONGEST {
            return Err(format!("a message of {length} bytes, where {LONGEST} is the most"));
        }
        let Some(body) = self.bytes.get(4..4 + length) else { return Ok(None) };
        let value = match postcard::take_from_bytes(body) {
            Ok((value, [])) => value,
            Ok((_, rest)) => return Err(format!("a message with {} bytes too many", rest.len())),
            Err(error) => return Err(format!("a message that cannot be read ({error})")),
        };
        self.bytes.drain(..4 + length);
        Ok(Some(value))
    }
}

/// What comes before the greeting, and what the greeting says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Greeting {
    /// A line of somebody else's.
    Noise(String),
    /// The helper's version.
    Version(String),
    /// The line has not come as a whole.
    Unfinished,
}

/// How much may come before the greeting.
pub(super) const LONGEST_NOISE: usize = 16 * 1024;

/// Takes the next line off the beginning of `bytes`.
pub(super) fn greeting(bytes: &mut Vec<u8>) -> Greeting {
    let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else { return Greeting::Unfinished };
    let line: Vec<u8> = bytes.drain(..=end).collect();
    let line = String::from_utf8_lossy(&line).trim_end().to_owned();
    match line.split_once(GREETING) {
        // After a prompt or so that had no end of line.
        Some((_, version)) => Greeting::Version(version.to_owned()),
        None => Greeting::Noise(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_put_together_from_any_pieces() {
        let frames = [
            Up::Output { rank: 3, which: 1, bytes: (0..=255).collect() },
            Up::Ended { rank: 3, ending: Ending::Killed { signal: 9, core: false, starved: true } },
            Up::Say("é".to_owned()),
        ];
        let bytes: Vec<u8> = frames.iter().flat_map(|frame| encode(frame).unwrap()).collect();
        for size in [1, 3, 4, 7, bytes.len()] {
            let (mut decoder, mut count) = (Decoder::default(), 0);
            for piece in bytes.chunks(size) {
                decoder.push(piece);
                while let Some(frame) = decoder.next::<Up>().unwrap() {
                    assert_eq!(encode(&frame).unwrap(), encode(&frames[count]).unwrap());
                    count += 1;
                }
            }
            assert_eq!(count, 3, "in pieces of {size}");
        }
    }

    #[test]
    fn nonsense_is_refused_and_never_waited_for() {
        let mut long = Decoder::default();
        long.push(&u32::MAX.to_le_bytes());
        assert!(long.next::<Up>().is_err_and(|told| told.contains("is the most")));
        for body in [&[200u8][..], &[3], &[2, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f], &[8, 0]] {
            let mut decoder = Decoder::default();
            decoder.push(&[&u32::try_from(body.len()).unwrap().to_le_bytes()[..], body].concat());
            assert!(decoder.next::<Up>().is_err(), "{body:?}");
        }
        assert!(encode(&Up::Say("x".repeat(LONGEST + 1))).is_err());
    }

    #[test]
    fn the_greeting_is_found_behind_what_others_say() {
        let mut bytes = b"Welcome!\r\nfoo$ ringworld-run-host 1.2.3/4\n\x01\x02".to_vec();
        assert_eq!(greeting(&mut bytes), Greeting::Noise("Welcome!".to_owned()));
        assert_eq!(greeting(&mut bytes), Greeting::Version("1.2.3/4".to_owned()));
        assert_eq!((greeting(&mut bytes), bytes), (Greeting::Unfinished, vec![1, 2]));
    }
}
