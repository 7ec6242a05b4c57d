//! What the launcher itself has to say, on its standard error.

use crate::style;

/// Says `sentence` in the name of `ringworld run`.
pub(super) fn complain(sentence: &str) {
    style::err("run", sentence);
}
