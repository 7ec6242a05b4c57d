//! A process that may make no files of the size of the memory that ranks share.
//!
//! The limit is that of the whole process, so this is one test in a file of its own.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::{Duration, Instant};

use ringworld_transport_shm::{Config, Shm};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use support::{until, world};

#[path = "it/support.rs"]
mod support;

/// Whether there is shared memory where files may have so many bytes; else why not.
fn bind_below(limit: u64) -> Result<Shm, String> {
    setrlimit(Resource::Fsize, Rlimit { current: Some(limit), ..getrlimit(Resource::Fsize) }).unwrap();
    Shm::bind(Config::new(0, 2, 1)).map_err(|error| error.to_string())
}

#[test]
fn memory_beyond_the_limit_on_files_is_an_error_and_no_signal() {
    let whole = getrlimit(Resource::Fsize);
    let text = bind_below(1_024_000).err().unwrap();
    assert!(text.contains("RLIMIT_FSIZE") && text.contains("`ulimit -f`"), "{text:?}");
    assert!(text.contains("1024000 bytes"), "what there is: {text:?}");

    // What it says to be enough is, for all that is needed later, too; and a byte less is not.
    let (_, needed) = text.split_once("takes a file of ").unwrap();
    let needed: u64 = needed.split(' ').next().unwrap().parse().unwrap();
    assert!(bind_below(needed - 1).is_err());
    assert!(bind_below(needed).is_ok());
    let mut far = world(2);
    far[0].send(1, b"x");
    until(&mut far, "the message", |world| world[1].received().count() == 1);

    // Lowered when the world stands, for a moment and for good: the next connection waits, and nobody else is blamed.
    for (lasts, is_told) in [(Duration::from_millis(300), false), (support::BOUND, true)] {
        let mut late = world(3);
        setrlimit(Resource::Fsize, Rlimit { current: Some(4096), ..whole }).unwrap();
        late[0].send(1, b"x");
        late[0].send(2, b"x");
        let begin = Instant::now();
        until(&mut late, "the error", |world| begin.elapsed() > lasts || !world[0].broken.is_empty());
        setrlimit(Resource::Fsize, whole).unwrap();
        until(&mut late, "the messages", |world| world[1..].iter().all(|side| side.received().count() == 1));
        assert!(late.iter().all(|side| side.down.is_empty()), "an innocent rank is blamed");
        let told: Vec<_> = late.iter().flat_map(|side| &side.broken).collect();
        assert_eq!(told.len(), usize::from(is_told), "{told:?}");
        let names = |text: &String| text.contains("RLIMIT_FSIZE") && text.contains("may have 4096 bytes");
        assert!(told.iter().all(|text| names(text)), "{told:?}");
    }
}
