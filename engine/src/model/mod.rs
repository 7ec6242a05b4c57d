//! The engine's threads, played through by a model checker: the shell, the waiting, the helper, the inbox and the calls
//! are the real ones, what they drive is a toy, and the checker chooses who runs. A thread that sleeps through what it
//! waits for is a deadlock, and is found; time never helps, because in the model nobody wakes by it.
//!
//! Run by `ci/model.sh`: `RUSTFLAGS="--cfg ringworld_model" cargo test -p ringworld-engine --lib model`. A failure
//! prints the schedule that leads to it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

use shuttle::sync::{Condvar, Mutex};
use shuttle::thread;

use super::buffer::{Buffers, Kept};
use super::calls::{CallId, Calls};
use super::inbox::{Inbox, Left, Notice};
use super::notifier::Readable;
use super::shell::{Drive, Shell};
use super::wait::{For, Manners, Spin, Waits};
use super::waiters::{Topic, Watchers};

/// What comes in from the other side: numbers, and what it has been sent.
#[derive(Default)]
struct Wire {
    readable: Arc<Readable>,
    incoming: Mutex<VecDeque<u32>>,
    sent: Mutex<Vec<u32>>,
    heard: Condvar,
}

impl Wire {
    /// The other side sends all of these at once.
    fn say(&self, numbers: &[u32]) {
        self.incoming.lock().unwrap().extend(numbers);
        self.readable.set(true);
    }

    fn take(&self) -> Vec<u32> {
        let mut incoming = self.incoming.lock().unwrap();
        let taken = incoming.drain(..).collect();
        self.readable.set(false);
        taken
    }

    /// The other side waits until it has been sent a number.
    fn wait_for(&self, number: u32) {
        let mut sent = self.sent.lock().unwrap();
        while !sent.contains(&number) {
            sent = self.heard.wait(sent).unwrap();
        }
    }
}

/// Receives by number, keeps what nobody has asked for, and sends at the next poll.
struct Toy {
    wire: Arc<Wire>,
    inbox: Arc<Inbox>,
    calls: Calls,
    watchers: Watchers,
    buffers: Buffers,
    posted: Vec<(u32, CallId)>,
    unexpected: Vec<u32>,
    deferred: Vec<u32>,
    polls: u64,
}

impl Toy {
    fn shell() -> (Arc<Shell<Self>>, Arc<Wire>) {
        let (wire, inbox) = (Arc::new(Wire::default()), Arc::new(Inbox::default()));
        let manners = Manners {
            spin: Spin::NONE,
            op_timeout: None,
            stall_warning: None,
            remind: Duration::MAX,
            local: (0, 1),
        };
        let waits = Waits::new(vec![Arc::clone(&wire.readable)], false, Arc::clone(&inbox), &manners);
        let toy = Self {
            wire: Arc::clone(&wire),
            inbox,
            calls: Calls::default(),
            watchers: Watchers::default(),
            buffers: Buffers::new(),
            posted: Vec::new(),
            unexpected: Vec::new(),
            deferred: Vec::new(),
            polls: 0,
        };
        (Shell::around(toy, (), waits), wire)
    }

    /// Begins to receive a number.
    fn receive(&mut self, number: u32) -> CallId {
        let call = self.calls.insert([None, None]);
        match self.unexpected.iter().position(|other| *other == number) {
            Some(at) => {
                self.unexpected.swap_remove(at);
                self.calls.end(call, Ok(None), &mut self.buffers);
            }
            None => self.posted.push((number, call)),
        }
        call
    }

    fn has(&self, number: u32) -> bool {
        self.unexpected.contains(&number)
    }

    fn flush(&mut self) {
        if !self.deferred.is_empty() {
            self.wire.sent.lock().unwrap().append(&mut self.deferred);
            self.wire.heard.notify_all();
        }
    }
}

impl Drive for Toy {
    type Known = ();

    fn progress(&mut self) -> bool {
        self.polls += 1;
        if self.inbox.is_full() {
            self.read_inbox();
        }
        self.flush();
        let incoming = self.wire.take();
        let moved = !incoming.is_empty();
        for number in incoming {
            match self.posted.iter().position(|(other, _)| *other == number) {
                Some(at) => {
                    let (_, call) = self.posted.swap_remove(at);
                    self.calls.end(call, Ok(None), &mut self.buffers);
                }
                None => {
                    self.unexpected.push(number);
                    self.watchers.notify(Topic::Message(0));
                }
            }
        }
        if moved {
            self.watchers.notify(Topic::End);
        }
        moved
    }

    fn polls(&self) -> u64 {
        self.polls
    }

    fn has_work(&self) -> bool {
        self.calls.under_way() > 0 || !self.deferred.is_empty()
    }

    fn owes(&self) -> bool {
        !self.deferred.is_empty()
    }

    fn catch_up(&mut self) {
        self.flush();
    }

    fn arm(&mut self) -> Option<Option<Duration>> {
        (self.deferred.is_empty() && !self.inbox.is_full()).then_some(None)
    }

    fn has_sleepers(&self) -> bool {
        self.inbox.has_sleepers()
    }

    fn wake_sleepers(&mut self) {
        if self.arm() != Some(None) {
            self.inbox.wake();
        }
    }

    fn read_inbox(&mut self) {
        while let Some(notice) = self.inbox.pop() {
            self.notice(notice);
        }
    }

    fn notice(&mut self, notice: Notice) {
        if let Notice::Left(Left { call: Some(call), memory, .. }) = notice {
            self.calls.detach(call, memory);
        }
    }

    fn remind(&mut self, _: For<'_>) {}

    fn time_out(&mut self, _: For<'_>, _: Duration, _: String) {}

    fn sleeps(&mut self, _: For<'_>, _: Instant) -> u64 {
        0
    }

    fn wakes(&mut self, _: u64) {}

    fn stalls(&mut self) {}

    fn ask_story(&mut self) {}

    fn calls(&mut self) -> &mut Calls {
        &mut self.calls
    }

    fn watchers(&mut self) -> &mut Watchers {
        &mut self.watchers
    }

    fn awaited(&self) -> usize {
        self.calls.awaited() + self.watchers.tasks()
    }

    fn has_leaving(&self) -> bool {
        !(self.calls.leaving.is_empty() && self.watchers.leaving.is_empty())
    }
}

impl Shell<Toy> {
    /// A blocking receive.
    fn recv(self: &Arc<Self>, number: u32) {
        let mut core = self.lock();
        let call = core.receive(number);
        self.end_of(core, call, |_| String::new()).unwrap();
    }

    /// A blocking probe.
    fn probe(self: &Arc<Self>, number: u32) {
        let found = |core: &mut Toy| core.has(number).then_some(());
        self.wait_until(For::Topic(Topic::Message(0)), found, |_| String::new());
    }

    /// A receive that a task awaits: registers as a future does.
    fn poll_call(self: &Arc<Self>, call: CallId, waker: &Waker) -> bool {
        let ended = Shell::poll(
            self,
            waker,
            |core| core.calls.take_ending(call),
            |core, waker| core.calls.wake_task(call, waker),
        );
        ended.is_some()
    }
}

/// An executor of one task.
#[derive(Default)]
struct Executor {
    woken: Mutex<bool>,
    changed: Condvar,
}

impl Wake for Executor {
    fn wake(self: Arc<Self>) {
        *self.woken.lock().unwrap() = true;
        self.changed.notify_all();
    }
}

impl Executor {
    fn run(self: &Arc<Self>, mut poll: impl FnMut(&Waker) -> bool) {
        let waker = Waker::from(Arc::clone(self));
        while !poll(&waker) {
            let mut woken = self.woken.lock().unwrap();
            while !*woken {
                woken = self.changed.wait(woken).unwrap();
            }
            *woken = false;
        }
    }
}

/// So many schedules by chance, and as many by few, well placed changes of thread.
fn check(scenario: fn()) {
    let count = std::env::var("RINGWORLD_MODEL_SCHEDULES").ok();
    let count = count.map_or(2_000, |text| text.parse().expect("RINGWORLD_MODEL_SCHEDULES is a number"));
    shuttle::check_random(scenario, count);
    shuttle::check_pct(scenario, count, 3);
}

/// One thread probes while another receives: whoever reads the wire wakes the other.
#[test]
fn a_probe_is_not_slept_through_when_another_thread_reads_the_message() {
    check(|| {
        let (shell, wire) = Toy::shell();
        let threads = [
            thread::spawn({
                let shell = Arc::clone(&shell);
                move || shell.probe(5)
            }),
            thread::spawn({
                let shell = Arc::clone(&shell);
                move || shell.recv(6)
            }),
        ];
        wire.say(&[5, 6]);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// Two receive, each what the other may read.
#[test]
fn receivers_wake_one_another() {
    check(|| {
        let (shell, wire) = Toy::shell();
        let threads = [1, 2, 3].map(|number| {
            let shell = Arc::clone(&shell);
            thread::spawn(move || shell.recv(number))
        });
        wire.say(&[3]);
        wire.say(&[1, 2]);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// What a call leaves for the next poll leaves although its thread never comes back, and another sleeps.
#[test]
fn what_a_call_puts_off_is_sent_by_those_who_sleep_or_by_the_helper() {
    check(|| {
        let (shell, wire) = Toy::shell();
        shell.help();
        let receiver = thread::spawn({
            let shell = Arc::clone(&shell);
            move || shell.recv(1)
        });
        let sender = thread::spawn({
            let shell = Arc::clone(&shell);
            move || {
                shell.lock().deferred.push(9);
                shell.help();
            }
        });
        wire.wait_for(9);
        wire.say(&[1]);
        receiver.join().unwrap();
        sender.join().unwrap();
    });
}

/// A task has the helper, also while and after another thread waits in a call.
#[test]
fn a_task_is_woken_whoever_drives() {
    check(|| {
        let (shell, wire) = Toy::shell();
        shell.help();
        let receiver = thread::spawn({
            let shell = Arc::clone(&shell);
            move || shell.recv(1)
        });
        let task = thread::spawn({
            let shell = Arc::clone(&shell);
            move || {
                let call = shell.lock().receive(2);
                shell.help();
                Arc::new(Executor::default()).run(|waker| shell.poll_call(call, waker));
            }
        });
        wire.say(&[1]);
        receiver.join().unwrap();
        wire.say(&[2]);
        task.join().unwrap();
    });
}

/// A program that starts something and then does something else is driven for, again and again.
#[test]
fn the_helper_drives_for_a_program_that_only_starts() {
    check(|| {
        let (shell, wire) = Toy::shell();
        for round in 0..2 {
            let mut core = shell.lock();
            let call = core.receive(round);
            core.deferred.push(10 + round);
            drop(core);
            shell.help();
            // The answer comes from the other side, and this thread makes no call meanwhile.
            wire.wait_for(10 + round);
            wire.say(&[round]);
            shell.end_of(shell.lock(), call, |_| String::new()).unwrap();
        }
    });
}

/// The end is waited for by one thread and brought about by another.
#[test]
fn a_step_to_the_end_that_another_thread_takes_is_not_slept_through() {
    check(|| {
        let (shell, wire) = Toy::shell();
        let closer = thread::spawn({
            let shell = Arc::clone(&shell);
            move || {
                let over = |core: &mut Toy| core.has(7).then_some(());
                shell.wait_until(For::Topic(Topic::End), over, |_| String::new());
            }
        });
        let other = thread::spawn({
            let shell = Arc::clone(&shell);
            move || shell.recv(8)
        });
        wire.say(&[7]);
        wire.say(&[8]);
        closer.join().unwrap();
        other.join().unwrap();
    });
}

/// Memory that a destructor leaves goes when its operation ends, whoever has the lock at the time.
#[test]
fn memory_that_is_left_goes_with_its_operation() {
    struct Counted(Arc<AtomicUsize>);
    impl Kept for Counted {
        fn received(&self) -> Option<&[u8]> {
            None
        }
    }
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    check(|| {
        let (shell, wire) = Toy::shell();
        shell.help();
        let freed = Arc::new(AtomicUsize::new(0));
        let call = shell.lock().receive(1);
        shell.help();
        let receiver = thread::spawn({
            let shell = Arc::clone(&shell);
            move || shell.recv(2)
        });
        let memory = Box::new(Counted(Arc::clone(&freed)));
        let left = Left { call: Some(call), registrations: Default::default(), memory };
        shell.hand_over(Notice::Left(left));
        assert_eq!(freed.load(Ordering::SeqCst), 0, "its operation is under way");
        wire.say(&[1]);
        wire.say(&[2]);
        receiver.join().unwrap();
        // Whatever still lies in the inbox is read by the next who drives.
        shell.lock().progress();
        assert_eq!(freed.load(Ordering::SeqCst), 1);
    });
}
