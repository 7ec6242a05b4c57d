//! A secret that is handed over by a descriptor. Alone in its process, whose environment and descriptors it is about.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::process::Command;

use ringworld_bootstrap::{Secret, Settings, hand_over};

const NAME: &str = "RINGWORLD_SECRET_FD";
const SECRET: &[u8] = b"the secret of this very job";

fn place(number: &str) -> PathBuf {
    format!("/proc/self/fd/{number}").into()
}

/// What `handed_over` starts as another process: a rank.
#[test]
#[ignore = "started by the other test"]
fn rank() {
    let number = std::env::var(NAME).unwrap();
    assert!(place(&number).exists());
    // Worlds, options and reports load settings, each for itself.
    for _ in 0..3 {
        assert_eq!(Settings::from_env().unwrap().secret.expose(), SECRET);
        assert!(!place(&number).exists(), "a child would inherit it");
    }
    // What has the number next is this program's own.
    let own = std::fs::File::open("/dev/null").unwrap();
    let own = rustix::io::fcntl_dupfd_cloexec(own, number.parse().unwrap()).unwrap();
    assert_eq!(own.as_raw_fd().to_string(), number);
    assert_eq!(Settings::from_env().unwrap().secret.expose(), SECRET);
    assert!(place(&number).exists());
}

#[test]
fn it_is_read_once_and_closed() {
    let handed = hand_over(&Secret::new(SECRET.into())).unwrap();
    // No script uses such numbers by hand.
    assert!(handed.as_raw_fd() >= 50);
    rustix::io::fcntl_setfd(&handed, rustix::io::FdFlags::empty()).unwrap();
    let start = || {
        let mut rank = Command::new(std::env::current_exe().unwrap());
        rank.args(["--exact", "rank", "--ignored", "--nocapture"]).env(NAME, handed.as_raw_fd().to_string());
        rank.env("WORLD_SIZE", "2").env("MASTER_NODE", "127.0.0.1");
        let done = rank.output().unwrap();
        assert!(done.status.success(), "{done:?}");
        assert!(String::from_utf8_lossy(&done.stdout).contains("1 passed"), "{done:?}");
    };
    // Again, as by a script that starts a rank anew.
    (0..2).for_each(|_| start());
}

#[test]
fn a_world_of_one_needs_none_and_any_other_is_told_what_to_do() {
    let load = |size: &str, number: &str| {
        let env = [("WORLD_SIZE", size), ("MASTER_NODE", "127.0.0.1"), (NAME, number)];
        Settings::load(&[], &env.map(|(name, value)| (name.into(), value.into())).into())
    };
    assert!(load("1", "999").unwrap().secret.is_empty());
    for number in ["999", "0", "-1", "x", ""] {
        let text = load("2", number).unwrap_err().to_string();
        assert!(text.contains(NAME), "{text}");
    }
    assert!(load("2", "999").unwrap_err().to_string().contains("RINGWORLD_SECRET_FILE"));
}

#[test]
fn it_cannot_be_changed() {
    let handed = hand_over(&Secret::new(SECRET.into())).unwrap();
    let mut again =
        std::fs::OpenOptions::new().write(true).open(place(&handed.as_raw_fd().to_string())).unwrap();
    std::io::Write::write_all(&mut again, b"another").unwrap_err();
    assert!(again.set_len(0).is_err());
}
