//! The classic first message: rank 0 sends the name of its host to rank 1, which prints both names.
//!
//! The same line in two shells, or on two hosts with the first one's name, makes a world of two:
//!
//! ```text
//! MASTER_NODE=127.0.0.1 MASTER_PORT=29500 NUM_NODES=2 target/release/examples/hostname
//! ```

#![forbid(unsafe_code)]

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use ringworld::World;

/// Sender and receiver must agree on the tag.
const TAG: u32 = 6;

/// Longer than any host name: Linux allows 64 bytes.
const LONGEST: usize = 256;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hostname: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let world = World::from_env()?;
    if world.size() < 2 {
        return Err(
            "this program needs two ranks, and this world has one; start it with `ringworld run -n 2 -- \
                    hostname`, or twice with MASTER_NODE, MASTER_PORT and NUM_NODES=2 set"
                .into(),
        );
    }
    let host = gethostname::gethostname().to_string_lossy().into_owned();
    match world.rank() {
        0 => world.send(host.as_bytes(), 1, TAG)?,
        1 => {
            let mut bytes = [0u8; LONGEST];
            let status = world.recv(&mut bytes, 0, TAG)?;
            let name = String::from_utf8_lossy(&bytes[..status.count]);
            writeln!(std::io::stdout(), "{host} got \"{name}\" from rank {}", status.source)?;
        }
        // Further ranks have nothing to say.
        _ => {}
    }
    Ok(())
}
