//! A process that may make no files of the size of a trace.
//!
//! The limit is that of the whole process, so this is one test in a file of its own.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ringworld_trace::Room;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

#[test]
fn a_trace_beyond_the_limit_on_files_is_an_error_and_no_signal() {
    let folder = tempfile::tempdir().unwrap();
    setrlimit(Resource::Fsize, Rlimit { current: Some(512_000), ..getrlimit(Resource::Fsize) }).unwrap();
    let text = Room::take(folder.path(), 4 << 20).err().unwrap().to_string();
    for part in
        ["RLIMIT_FSIZE", "`ulimit -f`", "RINGWORLD_TRACE_SIZE", "4194304 bytes", "512000 bytes", "98304"]
    {
        assert!(text.contains(part), "no {part:?} in {text:?}");
    }
    assert!(text.contains(folder.path().to_str().unwrap()), "{text:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left of it");
    // And what it advises is enough.
    Room::take(folder.path(), 512_000).unwrap();
}
