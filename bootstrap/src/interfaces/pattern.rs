//! Which interfaces an entry of `if_include`, `if_exclude` or `NCCL_SOCKET_IFNAME` means.

use ipnet::IpNet;

use super::interface::Interface;

/// One entry of a list of interfaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// This name and no other.
    Name(String),
    /// Every name that begins so.
    Prefix(String),
    /// Every address in this network.
    Network(IpNet),
}

impl Pattern {
    /// `eth0`, `ib*`, `10.0.0.0/8`, `fd00::/64`; a bare address is a network of one.
    pub(super) fn parse(text: &str) -> Self {
        if let Ok(network) = text.parse::<IpNet>() {
            return Self::Network(network);
        }
        if let Ok(address) = text.parse::<std::net::IpAddr>() {
            return Self::Network(address.into());
        }
        match text.strip_suffix('*') {
            Some(prefix) => Self::Prefix(prefix.into()),
            None => Self::Name(text.into()),
        }
    }

    pub(super) fn matches(&self, interface: &Interface) -> bool {
        match self {
            Self::Name(name) => *name == interface.name,
            Self::Prefix(prefix) => interface.name.starts_with(prefix.as_str()),
            Self::Network(network) => network.contains(&interface.addr),
        }
    }
}

/// `NCCL_SOCKET_IFNAME` in its own syntax.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Nccl {
    /// The list says what not to use.
    pub(super) exclude: bool,
    /// The entries, with the text of each.
    pub(super) patterns: Vec<(String, Pattern)>,
}

impl Nccl {
    /// `[^][=]token,token`: tokens are prefixes unless `=` makes them exact.
    pub(super) fn parse(text: &str) -> Self {
        let (exclude, rest) = match text.trim().strip_prefix('^') {
            Some(rest) => (true, rest),
            None => (false, text.trim()),
        };
        let (exact, rest) = match rest.strip_prefix('=') {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let patterns = rest
            .split(',')
            .map(str::trim)
            .filter(|token| !token.is_empty())
            .map(|token| {
                let pattern = if exact { Pattern::Name(token.into()) } else { Pattern::Prefix(token.into()) };
                (token.to_string(), pattern)
            })
            .collect();
        Self { exclude, patterns }
    }
}
