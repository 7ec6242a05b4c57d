//! What a thread's last panic said, for the ranks that wait for it.
//!
//! A destructor knows that its thread panics, but not why: only the hook is told. So one is installed in front of the
//! program's, which is still called. A program that sets another one later, and does not call this one, keeps the text
//! to itself.

use std::cell::RefCell;
use std::panic::PanicHookInfo;
use std::sync::Once;

thread_local! {
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// From here on panics are remembered.
pub fn remember() {
    static ONCE: Once = Once::new();
    // A thread that panics cannot change the hook.
    if std::thread::panicking() {
        return;
    }
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let text = text(info);
            // A panic in a destructor that runs after those of thread-local values has nobody to tell.
            let _ = LAST.try_with(|last| last.replace(Some(text)));
            usual(info);
        }));
    });
}

/// What the last panic of this thread said, and where.
pub fn last() -> Option<String> {
    LAST.try_with(|last| last.borrow().clone()).ok().flatten()
}

fn text(info: &PanicHookInfo<'_>) -> String {
    let payload = info.payload();
    let owned = payload.downcast_ref::<String>().map(String::as_str);
    let said = owned.or(payload.downcast_ref::<&str>().copied()).unwrap_or("a value that is no text");
    // It becomes part of a sentence on one line.
    let said = said.lines().map(str::trim).collect::<Vec<_>>().join(", ");
    match info.location() {
        Some(place) => format!("{said} ({}:{})", place.file(), place.line()),
        None => said,
    }
}
