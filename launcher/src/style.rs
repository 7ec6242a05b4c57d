//! How text for people is emphasised: in a terminal, unless `NO_COLOR` is set; what goes to files and programs is
//! plain.
//!
//! Reports are written with these styles throughout; [`out`] and [`err`] take them away where nobody would see them.

use std::fmt::Display;
use std::io::{ErrorKind, Write as _};

use anstyle::{AnsiColor, Style};

use crate::exit::{Failure, why};

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
///
/// # Errors
///
/// When the text is lost for any other reason, such as a full disk.
pub(crate) fn out(text: &str) -> Result<(), Failure> {
    let mut stdout = anstream::stdout();
    // Without the flush the end of the process would, and tell nobody that it failed.
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(unwritable(error)),
        _ => Ok(()),
    }
}

/// Standard output cannot be written.
pub(crate) fn unwritable(error: std::io::Error) -> Failure {
    Failure::system("cannot write to standard output", why(&error))
}

/// Says something by the way, on standard error.
pub(crate) fn note(sentence: &str) {
    // There is nobody else to tell if this fails.
    let _ = writeln!(anstream::stderr(), "{sentence}");
}

/// Says `sentence` on standard error in the name of a command, or of none. There is nobody else to tell if that fails.
pub(crate) fn err(command: &str, sentence: &str) {
    let name = format!("ringworld {command}");
    let _ = writeln!(anstream::stderr(), "{} {sentence}", bad(format!("{}:", name.trim_end())));
}
