//! The transport itself: everything that needs a device.
//!
//! ```text
//! transport.rs   what the runtime calls          peer.rs       what is known about one peer
//! meet.rs        queue pairs come to be          link.rs       one queue pair with its slots and credits
//! sending.rs     messages and puts go out        door.rs       the side door and what is said there
//! receiving.rs   completions come in             survey.rs     which devices there are
//! part.rs        connections end                 device/       foreign functions, and all that is unsafe
//! watch.rs       time, ports and devices
//! ```

mod device;
mod door;
mod link;
mod meet;
mod part;
mod peer;
mod receiving;
mod sending;
mod survey;
mod transport;
mod watch;

pub use survey::survey;
pub use transport::Ibverbs;
