//! The transport itself: everything that needs a device.
//!
//! ```text
//! transport.rs   what the runtime calls          peer.rs       what is known about one peer
//! meet.rs        queue pairs come to be          link.rs       the queue pairs of one peer
//! sending.rs     messages and puts go out        lane.rs       one queue pair with its slots and credits
//! receiving.rs   completions come in             door.rs       the side door and what is said there
//! part.rs        connections end                 survey.rs     which devices there are
//! watch.rs       time, ports and devices         device/       foreign functions, and all that is unsafe
//! ```

mod device;
mod door;
mod lane;
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
