//! The account of a rank: what it has counted by the end of its world, for whoever puts those of all ranks together.
//!
//! A small file for each rank, as JSON. Neighbour: the launcher reads them, and says one table for all.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The end of the names of files.
const EXTENSION: &str = "statistics";

/// What was done by one kind of call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calls {
    /// Its name.
    pub name: String,
    /// How often it has begun.
    pub calls: u64,
    /// How much memory it was given.
    pub bytes: u64,
    /// How often it went to sleep.
    pub waits: u64,
    /// For how long, in nanoseconds.
    pub waited: u64,
}

/// See the file's head.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Which rank.
    pub rank: usize,
    /// Of how many.
    pub size: usize,
    /// Its host.
    pub host: String,
    /// Bytes sent to all.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
    /// Of each kind of call that there was.
    pub calls: Vec<Calls>,
    /// For which ranks it waited longest, and how long in nanoseconds; a few.
    pub late: Vec<(usize, u64)>,
}

impl Account {
    /// How long calls slept in all, in nanoseconds.
    #[must_use]
    pub fn waited(&self) -> u64 {
        self.calls.iter().map(|call| call.waited).sum()
    }

    /// Writes it into a folder, under a name that no other process of any host has there.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let path = folder.join(format!("{:05}-{}.{EXTENSION}", self.rank, std::process::id()));
        std::fs::write(path, serde_json::to_vec(self)?)
    }

    /// Those that lie in a folder, by rank; what is half written, or something else, is left out.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub fn read(folder: &Path) -> io::Result<Vec<Self>> {
        let mut all: Vec<Self> = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == EXTENSION) {
                all.extend(std::fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()));
            }
        }
        all.sort_by_key(|account: &Self| account.rank);
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_found_by_rank_and_what_is_none_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let call = Calls { name: "recv".into(), calls: 3, waits: 1, waited: 70, ..Calls::default() };
        let of = |rank| Account {
            rank,
            size: 3,
            calls: vec![call.clone()],
            late: vec![(1, 70)],
            ..Account::default()
        };
        [2, 0].into_iter().for_each(|rank| of(rank).write(folder.path()).unwrap());
        std::fs::write(folder.path().join("1-1.statistics"), "{").unwrap();
        std::fs::write(folder.path().join("other"), "{}").unwrap();
        assert_eq!(Account::read(folder.path()).unwrap(), [of(0), of(2)]);
        assert_eq!(of(0).waited(), 70);
        assert!(Account::read(&folder.path().join("none")).is_err());
    }
}
