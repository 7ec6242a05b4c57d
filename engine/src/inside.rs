//! Whether this thread is inside an operation of the user's, of which engine, and what it has called there.
//!
//! An operation runs under the lock of its engine. A call that needs the engine would wait for itself there, for ever
//! and without a word; so it is refused, and the operation counts as failed whatever it makes of that: a message that
//! it meant to send has not left, and its result is not what the program means. Nobody asks but who has found the lock
//! taken (`shell`), so calls pay nothing for it.
//!
//! Neighbours: `buffer` runs operations, `core/failure` says what becomes of the world.

use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use super::reduce::Operation;

struct Inside {
    /// Where something lies that is a part of the engine, or of what it drives.
    part: usize,
    operation: Arc<Operation>,
    /// The first call that was refused, in words, if whoever made it has said so.
    refused: Option<Option<String>>,
    /// In the middle of which other one this is: an operation may use another world, and that run one.
    outer: Option<Box<Inside>>,
}

impl Inside {
    /// The innermost that is meant.
    fn find(&mut self, is_meant: impl Fn(&Self) -> bool) -> Option<&mut Self> {
        let mut next = Some(self);
        while let Some(inside) = next {
            if is_meant(inside) {
                return Some(inside);
            }
            next = inside.outer.as_deref_mut();
        }
        None
    }
}

thread_local! {
    /// Nothing is dropped with the thread, so that it can be asked to the very end: programs leave their worlds in
    /// destructors of the thread's, and at the end of the process.
    static INSIDE: RefCell<ManuallyDrop<Option<Inside>>> = const { RefCell::new(ManuallyDrop::new(None)) };
}

/// Ends the operation that has begun, whatever unwinds.
struct Leave;

impl Leave {
    fn enter(inside: Inside) -> Self {
        INSIDE.with_borrow_mut(|now| {
            let outer = now.take().map(Box::new);
            **now = Some(Inside { outer, ..inside });
        });
        Self
    }
}

impl Drop for Leave {
    fn drop(&mut self) {
        // Dropped when it is not looked at any more.
        let _left = INSIDE.with_borrow_mut(|now| {
            let mut left = now.take();
            **now = left.as_mut().and_then(|left| left.outer.take()).map(|outer| *outer);
            left
        });
    }
}

/// Runs an operation for an engine that `part` is a part of. Beside its result what was refused to it: the first call,
/// in words if they are known.
pub(crate) fn run<P, R>(
    part: &P,
    operation: &Arc<Operation>,
    run: impl FnOnce() -> R,
) -> (R, Option<Option<String>>) {
    let part = std::ptr::from_ref(part).addr();
    let operation = Arc::clone(operation);
    let _leave = Leave::enter(Inside { part, operation, refused: None, outer: None });
    let result = run();
    (result, INSIDE.with_borrow_mut(|inside| inside.as_mut().and_then(|inside| inside.refused.take())))
}

/// Whether this thread runs an operation for `engine`, which therefore refuses what is asked of it. That is noted.
pub(crate) fn refuses<E>(engine: &E) -> bool {
    let from = std::ptr::from_ref(engine).addr();
    let is_part = |inside: &Inside| (from..from + size_of::<E>()).contains(&inside.part);
    INSIDE.with_borrow_mut(|inside| {
        let mine = inside.as_mut().and_then(|inside| inside.find(is_part));
        mine.map(|inside| inside.refused.get_or_insert(None)).is_some()
    })
}

/// Whether this thread runs an operation for any engine, so that calls may be refused. Nothing is noted.
#[must_use]
pub fn is_inside_operation() -> bool {
    INSIDE.with_borrow(|inside| inside.is_some())
}

/// The name of the operation to which a call has just been refused, `call` in words.
pub fn name(call: &str) -> String {
    INSIDE.with_borrow_mut(|inside| {
        let refused = inside.as_mut().and_then(|inside| inside.find(|inside| inside.refused.is_some()));
        refused.map_or_else(String::new, |inside| {
            if let Some(refused @ None) = &mut inside.refused {
                *refused = Some(call.into());
            }
            inside.operation.name().into()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::reduce::UserOp;
    use super::*;

    #[test]
    fn an_engine_refuses_its_own_operations_and_those_of_others_go_on() {
        let (engine, other) = ([0u64; 4], [0u64; 4]);
        let kernel = UserOp::new("inner", |a: u8, _: u8| a).kernel();
        assert!(!refuses(&engine) && !is_inside_operation());
        let (_, refused) = run(&engine[2], &kernel, || {
            let elsewhere = std::thread::scope(|threads| threads.spawn(is_inside_operation).join());
            assert!(is_inside_operation() && !refuses(&other) && !elsewhere.unwrap());
        });
        assert_eq!(refused, None);
        let (_, refused) = run(&engine[3], &kernel, || assert!(refuses(&engine)));
        assert_eq!(refused, Some(None), "whoever was refused has not said what it was");
        let ((), refused) = run(&engine[0], &kernel, || {
            for call in ["barrier()", "send"] {
                assert!(refuses(&engine));
                assert_eq!(name(call), "inner");
            }
        });
        assert_eq!(refused, Some(Some("barrier()".into())), "the first");
        assert!(!refuses(&engine), "it is over");
    }

    #[test]
    fn an_operation_within_one_of_another_engine_is_left_like_a_panic() {
        let (engine, other) = (0u8, 1u8);
        let kernel = UserOp::new("inner", |a: u8, _: u8| a).kernel();
        run(&engine, &kernel, || {
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                run(&other, &kernel, || panic!("a test"));
            }));
            assert!(panicked.is_err());
            assert!(refuses(&engine) && !refuses(&other));
        });
    }
    #[test]
    fn an_engine_refuses_also_what_an_operation_of_another_one_asks_of_it() {
        let (engine, other) = (0u8, 1u8);
        let [outer, inner] = ["outer", "inner"].map(|name| UserOp::new(name, |a: u8, _: u8| a).kernel());
        let (_, refused) = run(&engine, &outer, || {
            let (_, refused) = run(&other, &inner, || {
                assert!(refuses(&engine));
                assert_eq!(name("send"), "outer");
            });
            assert_eq!(refused, None, "the other engine has refused nothing");
        });
        assert_eq!(refused, Some(Some("send".into())));
    }

    /// Begun before, and so dropped after, what this file keeps of a thread.
    struct Late(std::sync::mpsc::Sender<bool>);

    impl Drop for Late {
        fn drop(&mut self) {
            self.0.send(refuses(self) || is_inside_operation()).unwrap();
        }
    }

    #[test]
    fn a_thread_that_ends_may_still_ask() {
        thread_local! {
            static LATE: RefCell<Option<Late>> = const { RefCell::new(None) };
        }
        let (tell, told) = std::sync::mpsc::channel();
        let kernel = UserOp::new("inner", |a: u8, _: u8| a).kernel();
        std::thread::spawn(move || {
            LATE.set(Some(Late(tell)));
            run(&0u8, &kernel, || ());
        });
        assert_eq!(told.recv(), Ok(false));
    }
}
