//! Who this host is: its name for people, its identity for grouping ranks.

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
    let mut hash = Fnv::default();
    for part in [boot.trim(), &namespace, &host_name()] {
        hash.write(part.as_bytes());
        hash.write(&[0]);
    }
    hash.0
}

/// FNV-1a: processes built by different compilers must agree, which `DefaultHasher` does not promise.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
