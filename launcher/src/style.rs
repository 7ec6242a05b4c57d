//! How text for people is emphasised: in a terminal, unless `NO_COLOR` is set; what goes to files and programs is plain.
//!
//! Reports are written with these styles throughout; [`out`] and [`err`] take them away where nobody would see them.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};

const HEADING: Style = Style::new().bold();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const NAME: Style = AnsiColor::Cyan.on_default();
const FAINT: Style = Style::new().dimmed();

fn styled(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// A heading.
pub(crate) fn heading(text: impl Display) -> String {
    styled(HEADING, text)
}

/// What works, or is chosen.
pub(crate) fn good(text: impl Display) -> String {
    styled(GOOD, text)
}

/// What does not.
pub(crate) fn bad(text: impl Display) -> String {
    styled(BAD, text)
}

/// A name that the user can give.
pub(crate) fn name(text: impl Display) -> String {
    styled(NAME, text)
}

/// What is only there for completeness.
pub(crate) fn faint(text: impl Display) -> String {
    styled(FAINT, text)
}

/// Prints to standard output. A reader that has seen enough (`| head`) is no failure.
pub(crate) fn out(text: &str) {
    use std::io::Write as _;
    let _ = anstream::stdout().write_all(text.as_bytes());
}

/// Says something by the way, on standard error.
pub(crate) fn note(sentence: &str) {
    use std::io::Write as _;
    // There is nobody else to tell if this fails.
    let _ = writeln!(anstream::stderr(), "{sentence}");
}

/// Says `sentence` on standard error in the name of a command. There is nobody else to tell if that fails.
pub(crate) fn err(command: &str, sentence: &str) {
    use std::io::Write as _;
    let _ = writeln!(anstream::stderr(), "{} {sentence}", bad(format!("ringworld {command}:")));
}
