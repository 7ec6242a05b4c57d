//! Which call it is, and where it stands: what is told of each.
//!
//! Neighbours: `observe` counts calls by it, `calls` keeps it of those that are under way.

use std::panic::Location;

use super::signature::Call;

/// Which call of the interface: a collective by its number, or one of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Verb(u8);

impl Verb {
    /// Sends one message.
    pub const SEND: Self = Self(0);
    /// Receives one message.
    pub const RECEIVE: Self = Self(29);
    /// Waits until there is a message.
    pub const PROBE: Self = Self(30);
    /// Leaves the world.
    pub const FINISH: Self = Self(31);
    /// How many there may be: numbers of collectives end below those of the others.
    pub(super) const COUNT: usize = 32;

    /// Each that there may be.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        (0..Self::COUNT as u8).map(Self)
    }

    /// A collective.
    #[inline]
    #[must_use]
    pub const fn collective(call: Call) -> Self {
        Self(call as u8)
    }

    /// Its name in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::SEND => "send",
            Self::RECEIVE => "recv",
            Self::PROBE => "probe",
            Self::FINISH => "finish",
            Self(number) => Call::of(number).map_or("unknown", Call::name),
        }
    }

    #[inline]
    pub(super) fn index(self) -> usize {
        // Known to be below the count, so that nothing has to be checked on the way of a message.
        usize::from(self.0) % Self::COUNT
    }
}

/// A call and its place in the program.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    /// Which call.
    pub verb: Verb,
    /// Where it stands; `None` in a program of another language.
    pub place: Option<&'static Location<'static>>,
}

impl Told {
    /// A call that stands where this function's caller was called.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn here(verb: Verb) -> Self {
        Self { verb, place: Some(Location::caller()) }
    }

    /// A call of a program whose places are not known.
    #[inline]
    #[must_use]
    pub const fn of_another_language(verb: Verb) -> Self {
        Self { verb, place: None }
    }

    /// ` at file:line`, where that is known.
    #[must_use]
    pub(crate) fn at(self) -> String {
        self.place.map_or_else(String::new, |place| format!(" at {}:{}", place.file(), place.line()))
    }
}
