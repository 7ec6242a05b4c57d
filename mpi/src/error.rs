//! Errors as MPI has them: a class, and words that `MPI_Error_string` gives back.
//!
//! A code of the standard's ABI is a class, and above its 16 bits the place of the words in a ring of the last ones.
//! Programs add classes, codes and words of their own.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::call_names::named;
use crate::standard::{self, class_text};

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Error {
    /// One of the standard's, or of the program's; or a whole code that a function of the program has returned.
    pub(crate) class: i32,
    /// What was given, what was expected; nothing where the class says it all.
    pub(crate) text: String,
    /// The source and the tag of the message that could not be received.
    pub(crate) of: Option<(i32, i32)>,
}

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// An error with words.
pub(crate) fn error(class: i32, text: impl Into<String>) -> Error {
    Error { class, text: text.into(), of: None }
}

/// The same, as a result.
pub(crate) fn fail<T>(class: i32, text: impl Into<String>) -> Result<T> {
    Err(error(class, text))
}

impl From<ringworld::Error> for Error {
    fn from(why: ringworld::Error) -> Self {
        use ringworld::Error as E;
        if let E::Aborted { code, .. } = &why {
            crate::abort::heard(*code);
        }
        let class = match &why {
            E::Truncated { .. } => standard::ERR_TRUNCATE,
            E::PeerFailed { .. } | E::PeerFinished { .. } | E::Aborted { .. } => standard::ERR_PROC_ABORTED,
            E::InvalidRank { .. } => standard::ERR_RANK,
            E::InvalidCount { .. } => standard::ERR_COUNT,
            E::InvalidGroup { .. } => standard::ERR_GROUP,
            E::InvalidGrid { .. } => standard::ERR_TOPOLOGY,
            E::UnsupportedOp { .. } | E::Panicked { .. } | E::InsideOperation { .. } => standard::ERR_OP,
            E::WrongElement { .. } => standard::ERR_TYPE,
            _ => standard::ERR_OTHER,
        };
        error(class, named(&why.to_string()))
    }
}

/// How many errors keep their words.
const KEPT: usize = 4096;
const CLASS_BITS: u32 = 16;

#[derive(Default)]
struct Known {
    /// Words of the last errors; place 0 is for those without.
    texts: Vec<String>,
    next: usize,
    /// Codes that the program has added, with their classes and words.
    added: BTreeMap<i32, Added>,
    /// The highest that was ever added.
    last: i32,
}

struct Added {
    class: i32,
    text: String,
}

static KNOWN: Mutex<Known> =
    Mutex::new(Known { texts: Vec::new(), next: 0, added: BTreeMap::new(), last: standard::ERR_LASTCODE });

fn known() -> MutexGuard<'static, Known> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Error {
    /// The code of it.
    pub(crate) fn code(&self) -> i32 {
        if self.text.is_empty() || self.class > 0xffff {
            return self.class;
        }
        let mut known = known();
        let place = known.next % KEPT;
        known.next += 1;
        if place < known.texts.len() {
            known.texts[place].clone_from(&self.text);
        } else {
            known.texts.push(self.text.clone());
        }
        self.class | (place as i32 + 1) << CLASS_BITS
    }

    /// In words.
    pub(crate) fn words(&self) -> String {
        match (words(self.class & 0xffff), &*self.text) {
            (Some(class), "") => class,
            (Some(class), text) => format!("{class}: {text}"),
            (None, text) => text.to_owned(),
        }
    }
}

/// The class of a code; none when there is no such code.
pub(crate) fn class(code: i32) -> Option<i32> {
    let low = code & 0xffff;
    if code < 0 {
        return None;
    }
    if let Some(added) = known().added.get(&low) {
        return Some(added.class);
    }
    class_text(low).map(|_| low)
}

/// What a code means; none when there is no such code.
pub(crate) fn words(code: i32) -> Option<String> {
    let low = code & 0xffff;
    let known = known();
    let class = match (known.added.get(&low), class_text(low)) {
        (Some(added), _) => added.text.clone(),
        (None, Some(text)) => text.to_owned(),
        (None, None) => return None,
    };
    let kept = ((code >> CLASS_BITS) as usize).checked_sub(1).and_then(|place| known.texts.get(place));
    Some(kept.map_or_else(|| class.clone(), |text| format!("{class}: {text}")))
}

/// The highest code in use.
pub(crate) fn last_used() -> i32 {
    known().last
}

/// Adds a class of the program's, which is a code as well.
pub(crate) fn add_class() -> Result<i32> {
    add(None)
}

/// Adds a code of a class.
pub(crate) fn add_code(class: i32) -> Result<i32> {
    if self::class(class) != Some(class) {
        return fail(standard::ERR_ARG, format!("{class} is no class of errors"));
    }
    add(Some(class))
}

fn add(class: Option<i32>) -> Result<i32> {
    let mut known = known();
    let code = known.last + 1;
    if code > 0xffff {
        return fail(standard::ERR_OTHER, "there is no room for further classes and codes");
    }
    known.last = code;
    known.added.insert(code, Added { class: class.unwrap_or(code), text: String::new() });
    Ok(code)
}

/// Gives words to a code that was added.
pub(crate) fn add_text(code: i32, text: String) -> Result<()> {
    match known().added.get_mut(&code) {
        Some(added) => {
            added.text = text;
            Ok(())
        }
        None => fail(standard::ERR_ARG, format!("{code} is no code that the program has added")),
    }
}

/// Takes a class or code away that was added; `is_class` says which it must be.
pub(crate) fn remove(code: i32, is_class: bool) -> Result<()> {
    let mut known = known();
    // One that has words is still in use, and so is a class with codes.
    let fits = known
        .added
        .get(&code)
        .is_some_and(|added| (added.class == code) == is_class && added.text.is_empty());
    let used = is_class && known.added.iter().any(|(other, added)| *other != code && added.class == code);
    if !fits || used {
        return fail(standard::ERR_ARG, format!("{code} cannot be removed"));
    }
    known.added.remove(&code);
    while known.last > standard::ERR_LASTCODE && !known.added.contains_key(&known.last) {
        known.last -= 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_gives_back_its_class_and_its_words() {
        let code = error(standard::ERR_TRUNCATE, "5 bytes into 4").code();
        assert_ne!(code, standard::ERR_TRUNCATE);
        assert_eq!(class(code), Some(standard::ERR_TRUNCATE));
        let words = words(code).unwrap_or_default();
        assert!(words.starts_with("MPI_ERR_TRUNCATE") && words.ends_with("5 bytes into 4"), "{words}");
        assert_eq!(class(-1), None);
        assert_eq!(class(99), None);
    }

    #[test]
    fn classes_and_codes_of_the_program_come_and_go() {
        let class_added = add_class().unwrap_or(0);
        let code = add_code(class_added).unwrap_or(0);
        assert_eq!((class(code), last_used()), (Some(class_added), code));
        assert!(add_text(code, "mine".into()).is_ok() && add_text(standard::ERR_ARG, "no".into()).is_err());
        assert_eq!(words(code).as_deref(), Some("mine"));
        assert!(remove(class_added, true).is_err(), "it has a code");
        assert!(remove(code, false).is_err(), "it has words");
        assert!(add_text(code, String::new()).is_ok());
        assert!(remove(code, false).is_ok() && remove(class_added, true).is_ok());
        assert_eq!(class(code), None);
    }
}
