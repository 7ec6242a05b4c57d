//! The transport itself: everything that needs a device.
//!
//! ```text
//! transport.rs   what the runtime calls          peer.rs       what is known about one peer
//! connect.rs     queue pairs come to be          link.rs       the queue pairs of one peer
//! sending.rs     messages and puts go out        lane.rs       one queue pair with its slots and credits
//! receiving.rs   completions come in             oob.rs        the out-of-band channel and its messages
//! shutdown.rs    connections end                 devices.rs    which devices there are
//! watch.rs       time, ports and devices         memlock.rs    memory that may be pinned
//! device/        foreign functions, and all that is unsafe
//! ```

mod connect;
mod device;
mod devices;
mod lane;
mod link;
mod memlock;
mod oob;
mod peer;
mod receiving;
mod sending;
mod shutdown;
mod transport;
mod watch;

pub use devices::available_devices;
pub use transport::Ibverbs;
