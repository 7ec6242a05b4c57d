//! What an engine is made of, and how it reaches the control plane.

use std::sync::Arc;
use std::time::Duration;

use ringworld_trace::Recorder;
use ringworld_transport::Transport;

use super::fault::Fault;
use super::inbox::Inbox;
use super::last_calls::LastCalls;
use super::limits::Limits;
use super::wait::Spin;

/// How the engine tells the rest of the world; served by the bootstrap session.
pub trait Control: Send + Sync {
    /// The data plane has lost a peer.
    fn peer_lost(&self, rank: usize, cause: &str);
    /// This rank has found a fault that every rank must hear of.
    fn fault(&self, fault: &Fault);
    /// This rank is about to leave in good order, and had called these last.
    fn leave_behind(&self, calls: LastCalls);
    /// Asks what a rank that has left in good order had called last. The answer, if there is one, is a notice.
    fn ask_last_calls(&self, rank: usize);
    /// A call of this rank has waited for as long as it should be said why.
    fn stalled(&self);
    /// A call of this rank will soon have waited for too long: asks what everybody does. The answer, if there is one,
    /// is a notice.
    fn ask_story(&self);
}

/// No world beyond this process, or one that needs no telling (simulation).
pub struct NoControl;

impl Control for NoControl {
    fn peer_lost(&self, _: usize, _: &str) {}
    fn fault(&self, _: &Fault) {}
    fn leave_behind(&self, _: LastCalls) {}
    fn ask_last_calls(&self, _: usize) {}
    fn stalled(&self) {}
    fn ask_story(&self) {}
}

/// What an engine is made of.
pub struct Parts {
    /// This process's rank in the world.
    pub rank: usize,
    /// This rank's number among the ranks of this host, and how many they are.
    pub local: (usize, usize),
    /// The name of each rank's host, for messages.
    pub hosts: Arc<[String]>,
    /// The transports, which know all ranks.
    pub transports: Vec<Box<dyn Transport>>,
    /// For each rank, which transport reaches it; `None` for this rank itself.
    pub routes: Vec<Option<usize>>,
    /// How much is sent without asking.
    pub limits: Limits,
    /// The control plane.
    pub control: Arc<dyn Control>,
    /// Where the control plane leaves its news.
    pub inbox: Arc<Inbox>,
    /// How long waiting threads poll.
    pub spin: Spin,
    /// A call that has heard nothing for so long ends the world.
    pub op_timeout: Option<Duration>,
    /// A call that has waited for so long is told to the control plane, and again after as long.
    pub stall_warning: Option<Duration>,
    /// A call that has waited in vain for so long tells those it waits for what it is.
    pub remind: Duration,
    /// Where this rank notes what it does, if it is traced.
    pub trace: Option<Recorder>,
}
