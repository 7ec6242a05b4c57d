//! # ringworld: collective communication in pure Rust
//!
//! A program links this crate, is started once per rank, and calls [`World::from_env`]; the ranks find
//! one another at a rendezvous address, without SSH, host files or a shared file system, and exchange
//! messages and collectives with MPI's semantics.
//!
//! ```no_run
//! use ringworld::{Op, World};
//!
//! fn main() -> ringworld::Result<()> {
//!     let world = World::from_env()?;
//!     let mut gradients = vec![world.rank() as f32; 1_000_000];
//!     world.all_reduce(&mut gradients, Op::Sum)?;
//!     if world.rank() == 0 {
//!         println!("{} ranks, first element {}", world.size(), gradients[0]);
//!     }
//!     world.finish()
//! }
//! ```
//!
//! ```text
//! MASTER_NODE=n0 MASTER_PORT=29500 NUM_NODES=4 ./trainer      # the same line on every host
//! ringworld run -n 8 -- ./trainer                             # or: all ranks of one host
//! ```
//!
//! # From mpi4py, rsmpi, torch.distributed
//!
//! | | mpi4py | rsmpi | `torch.distributed` | here |
//! |---|---|---|---|---|
//! | start | `MPI.COMM_WORLD` | `mpi::initialize()` | `init_process_group()` | [`World::from_env`] |
//! | who am I | `Get_rank()`, `Get_size()` | `rank()`, `size()` | `get_rank()`, `get_world_size()` | [`rank`], [`size`] |
//! | a message | `Send`, `Recv` | `process_at_rank(r).send` | `send`, `recv` | [`send`], [`recv`] |
//! | combine | `Allreduce` | `all_reduce_into` | `all_reduce` | [`all_reduce`] |
//! | and compute meanwhile | `Iallreduce` | `immediate_all_reduce_into` | `async_op=True` | [`start_all_reduce`], [`scope`] |
//! | anything else | `bcast` | | `broadcast_object_list` | [`broadcast_object`] |
//! | some of the ranks | `Split` | `split_by_color` | `new_group` | [`split`], [`create`] |
//! | end | | | `destroy_process_group()` | [`World::finish`], or a drop |
//! | run | `mpiexec -n 8` | `mpiexec -n 8` | `torchrun --nproc-per-node 8` | `ringworld run -n 8` |
//!
//! The search of these pages knows the names of all three, and those of MPI and NCCL; `docs/mpi.md` in the repository
//! has every call of MPI.
//!
//! [`rank`]: Communicator::rank
//! [`size`]: Communicator::size
//! [`send`]: Communicator::send
//! [`recv`]: Communicator::recv
//! [`all_reduce`]: Communicator::all_reduce
//! [`start_all_reduce`]: Communicator::start_all_reduce
//! [`scope`]: Communicator::scope
//! [`broadcast_object`]: Communicator::broadcast_object
//! [`split`]: Communicator::split
//! [`create`]: Communicator::create
//!
//! # What it promises
//!
//! * **Correct**: MPI's rules for messages ([`Communicator`]); a collective gives every rank the same
//!   bits, and the same again on the next run. Ranks that disagree about a collective get
//!   [`Error::Mismatch`], never wrong numbers.
//! * **Fails together, fast, by name**: when a rank dies, every other rank's pending call ends with an
//!   error that names the rank, its host and the operation.
//! * **Bounded memory**: a sender that outruns a receiver is held back.
//!
//! # What it does not
//!
//! Of MPI it leaves out one-sided communication, dynamic processes, derived datatypes and parallel files. After a
//! failure the world is over: restart it (from a checkpoint).
//!
//! # What travels
//!
//! Slices of any [`Pod`](bytemuck::Pod): numbers, [`bf16`] and [`struct@f16`], [`Complex`], arrays of these, and
//! structs of plain data. A program that does not name `bytemuck` among its own dependencies says where it is:
//!
//! ```
//! use ringworld::bytemuck::{Pod, Zeroable};
//!
//! #[derive(Clone, Copy, Pod, Zeroable)]
//! #[bytemuck(crate = "ringworld::bytemuck")]
//! #[repr(C)]
//! struct Particle {
//!     position: [f64; 3],
//!     mass: f64,
//! }
//! ```
//!
//! Whatever else serde can write travels as an object: [`Communicator::send_object`],
//! [`Communicator::broadcast_object`] and their like.
//!
//! # Where things are
//!
//! [`World`] is the rendezvous and derefs to the [`Communicator`] of all ranks, which has the calls.
//! Blocking calls borrow their buffers; `start_*` calls take owned buffers and return a [`Pending`],
//! which is also a future; [`Communicator::scope`] begins operations on borrowed buffers that end with the
//! scope; `prepare_*` calls make a [`Prepared`] that is started many times. [`Communicator::register`] prepares
//! memory of many transfers for network cards. All calls are thread-safe; a [`Pending`] is awaited under any executor.
//! Unit tests run their ranks as threads, by [`testing::ranks`]. `ARCHITECTURE.md` in the repository has the picture
//! behind it, `docs/settings.md` every setting.

#![deny(unsafe_code)]

// In the order in which the page of `Communicator` shows what it can do; so are the modules in these.
mod communicator;

mod message;

mod collective;

mod request;

pub mod foreign;

mod error;
pub mod testing;
mod world;

// Aliases of types and of functions stand here: rustdoc forgets those that stand where such an item is defined. Those
// of methods and of variants it keeps.

/// What elements are plain data is said by this crate: derive its `Pod` and `Zeroable` for types of your own.
#[doc(alias = "Equivalence")]
pub use bytemuck;
#[doc(alias("DDP", "DistributedDataParallel"))]
pub use collective::Buckets;
#[doc(alias("Create_cart", "Cartcomm", "CartesianCommunicator"))]
pub use communicator::Cartesian;
#[doc(alias("MPI_Comm", "MPI_Comm_free", "Intracomm", "ProcessGroup"))]
pub use communicator::Communicator;
#[doc(alias = "MPI_Group")]
pub use communicator::Group;
#[doc(alias = "MPI_Info")]
pub use communicator::Options;
pub use communicator::{Comparison, Offered, Selection, Shift, eager_limit, selections};
#[doc(alias("MPI_Errhandler_set", "MPI_Error_string", "MPI_ERRORS_RETURN", "DistBackendError"))]
pub use error::Error;
pub use error::Result;
#[doc(alias = "bfloat16")]
pub use half::bf16;
#[doc(alias("float16", "half"))]
pub use half::f16;
#[doc(alias = "MPI_Message")]
pub use message::Message;
#[doc(alias("PROC_NULL", "MPI_PROC_NULL"))]
pub use message::RecvFrom;
#[doc(alias("MPI_Status", "Get_source", "Get_tag"))]
pub use message::Status;
pub use message::{Source, Tag};
pub use num_complex::Complex;
#[doc(alias("MPI_Request_free", "async_op", "Work"))]
pub use request::Pending;
#[doc(alias("persistent", "Prequest"))]
pub use request::Prepared;
#[doc(alias("MPI_Alloc_mem", "MPI_Free_mem"))]
pub use request::Registered;
#[doc(alias = "MPI_Request")]
pub use request::Request;
#[doc(alias("LocalScope", "WaitGuard"))]
pub use request::Scope;
#[doc(alias("MPI_Testany", "MPI_Testsome", "test_some"))]
pub use request::test_any;
#[doc(alias("MPI_Waitall", "MPI_Testall", "RequestCollection"))]
pub use request::wait_all;
#[doc(alias("MPI_Waitany", "MPI_Waitsome", "wait_some"))]
pub use request::wait_any;
pub use request::{Outcome, PendingMessage, PendingObject, Running, Scoped, ScopedOutcome};
#[doc(alias("MPI_Datatype", "Datatype"))]
pub use ringworld_engine::DType;
#[doc(alias("MPI_Op", "ReduceOp", "SystemOperation"))]
pub use ringworld_engine::Op;
#[doc(alias = "UserOperation")]
pub use ringworld_engine::UserOp;
pub use ringworld_engine::{Locatable, Located, Raw, Reducible, Reduction, Scaled};
#[doc(alias(
    "MPI_COMM_WORLD",
    "MPI.COMM_WORLD",
    "COMM_WORLD",
    "SystemCommunicator",
    "SimpleCommunicator"
))]
pub use world::World;
#[doc(alias = "backend")]
pub use world::available_transports;
pub use world::{
    Builder, CallStatistics, PeerStatistics, Route, SharedState, StateVector, Statistics, TransportReport,
    compiled_in as transports,
};
#[doc(hidden)]
pub use world::{logging, pair};
