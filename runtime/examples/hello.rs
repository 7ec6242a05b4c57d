//! The smallest program: every rank says who it is and where.
//!
//! ```text
//! ringworld run -n 4 -- target/release/examples/hello
//! ```

#![forbid(unsafe_code)]

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use ringworld::World;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hello: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let world = World::from_env()?;
    let rank = world.rank();
    writeln!(std::io::stdout(), "rank {rank} of {} on {}", world.size(), world.host(rank))?;
    Ok(())
}
