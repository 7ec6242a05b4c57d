//! Which devices and ports may be used, in the syntax of `NCCL_IB_HCA`.
//!
//! `[^][=]name[:port],…`: a list of names, each of which stands for every device that begins with it, or,
//! after `=`, for exactly that device; with a port, for that port only. `^` in front excludes what the list
//! names. Pure. Neighbours: `choice.rs` applies it.

use std::fmt;
use std::str::FromStr;

/// A parsed list of devices.
///
/// ```
/// use ringworld_transport_ibverbs::DeviceFilter;
/// let filter: DeviceFilter = "=mlx5_1:1,mlx5_3".parse()?;
/// assert!(filter.allows("mlx5_1", 1) && !filter.allows("mlx5_1", 2) && !filter.allows("mlx5_10", 1));
/// let others: DeviceFilter = "^mlx5_0".parse()?;
/// assert!(others.allows("rxe0", 1) && !others.allows("mlx5_0", 1));
/// # Ok::<(), ringworld_transport_ibverbs::FilterError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceFilter {
    text: String,
    excludes: bool,
    exact: bool,
    entries: Vec<(String, Option<u8>)>,
}

/// Why a list of devices makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not a list of RDMA devices: {reason}; write [^][=]name[:port],… such as mlx5_0:1 or ^=mlx5_2"
)]
pub struct FilterError {
    text: String,
    reason: String,
}

impl FromStr for DeviceFilter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        let error = |reason: String| FilterError { text: text.to_owned(), reason };
        let rest = text.trim();
        let (excludes, rest) = rest.strip_prefix('^').map_or((false, rest), |rest| (true, rest));
        let (exact, rest) = rest.strip_prefix('=').map_or((false, rest), |rest| (true, rest));
        let entry = |word: &str| {
            let word = word.trim();
            let (name, port) = match word.split_once(':') {
                Some((name, port)) => {
                    let number = port.parse().ok().filter(|port| *port > 0);
                    let number =
                        number.ok_or_else(|| error(format!("{port:?} is not a port, from 1 to 255")))?;
                    (name, Some(number))
                }
                None => (word, None),
            };
            if name.is_empty() || name.contains(['^', '=']) {
                return Err(error(format!("{word:?} is not the name of a device")));
            }
            Ok((name.to_owned(), port))
        };
        let entries = rest.split(',').map(entry).collect::<Result<_, _>>()?;
        Ok(Self { text: text.trim().to_owned(), excludes, exact, entries })
    }
}

impl DeviceFilter {
    /// Whether the list permits this port.
    #[must_use]
    pub fn allows(&self, device: &str, port: u8) -> bool {
        let named = self.entries.iter().any(|(name, only)| {
            let same = if self.exact { device == name } else { device.starts_with(name.as_str()) };
            same && only.is_none_or(|only| only == port)
        });
        named != self.excludes
    }
}

impl fmt::Display for DeviceFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(filter: &str, device: &str, port: u8) -> bool {
        filter.parse::<DeviceFilter>().unwrap().allows(device, port)
    }

    #[test]
    fn names_are_prefixes_unless_exact() {
        assert!(allows("mlx5", "mlx5_7", 2) && !allows("mlx5", "rxe0", 1));
        assert!(allows("=rxe0", "rxe0", 1) && !allows("=rxe0", "rxe01", 1));
        assert!(allows("rxe, mlx4", "mlx4_0", 1));
    }

    #[test]
    fn a_port_restricts_and_a_caret_excludes() {
        assert!(allows("mlx5_0:2", "mlx5_0", 2) && !allows("mlx5_0:2", "mlx5_0", 1));
        assert!(!allows("^mlx5_0:2", "mlx5_0", 2) && allows("^mlx5_0:2", "mlx5_0", 1));
        assert!(!allows("^=a,b", "b", 1) && allows("^=a,b", "b1", 1));
    }

    #[test]
    fn nonsense_is_refused_with_the_reason() {
        for (text, reason) in [
            ("", "name of a device"),
            ("^", "name of a device"),
            ("a,,b", "name of a device"),
            ("a:0", "from 1 to 255"),
            ("a:x", "from 1 to 255"),
            ("a,^b", "name of a device"),
        ] {
            let error = text.parse::<DeviceFilter>().unwrap_err().to_string();
            assert!(error.contains(reason), "{text:?}: {error}");
        }
    }
}
