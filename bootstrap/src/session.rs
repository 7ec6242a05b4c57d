//! A process's part in a world that has formed: who the others are, and what becomes of them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::client::{Client, Command, Formed};
use crate::event::{Hook, Report};
use crate::master::{MasterHandle, Outcome};
use crate::observe::Observer;
use crate::wire::{Member, TEXT_LIMIT, ToMaster, clip};

/// How long last words may take to reach the master and all others.
const LAST_WORDS: Duration = Duration::from_secs(3);
/// How long the process that serves the rendezvous stays for the others' sake when it leaves early; longer
/// than the master waits for them itself.
const CLOSING: Duration = Duration::from_secs(3);

/// The exit status of a process that gives the world up with `code`: its low byte, as the system takes it, but never
/// 0, which would make a success of it.
///
/// ```
/// # use ringworld_bootstrap::exit_status;
/// assert_eq!([3, -1, 0, 256].map(exit_status), [3, 255, 1, 1]);
/// ```
#[must_use]
pub fn exit_status(code: i32) -> u8 {
    let [low, ..] = code.to_le_bytes();
    low.max(1)
}

/// Membership of a world.
///
/// Dropping it without [`Session::finish`] counts as dying: the others are told at once.
pub struct Session {
    /// This process's rank.
    pub rank: usize,
    /// Number of ranks.
    pub size: usize,
    /// This rank's place among those of its host.
    pub local_rank: usize,
    /// Number of ranks on this host.
    pub local_size: usize,
    /// The random number that tells this job from all others.
    pub job: u64,
    /// The rank whose process serves the rendezvous, if one does.
    pub serving: Option<usize>,
    /// Who decides on later generations, if one process does alone; for `elastic` to read.
    pub(crate) arbiter: Option<Vec<u8>>,
    /// Everybody, by rank.
    pub members: Vec<Member>,
    /// Bytes received from the master until the world had formed; grows linearly with its size.
    pub bytes_received: u64,
    link: Mutex<Option<Client>>,
    master: Option<MasterHandle>,
    hook: Hook,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("rank", &self.rank).field("size", &self.size).finish_non_exhaustive()
    }
}

impl Session {
    pub(crate) fn new(
        job: u64,
        formed: Formed,
        link: Option<(Client, Option<MasterHandle>)>,
        hook: Hook,
    ) -> Self {
        let (client, master) = match link {
            Some((client, master)) => (Some(client), master),
            None => (None, None),
        };
        let Formed { rank, size, local_rank, local_size, serving, arbiter, members, bytes } = formed;
        Self {
            rank,
            size,
            local_rank,
            local_size,
            job,
            serving,
            arbiter,
            members,
            bytes_received: bytes,
            link: Mutex::new(client),
            master,
            hook,
        }
    }

    /// Whether this process serves the rendezvous.
    #[must_use]
    pub fn serves(&self) -> bool {
        self.master.is_some()
    }

    /// What those are to be told who come to the rendezvous later. Returns at once.
    pub(crate) fn announce(&self, running: Vec<u8>) {
        self.send(Command::Say(ToMaster::Running { running }));
    }

    /// Passes on what this rank has found out. Returns at once.
    pub fn report(&self, report: Report) {
        self.send(Command::Report(report));
    }

    /// Gives the world up. When this returns, all others have been told, or could not be within a few
    /// seconds. The process that serves the rendezvous stops doing so.
    pub fn abort(&self, code: i32, reason: String) {
        self.last_words(ToMaster::Abort { code, reason: clip(reason) }, Some(LAST_WORDS));
        self.close_master();
    }

    /// Tells all others that this rank has panicked, so that they can say more than that it is gone.
    /// Waits as [`Session::abort`] does.
    pub fn panicked(&self, message: &str) {
        self.last_words(ToMaster::Panicked { text: clip(message.into()) }, Some(LAST_WORDS));
    }

    /// Says goodbye. On the process that serves the rendezvous it returns when every other rank has
    /// said goodbye or died; elsewhere at once.
    pub fn finish(&self) {
        // The master answers unless it is lost, which ends the wait as well.
        self.last_words(ToMaster::Goodbye, None);
        self.disconnect();
        if let Some(master) = &self.master
            && let Some(Outcome::Failed(reason)) = master.wait(None)
        {
            tracing::error!("the master failed: {reason}");
        }
    }

    /// Leaves something behind, of which at most 16 KiB, before the goodbye: the master keeps it for those who still
    /// count on this rank when it has gone, and ask what it has done instead ([`Session::ask_left`]). Returns at once.
    pub fn leave_behind(&self, mut left: Vec<u8>) {
        left.truncate(TEXT_LIMIT);
        self.send(Command::Say(ToMaster::LeftBehind { left }));
    }

    /// Asks what a rank has left behind. The answer comes when it has left something, as
    /// [`ControlEvent::Left`](crate::ControlEvent::Left); there is none when it does not. Returns at once.
    pub fn ask_left(&self, rank: usize) {
        self.send(Command::Say(ToMaster::AskLeft { rank: rank as u64 }));
    }

    /// Says something to another rank, by way of the master: for what must arrive although no data connection stands,
    /// and for nothing that is long or frequent. Words of one rank to another keep their order, and come before what is
    /// told of that rank's end. They are lost where that rank has left, or has not read for so long that 16 MiB of such
    /// words wait for it. Returns at once.
    ///
    /// # Errors
    ///
    /// How many bytes there may be, when there are more.
    pub fn tell(&self, rank: usize, words: Vec<u8>) -> Result<(), usize> {
        if words.len() > TEXT_LIMIT {
            return Err(TEXT_LIMIT);
        }
        self.send(Command::Say(ToMaster::Tell { rank: rank as u64, words }));
        Ok(())
    }

    /// From now on `observer` says what this rank does, when the master asks. Returns at once.
    pub fn observe(&self, observer: Arc<dyn Observer>) {
        self.send(Command::Observe(observer));
    }

    /// A call of this rank has waited for longer than it should: has one of the ranks say why. Returns at once.
    pub fn stalled(&self) {
        self.send(Command::Say(ToMaster::Stalled));
    }

    /// Asks what everybody does. The answer is a [`ControlEvent::Story`](crate::ControlEvent::Story), within a second
    /// or two. Returns at once.
    pub fn ask_story(&self) {
        self.send(Command::Say(ToMaster::AskStory));
    }

    /// Leaves without a goodbye, after a failure. When this returns, all others have been told what this
    /// rank reported, or could not be within a few seconds: the process may end at once. The process that
    /// serves the rendezvous stops doing so.
    pub fn leave(&self) {
        // Only the answer shows that the master has read what was said before.
        self.last_words(ToMaster::Leaving, Some(LAST_WORDS));
        self.disconnect();
        self.close_master();
    }

    /// The others must have read what they were told before the process that serves them may end.
    fn close_master(&self) {
        if let Some(master) = &self.master {
            master.close(CLOSING);
        }
    }

    fn send(&self, command: Command) -> bool {
        let link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        link.as_ref().is_some_and(|client| client.send(command))
    }

    fn last_words(&self, words: ToMaster, limit: Option<Duration>) {
        if self.on_control_thread() {
            // Only the thread that would wait could bring the answer.
            self.send(Command::Say(words));
            return;
        }
        let (done, heard) = std::sync::mpsc::sync_channel(1);
        if self.send(Command::Last { words, done }) {
            // Bounded or not: the control thread drops `done` if it ends.
            let canary =
                self.link.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(Client::canary);
            if let Some(canary) = canary {
                canary.answer(&heard, limit);
            }
        }
    }

    fn on_control_thread(&self) -> bool {
        let link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        link.as_ref().is_some_and(Client::is_current)
    }

    fn disconnect(&self) {
        let client = self.link.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut client) = client {
            client.stop();
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.hook.set(None);
        let connected = self.link.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        if connected {
            self.leave();
        }
    }
}
