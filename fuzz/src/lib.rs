//! One function per fuzz target: bytes in, a panic when a promise is broken.
//!
//! libFuzzer calls them through the thin files in `targets/`; `examples/smoke.rs` calls the same
//! functions with seeded random input on any toolchain. A function never keeps anything from one
//! call to the next, so that a failing input fails alone.

#![forbid(unsafe_code)]

mod collectives;
mod header;
mod network;
mod settings;

pub use collectives::{checker, schedule};
pub use header::header;
pub use network::{control, shm, tcp, verbs};
pub use settings::{secret, settings, toml};

/// A target: its name and its function.
pub type Target = (&'static str, fn(&[u8]));

/// Every target, as `cargo fuzz list` names them.
pub const TARGETS: [Target; 10] = [
    ("checker", checker),
    ("control", control),
    ("header", header),
    ("schedule", schedule),
    ("secret", secret),
    ("settings", settings),
    ("shm", shm),
    ("tcp", tcp),
    ("toml", toml),
    ("verbs", verbs),
];
