//! Ranks of one host that share a folder and no network namespace, as containers and pods with a volume do: their
//! sockets are files in it, and they share memory.
//!
//! Neighbours: `two_levels.rs` for memory inside hosts and TCP between them.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use ringworld_tests::host::Network;
use ringworld_tests::job::formed;
use ringworld_tests::line::Line;
use ringworld_tests::process::Process;

use super::namespaces::possible;
use super::programs::{FAILED, LAUNCH, PROBE, REFUSED};

const SETTING: &str = "RINGWORLD_SHM_SOCKET_DIR";

/// A folder of its own for each test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("sockets-{}-{name}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn files(&self) -> Vec<PathBuf> {
        std::fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().path()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Two network namespaces, each with a cable to the other.
fn network() -> Network {
    let network = Network::new(2, 1);
    for host in 0..2 {
        network.plug(host, "eth0", 0, &format!("10.82.0.{}/24", host + 1));
    }
    network
}

/// Two ranks in each; `folder` of each namespace.
fn start(network: &Network, program: &str, arguments: &[&str], folder: [Option<&Path>; 2]) -> Vec<Process> {
    let start = |index: usize| {
        let rank = index.to_string();
        let mut all = vec![
            ("MASTER_NODE", "10.82.0.1"),
            ("MASTER_PORT", "29500"),
            ("WORLD_SIZE", "4"),
            ("RANK", rank.as_str()),
        ];
        if let Some(folder) = folder[index / 2] {
            all.push((SETTING, folder.to_str().unwrap()));
        }
        network.host(index / 2).start(program, &all, arguments)
    };
    (0..4).map(start).collect()
}

/// To each rank, in their order.
fn transports(line: &Line) -> Vec<String> {
    line.value("transports").unwrap().split(',').map(str::to_owned).collect()
}

#[test]
fn namespaces_that_share_a_folder_share_memory_and_leave_nothing_there() {
    if !possible("namespaces_that_share_a_folder_share_memory_and_leave_nothing_there") {
        return;
    }
    let (network, folder) = (network(), Folder::new("shared"));
    // Each by a path of its own: what counts is where it leads.
    let link = folder.0.with_extension("link");
    std::os::unix::fs::symlink(&folder.0, &link).unwrap();
    let arguments = ["meet", "--elements", "300000"];
    let mut processes = start(&network, PROBE, &arguments, [Some(&folder.0), Some(&link)]);
    for line in formed(&processes, 4) {
        let expected: Vec<_> = (0..4).map(|rank| if rank == line.rank() { "self" } else { "shm" }).collect();
        assert_eq!(transports(&line), expected, "from rank {}", line.rank());
    }
    processes.iter_mut().for_each(Process::succeeds);
    std::fs::remove_file(&link).unwrap();
    assert_eq!(folder.files(), Vec::<PathBuf>::new());
    let bytes = network.host(0).traffic("eth0");
    assert!(bytes < 200_000, "{bytes} bytes went over the cable, which has the rendezvous only");
}

#[test]
fn without_the_same_folder_namespaces_talk_tcp_and_info_says_why() {
    if !possible("without_the_same_folder_namespaces_talk_tcp_and_info_says_why") {
        return;
    }
    let (network, one, other) = (network(), Folder::new("one"), Folder::new("other"));
    let cases = [
        ([None, None], "network namespace"),
        (
            [Some(one.0.as_path()), Some(other.0.as_path())],
            "it has another folder or another user there, or is gone",
        ),
        ([Some(one.0.as_path()), None], "has a folder for sockets (RINGWORLD_SHM_SOCKET_DIR)"),
    ];
    for (folders, why) in cases {
        let mut processes = start(&network, PROBE, &["meet"], folders);
        for line in formed(&processes, 4) {
            let expected = |rank: usize| match rank {
                rank if rank == line.rank() => "self",
                rank if rank / 2 == line.rank() / 2 => "shm",
                _ => "tcp",
            };
            assert_eq!(transports(&line), (0..4).map(expected).collect::<Vec<_>>(), "{folders:?}");
        }
        processes.iter_mut().for_each(Process::succeeds);
        let mut processes = start(&network, LAUNCH, &["info", "--join"], folders);
        processes.iter_mut().for_each(Process::succeeds);
        let told = processes[0].transcript();
        assert_eq!(told.matches(why).count(), 8, "of each rank to two of the other namespace: {told}");
        assert_eq!(told.matches("shm (the best").count(), 4, "{told}");
    }
    assert!(one.files().is_empty() && other.files().is_empty());
}

#[test]
fn what_killed_ranks_leave_in_the_folder_hinders_nobody_and_goes_with_the_next() {
    if !possible("what_killed_ranks_leave_in_the_folder_hinders_nobody_and_goes_with_the_next") {
        return;
    }
    let (network, folder) = (network(), Folder::new("killed"));
    let folders = [Some(folder.0.as_path()); 2];
    for round in 0..3 {
        let mut processes = start(&network, PROBE, &["recv"], folders);
        formed(&processes, 4);
        // Those of this world, and nobody's else: the ones that the last world has left are gone.
        let files = folder.files();
        assert_eq!(files.len(), 8, "round {round}: {files:?}");
        for file in files {
            let found = file.symlink_metadata().unwrap();
            assert_eq!(found.permissions().mode() & 0o777, 0o600, "{file:?}");
            assert_eq!(found.uid(), rustix::process::geteuid().as_raw(), "{file:?}");
        }
        processes[3].kill();
        for process in &mut processes[..3] {
            let text = process.wait_event("failed").text;
            assert!(text.contains("rank 3 on node1 is down"), "{text}");
            process.ends_with(FAILED);
        }
        assert_eq!(folder.files().len(), 2, "of the rank that was killed");
    }
    let mut processes = start(&network, PROBE, &["meet"], folders);
    processes.iter_mut().for_each(Process::succeeds);
    assert!(folder.files().is_empty(), "{:?}", folder.files());
}

#[test]
fn a_folder_that_cannot_be_used_is_an_error_that_names_it() {
    let job = ringworld_tests::job::Job::new(PROBE, 2).with(SETTING, Some("/nowhere/at/all"));
    let mut processes = job.start_ranks(2, &["meet"]);
    for process in &mut processes {
        process.ends_with(REFUSED);
    }
    let told: String = processes.iter().map(Process::transcript).collect();
    for part in ["/nowhere/at/all", SETTING, "RINGWORLD_TRANSPORT=^shm"] {
        assert!(told.contains(part), "no {part:?} in {told}");
    }
}
