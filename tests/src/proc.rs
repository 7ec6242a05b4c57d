//! What `/proc` tells of processes: whether they live, where they listen, how much memory they use.

use std::collections::HashSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

/// Whether the process runs; one that only waits to be reaped does not.
#[must_use]
pub fn is_alive(pid: u32) -> bool {
    // The state follows the command's name, which stands in parentheses and may contain any character.
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .ok()
        .and_then(|stat| stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()))
        .is_some_and(|state| !matches!(state, 'Z' | 'X' | 'x'))
}

/// The process that has started this one, or has adopted it.
///
/// # Panics
///
/// When it does not run.
#[must_use]
pub fn parent(pid: u32) -> u32 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("the process runs");
    let parent = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)?.parse().ok());
    parent.unwrap_or_else(|| panic!("no parent in {stat:?}"))
}

/// The processes that this one has started, or has adopted, and not reaped. Empty when it has ended.
#[must_use]
pub fn children(pid: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|child| child.parse().ok()).collect()
}

/// Waits until none of the processes runs any more, and says how long that took.
///
/// # Panics
///
/// When one still runs after `patience`.
pub fn wait_gone(pids: &[u32], patience: Duration) -> Duration {
    let start = Instant::now();
    loop {
        let left: Vec<u32> = pids.iter().copied().filter(|&pid| is_alive(pid)).collect();
        if left.is_empty() {
            return start.elapsed();
        }
        assert!(start.elapsed() < patience, "processes {left:?} still run after {patience:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Where the process listens for TCP connections. Empty when it has ended.
#[must_use]
pub fn listening(pid: u32) -> Vec<SocketAddr> {
    let inodes: HashSet<String> = fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten()
        .filter_map(|entry| fs::read_link(entry.ok()?.path()).ok())
        .filter_map(|link| Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    let mut addresses = Vec::new();
    for table in ["tcp", "tcp6"] {
        let text = fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        addresses.extend(text.lines().skip(1).filter_map(|line| listener(line, &inodes)));
    }
    addresses
}

/// One row of `/proc/net/tcp`: columns 1, 3 and 9 are the local address, the state and the inode.
fn listener(row: &str, inodes: &HashSet<String>) -> Option<SocketAddr> {
    const LISTEN: &str = "0A";
    let columns: Vec<&str> = row.split_whitespace().collect();
    if *columns.get(3)? != LISTEN || !inodes.contains(*columns.get(9)?) {
        return None;
    }
    let (ip, port) = columns[1].split_once(':')?;
    // Addresses are printed as words of the machine's own byte order.
    let mut bytes = Vec::new();
    for word in (0..ip.len()).step_by(8) {
        bytes.extend(u32::from_str_radix(ip.get(word..word + 8)?, 16).ok()?.to_ne_bytes());
    }
    let ip: IpAddr = match <[u8; 4]>::try_from(bytes.as_slice()) {
        Ok(v4) => Ipv4Addr::from(v4).into(),
        Err(_) => Ipv6Addr::from(<[u8; 16]>::try_from(bytes.as_slice()).ok()?).into(),
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

/// Memory of this process in KiB: its proportional share of what it shares with others, and all of it.
#[must_use]
pub fn own_memory() -> (u64, u64) {
    let text = fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    let field = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
    };
    (field("Pss:"), field("Rss:"))
}

/// How many descriptors this process has open.
#[must_use]
pub fn open_files() -> usize {
    // Without the one that reads the folder.
    fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count().saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn own_listeners_are_found_by_address_and_only_those() {
        let four = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut expected = vec![four.local_addr().unwrap()];
        let six = TcpListener::bind("[::1]:0");
        expected.extend(six.iter().map(|six| six.local_addr().unwrap()));
        let found = listening(std::process::id());
        assert!(expected.iter().all(|address| found.contains(address)), "{expected:?} {found:?}");
        drop(four);
        assert!(!listening(std::process::id()).contains(&expected[0]));
    }

    #[test]
    fn this_process_is_alive_and_uses_memory() {
        assert!(is_alive(std::process::id()) && !is_alive(u32::MAX));
        let (shared, whole) = own_memory();
        assert!(shared > 0 && whole >= shared);
    }
}
