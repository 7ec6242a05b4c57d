//! Why an object cannot be written or read, and where in it.

use std::fmt::{self, Display};

/// How much of a type's own words is kept: they may quote the value, whatever its length.
const LENGTH: usize = 512;

/// What is wrong and where, in words. Boxed, because it travels up through every level of the object.
#[derive(Debug)]
pub(crate) struct Trouble(Box<Inner>);

#[derive(Debug)]
struct Inner {
    /// From the object's root to the value, `.layers[3].name`.
    path: String,
    what: String,
}

impl Trouble {
    pub(super) fn new(what: impl Display) -> Self {
        let mut what = what.to_string();
        if what.len() > LENGTH {
            what.truncate(cut(&what, LENGTH).len());
            what.push('…');
        }
        Self(Box::new(Inner { path: String::new(), what }))
    }

    /// The same, seen from one level further out.
    pub(super) fn inside(mut self, step: impl Display) -> Self {
        // Deep inside, the outer steps say enough.
        let path = format!("{step}{}", self.0.path);
        self.0.path = cut(&path, LENGTH).into();
        self
    }
}

/// The beginning of a text, of at most `length` bytes.
pub(crate) fn cut(text: &str, length: usize) -> &str {
    let ends = |end: &usize| text.is_char_boundary(*end);
    &text[..(0..=length.min(text.len())).rfind(ends).unwrap_or(0)]
}

impl Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.path.trim_start_matches('.') {
            "" => f.write_str(&self.0.what),
            path => write!(f, "at {path}: {}", self.0.what),
        }
    }
}

impl std::error::Error for Trouble {}

impl serde::ser::Error for Trouble {
    fn custom<T: Display>(what: T) -> Self {
        Self::new(what)
    }
}

impl serde::de::Error for Trouble {
    fn custom<T: Display>(what: T) -> Self {
        Self::new(what)
    }
}
