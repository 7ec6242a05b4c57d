//! The `ringworld` command, so that tests of this package can start it.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ringworld_launcher::main()
}
