//! Waiters: who is to be woken, and for what besides the end of an operation.
//!
//! Whoever waits for something says so here or in its call, under the engine's lock and in the same hold of it in which
//! it has seen that the thing is not there yet; whoever brings the thing about notifies it. So nobody sleeps through
//! what he waits for, and nobody needs to look from time to time. A waiter may be woken in vain, and looks again.
//!
//! Threads are rung at once: that is one system call. Tasks are woken after the lock has been given back, because what
//! a waker does is the user's, and may call the engine again. So is what is done when the last of a user's operation is
//! dropped, which therefore leaves with them.

use std::sync::Arc;
use std::task::Waker;

use super::notifier::Notifier;
use super::reduce::Operation;

/// Who waits.
pub(super) enum Waiter {
    Thread(Arc<Notifier>),
    Task(Waker),
}

/// What to wait for that is no operation's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// A message that nobody has asked for, in this context; or that no more can come.
    Message(u64),
    /// A step towards the end of this rank's part.
    End,
}

/// A task that waits for nothing here any more, or an operation that nobody has any more.
enum Task {
    Wake(Waker),
    Forget(Waker),
    Drop(Operation),
}

/// Tasks to wake or to forget once the lock has been given back, and operations to drop.
#[derive(Default)]
pub(super) struct Tasks(Vec<Task>);

impl Tasks {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn forget(&mut self, waker: Waker) {
        self.0.push(Task::Forget(waker));
    }

    pub(super) fn wake(&mut self, waker: Waker) {
        self.0.push(Task::Wake(waker));
    }

    pub(super) fn drop(&mut self, operation: Operation) {
        self.0.push(Task::Drop(operation));
    }

    /// To be called without the engine's lock. A waker that panics takes nothing from the others, nor from the thread
    /// that happens to be here: the panic hook has told of it.
    pub(super) fn leave(self) {
        for task in self.0 {
            let what = match task {
                Task::Wake(_) | Task::Forget(_) => {
                    "the waker of a task panicked; that task may never hear of what it waits for"
                }
                Task::Drop(_) => "what a user-defined operation keeps panicked when it was dropped",
            };
            let left = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| match task {
                Task::Wake(waker) => waker.wake(),
                Task::Forget(waker) => drop(waker),
                Task::Drop(operation) => drop(operation),
            }));
            if let Err(panic) = left {
                ringworld_transport::error!("{what}");
                // What was thrown may throw when it is dropped.
                std::mem::forget(panic);
            }
        }
    }
}

/// Names a task's entry, so that it can be taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchId(u64);

struct Watch {
    id: WatchId,
    topic: Topic,
    waiter: Waiter,
}

/// Those who wait for a [`Topic`]. Mostly nobody, so each use asks that first.
#[derive(Default)]
pub struct Watchers {
    list: Vec<Watch>,
    next: u64,
    /// How many of them are tasks.
    tasks: usize,
    /// Until the lock is given back.
    pub(super) leaving: Tasks,
}

impl Watchers {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// How many tasks wait here.
    pub(super) fn tasks(&self) -> usize {
        self.tasks
    }

    fn add(&mut self, topic: Topic, waiter: Waiter) -> WatchId {
        let id = WatchId(self.next);
        self.next += 1;
        self.tasks += usize::from(matches!(waiter, Waiter::Task(_)));
        self.list.push(Watch { id, topic, waiter });
        id
    }

    /// The thread of `notifier` is about to sleep until there is news of `topic`.
    pub(super) fn add_thread(&mut self, topic: Topic, notifier: &Arc<Notifier>) {
        let known = |watch: &Watch| {
            watch.topic == topic
                && matches!(&watch.waiter, Waiter::Thread(other) if Arc::ptr_eq(other, notifier))
        };
        if !self.list.iter().any(known) {
            self.add(topic, Waiter::Thread(Arc::clone(notifier)));
        }
    }

    /// A task waits for news of `topic`. The entry goes with the news, or by [`Watchers::remove`].
    pub(crate) fn add_task(&mut self, topic: Topic, waker: Waker) -> WatchId {
        self.add(topic, Waiter::Task(waker))
    }

    /// The thread of `notifier` waits for nothing here any more.
    pub(super) fn remove_thread(&mut self, notifier: &Arc<Notifier>) {
        self.list
            .retain(|watch| !matches!(&watch.waiter, Waiter::Thread(other) if Arc::ptr_eq(other, notifier)));
    }

    /// A task waits no more, if it still did.
    pub(crate) fn remove(&mut self, id: WatchId) {
        if let Some(at) = self.list.iter().position(|watch| watch.id == id)
            && let Waiter::Task(waker) = self.list.swap_remove(at).waiter
        {
            self.tasks -= 1;
            self.leaving.forget(waker);
        }
    }

    /// There is news of `topic`.
    pub(super) fn notify(&mut self, topic: Topic) {
        self.notify_if(|of| of == topic);
    }

    /// There may be news of everything that is meant.
    pub(super) fn notify_if(&mut self, meant: impl Fn(Topic) -> bool) {
        let mut at = 0;
        while let Some(watch) = self.list.get(at) {
            if !meant(watch.topic) {
                at += 1;
                continue;
            }
            match self.list.swap_remove(at).waiter {
                Waiter::Thread(notifier) => notifier.notify(),
                Waiter::Task(waker) => {
                    self.tasks -= 1;
                    self.leaving.wake(waker);
                }
            }
        }
    }
}

#[cfg(all(test, not(ringworld_model)))]
mod tests {
    use super::super::reduce::{Kernel, UserOp};
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            assert!(self.0.fetch_add(1, Ordering::SeqCst) < 1, "woken twice");
        }
    }

    struct Panics;

    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            std::panic::resume_unwind(Box::new("a waker that panics"));
        }
    }

    #[test]
    fn only_those_who_wait_for_the_news_are_woken_and_only_once() {
        let mut watchers = Watchers::default();
        let counts: Vec<_> = (0..3).map(|_| Arc::new(Count(AtomicUsize::new(0)))).collect();
        let waker = |index: usize| Waker::from(Arc::clone(&counts[index]));
        watchers.add_task(Topic::Message(2), waker(0));
        watchers.add_task(Topic::Message(4), waker(1));
        let gone = watchers.add_task(Topic::Message(2), waker(2));
        watchers.remove(gone);
        watchers.notify(Topic::Message(2));
        watchers.notify(Topic::Message(2));
        std::mem::take(&mut watchers.leaving).leave();
        let woken: Vec<_> = counts.iter().map(|count| count.0.load(Ordering::SeqCst)).collect();
        assert_eq!((woken, watchers.tasks()), (vec![1, 0, 0], 1));
    }

    #[test]
    fn a_waker_that_panics_takes_nothing_from_the_others() {
        let mut watchers = Watchers::default();
        let count = Arc::new(Count(AtomicUsize::new(0)));
        watchers.add_task(Topic::End, Waker::from(Arc::new(Panics)));
        watchers.add_task(Topic::End, Waker::from(Arc::clone(&count)));
        watchers.notify(Topic::End);
        std::mem::take(&mut watchers.leaving).leave();
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
    }

    struct Thrown(Arc<AtomicUsize>);

    impl Drop for Thrown {
        fn drop(&mut self) {
            assert!(self.0.fetch_add(1, Ordering::Relaxed) > 9, "on purpose");
        }
    }

    #[test]
    fn what_panics_when_it_is_dropped_takes_nothing_from_the_others() {
        let (dropped, mut tasks) = (Arc::default(), Tasks::default());
        for _ in 0..3 {
            let kept = Thrown(Arc::clone(&dropped));
            let operation = UserOp::new("thrown", move |a: u8, _: u8| {
                let _ = &kept;
                a
            });
            assert!(Kernel::User(operation.kernel()).take_last().is_none(), "its program has it, too");
            let mut kernel = Kernel::User(operation.kernel());
            drop(operation);
            tasks.drop(kernel.take_last().unwrap());
        }
        tasks.leave();
        assert_eq!(dropped.load(Ordering::Relaxed), 3);
    }
}
