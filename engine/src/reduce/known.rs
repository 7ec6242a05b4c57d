//! What the codes of operations stand for that this process has used: on the wire an operation is one byte, and an
//! error is to be read by people.
//!
//! For words alone: nothing is decided by it. Ranks mostly run one program, so what another rank has used is mostly
//! known here, too. Several operations may have one code; then each is named, as far as there is room. Neighbour:
//! `code` makes the codes.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// How many names of one code are kept: whoever makes names in a loop does not fill memory.
const NAMES: usize = 8;

/// A code is less than this, without the bit that says of which kind it is.
const CODES: usize = 128;

struct Names {
    /// Found without a lock.
    first: OnceLock<Box<str>>,
    others: Mutex<Vec<Box<str>>>,
}

static USER: [Names; CODES] =
    [const { Names { first: OnceLock::new(), others: Mutex::new(Vec::new()) } }; CODES];

struct Factors {
    first: OnceLock<(f64, f64)>,
    /// There have been others.
    several: AtomicBool,
}

static SCALED: [Factors; CODES] =
    [const { Factors { first: OnceLock::new(), several: AtomicBool::new(false) } }; CODES];

fn place(code: u8) -> usize {
    usize::from(code) % CODES
}

/// A user's operation of this name has this code.
pub(super) fn note_user(code: u8, name: &str) {
    let names = &USER[place(code)];
    if &**names.first.get_or_init(|| name.into()) == name {
        return;
    }
    let mut others = names.others.lock().unwrap_or_else(PoisonError::into_inner);
    if others.len() + 1 < NAMES && !others.iter().any(|other| &**other == name) {
        others.push(name.into());
    }
}

/// An operation with these factors has this code.
pub(super) fn note_factors(code: u8, before: f64, after: f64) {
    let factors = &SCALED[place(code)];
    if *factors.first.get_or_init(|| (before, after)) != (before, after) {
        factors.several.store(true, Ordering::Relaxed);
    }
}

/// A user's operation, in words.
pub(super) fn tell_user(code: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let names = &USER[place(code)];
    let Some(first) = names.first.get() else {
        return write!(f, "another user op (digest {:02x})", place(code));
    };
    write!(f, "user op {first:?}")?;
    let others = names.others.lock().unwrap_or_else(PoisonError::into_inner);
    others.iter().try_for_each(|other| write!(f, " or {other:?}"))
}

/// What follows the name of an operation with factors.
pub(super) fn tell_factors(code: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let factors = &SCALED[place(code)];
    let such_as = if factors.several.load(Ordering::Relaxed) { "such as " } else { "" };
    match factors.first.get() {
        Some((before, after)) => write!(f, "with factors {such_as}{before} before and {after} after"),
        None => write!(f, "with other factors (digest {})", place(code) >> 4),
    }
}

#[cfg(test)]
mod tests {
    use super::super::code::OpCode;

    /// Names with one code, of which there are many among so many.
    fn alike() -> Vec<String> {
        let code = OpCode::user("0", 3);
        (0..4_000).map(|number| number.to_string()).filter(|name| OpCode::user(name, 3) == code).collect()
    }

    #[test]
    fn what_shares_a_code_is_named_as_far_as_there_is_room() {
        let alike = alike();
        assert!(alike.len() > super::NAMES);
        let told = OpCode::user("0", 3).to_string();
        assert!(told.starts_with("user op \"") && told.matches(" or ").count() == super::NAMES - 1, "{told}");
    }

    /// Codes without an operation, which nobody else uses.
    struct Factors(u8);

    impl std::fmt::Display for Factors {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            super::tell_factors(self.0, f)
        }
    }

    #[test]
    fn factors_are_told_and_several_of_one_digest_as_such() {
        let code = 0x7f;
        assert_eq!(Factors(code).to_string(), "with other factors (digest 7)");
        super::note_factors(code, 1.0, 0.5);
        assert_eq!(Factors(code).to_string(), "with factors 1 before and 0.5 after");
        super::note_factors(code, 1.0, 0.25);
        assert_eq!(Factors(code).to_string(), "with factors such as 1 before and 0.5 after");
    }
}
