//! Who this host is: its name for people, its identity for grouping ranks.

use std::hash::Hasher as _;

use fnv::FnvHasher;

/// Name of this host, for messages. Never resolved to an address.
#[must_use]
pub fn host_name() -> String {
    gethostname::gethostname().to_string_lossy().into_owned()
}

/// The same for two processes exactly when they run on the same host: same boot, same network
/// namespace, same name. Namespaces count as hosts because addresses differ between them.
pub(crate) fn host_identity() -> u64 {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = std::fs::read_link("/proc/self/ns/net")
        .map(|link| link.to_string_lossy().into_owned())
        .unwrap_or_default();
    // FNV-1a: processes built by different compilers must agree, which `DefaultHasher` does not promise.
    let mut hash = FnvHasher::default();
    for part in [boot.trim(), &namespace, &host_name()] {
        hash.write(part.as_bytes());
        hash.write(&[0]);
    }
    hash.finish()
}
