//! The `ringworld` command. Everything it does lives in the library, so that tests can reach it.

use std::process::ExitCode;

fn main() -> ExitCode {
    ringworld_launcher::main()
}
