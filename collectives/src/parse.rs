//! An algorithm by its path. Neighbour: `algorithm.rs` has the paths.

use std::str::FromStr;

use crate::{Algorithm, Error};

/// Reads a path, such as `all-reduce/ring`.
///
/// ```
/// use ringworld_collectives::Algorithm;
/// assert_eq!("all-reduce/ring".parse(), Ok(Algorithm::AllReduceRing));
/// let error = "barrier/magic".parse::<Algorithm>().unwrap_err();
/// let known = "barrier/dissemination, barrier/direct, barrier/two-level";
/// let text = format!("there is no algorithm \"barrier/magic\"; there are {known}");
/// assert_eq!(error.to_string(), text);
/// ```
impl FromStr for Algorithm {
    type Err = Error;

    fn from_str(path: &str) -> Result<Self, Error> {
        Self::ALL
            .iter()
            .copied()
            .find(|algorithm| algorithm.path() == path)
            .ok_or_else(|| Error::UnknownAlgorithm { given: path.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_can_be_read_back_and_others_are_answered_with_the_list() {
        for algorithm in Algorithm::ALL {
            assert_eq!(algorithm.path().parse(), Ok(*algorithm));
        }
        let error = "all-reduce/rign".parse::<Algorithm>().unwrap_err().to_string();
        assert!(error.contains("all-reduce/ring") && !error.contains("barrier/"), "{error}");
        let error = "ring".parse::<Algorithm>().unwrap_err().to_string();
        assert!(error.contains("all-reduce/ring") && error.contains("barrier/"), "{error}");
    }
}
