//! From text to types: sizes, durations, the master's address, transports and Slurm's node lists.
//!
//! Pure. Every function answers what was expected when the text does not fit; the caller adds which
//! setting it was and where it came from.

use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

/// Bytes: a number with an optional binary suffix, such as `64K`, `64KiB` or `1M`.
pub(crate) fn size(text: &str) -> Result<usize, String> {
    let expected = "expected a number of bytes, such as 65536, 64K or 1M";
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let shift = match suffix.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        _ => return Err(expected.into()),
    };
    let number: usize = number.parse().map_err(|_| expected.to_string())?;
    number.checked_mul(1 << shift).ok_or_else(|| "too large for this machine".into())
}

/// No duration is longer: any clock can still say when it will be over.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// A duration: seconds without a unit, or with one as in `500ms` or `2min`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let expected = || "expected a duration, such as 30, 30s or 500ms, of at most 100 years".to_string();
    let duration = match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).map_err(|_| expected()),
        Err(_) => humantime::parse_duration(text).map_err(|_| expected()),
    };
    duration.and_then(|duration| if duration > LONGEST { Err(expected()) } else { Ok(duration) })
}

/// A duration, or `none` (or 0) for one without end.
pub(crate) fn none_or_duration(text: &str) -> Result<Option<Duration>, String> {
    match text.to_ascii_lowercase().as_str() {
        "none" | "0" => Ok(None),
        _ => positive_duration(text).map(Some).map_err(|expected| format!("{expected}, or none")),
    }
}

/// A duration that must not be zero.
pub(crate) fn positive_duration(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err("expected a duration above zero".into()),
        duration => Ok(duration),
    }
}

/// A number, with the range in words for the error.
pub(crate) fn number<T: FromStr>(text: &str, expected: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("expected {expected}"))
}

/// A count of at least one.
pub(crate) fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("expected a whole number of at least 1".into()),
        Ok(count) => Ok(count),
    }
}

/// Yes or no.
pub(crate) fn flag(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        _ => Err("expected 1 or 0".into()),
    }
}

/// A list with commas; blanks around the entries and empty entries do not count.
pub(crate) fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|entry| !entry.is_empty()).map(Into::into).collect()
}

/// Splits a master's address into host and port: `n0`, `n0:29500`, `fd00::1`, `[fd00::1]:29500`.
pub(crate) fn node(text: &str) -> Result<(String, Option<u16>), String> {
    let expected = || {
        "expected a name, an IPv4 address or an IPv6 address, optionally with a port as in n0:29500 or \
         [fd00::1]:29500"
            .to_string()
    };
    let port = |text: &str| match text.parse::<u16>() {
        Ok(0) | Err(_) => Err(expected()),
        Ok(port) => Ok(port),
    };
    let is_v6 = |host: &str| {
        host.split('%').next().is_some_and(|address| address.parse::<std::net::Ipv6Addr>().is_ok())
    };
    if let Some(rest) = text.strip_prefix('[') {
        let (host, after) = rest.split_once(']').ok_or_else(expected)?;
        if !is_v6(host) {
            return Err(expected());
        }
        return match after.strip_prefix(':') {
            Some(digits) => Ok((host.into(), Some(port(digits)?))),
            None if after.is_empty() => Ok((host.into(), None)),
            None => Err(expected()),
        };
    }
    if text.parse::<IpAddr>().is_ok() || is_v6(text) {
        return Ok((text.into(), None));
    }
    let (host, port) = match text.split_once(':') {
        Some((host, digits)) => (host, Some(port(digits)?)),
        None => (text, None),
    };
    let name = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
    if host.is_empty() || !host.chars().all(name) {
        return Err(expected());
    }
    Ok((host.into(), port))
}

/// Which transports a world may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TransportChoice {
    /// Every transport that works here.
    #[default]
    Any,
    /// Only these, in this order of preference.
    Only(Vec<String>),
    /// All but these.
    Except(Vec<String>),
}

impl TransportChoice {
    /// Whether the transport of this name may be used.
    #[must_use]
    pub fn allows(&self, name: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Only(names) => names.iter().any(|n| n == name),
            Self::Except(names) => !names.iter().any(|n| n == name),
        }
    }

    /// Whether this only says what not to use.
    #[must_use]
    pub fn is_exclusion(&self) -> bool {
        matches!(self, Self::Except(_))
    }

    /// The names that were mentioned, so that their owner can refuse those it does not know.
    #[must_use]
    pub fn names(&self) -> &[String] {
        match self {
            Self::Any => &[],
            Self::Only(names) | Self::Except(names) => names,
        }
    }
}

impl FromStr for TransportChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (except, rest) = match text.strip_prefix('^') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let names: Vec<String> = list(rest).iter().map(|name| name.to_ascii_lowercase()).collect();
        let word = |name: &String| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        if names.is_empty() || !names.iter().all(word) {
            return Err(
                "expected transports as in `tcp,shm`, or exclusions as in `^ibverbs` with one ^ in front of all".into()
            );
        }
        Ok(if except { Self::Except(names) } else { Self::Only(names) })
    }
}

/// The first host of a Slurm node list: `n[003-010,12],m1` gives `n003`.
pub(crate) fn first_slurm_host(list: &str) -> Result<String, String> {
    let expected = || "expected a Slurm node list, such as n[001-004,7],gpu1".to_string();
    let mut host = String::new();
    let mut rest = list.trim();
    loop {
        let stop = rest.find(['[', ',', ']']).unwrap_or(rest.len());
        host.push_str(&rest[..stop]);
        match rest.as_bytes().get(stop) {
            None | Some(b',') => break,
            Some(b'[') => {
                let inside = &rest[stop + 1..];
                let end = inside.find(']').ok_or_else(expected)?;
                let first: String = inside[..end].chars().take_while(char::is_ascii_digit).collect();
                if first.is_empty() {
                    return Err(expected());
                }
                host.push_str(&first);
                rest = &inside[end + 1..];
            }
            Some(_) => return Err(expected()),
        }
    }
    if host.is_empty() { Err(expected()) } else { Ok(host) }
}
