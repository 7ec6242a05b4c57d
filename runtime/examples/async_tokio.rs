//! Communication under an async runtime: pending operations are futures, so they are joined, raced against
//! timers and spawned as tasks like anything else. Any executor will do; this is tokio.
//!
//! ```text
//! ringworld run -n 4 -- target/release/examples/async_tokio
//! ```

#![forbid(unsafe_code)]

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use ringworld::{Communicator, Op, World};

const TAG: u32 = 1;

/// Nobody sends with this one.
const SILENT: u32 = 2;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("async_tokio: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    // The rendezvous blocks; once formed, the world is at home in tasks.
    let world = World::from_env()?;
    let line = overlap(&world).await?;
    if world.rank() == 0 {
        writeln!(std::io::stdout(), "{line}")?;
    }
    Ok(())
}

/// Two all-reduces and an exchange with the neighbours, all under way at once; then a receive that is given
/// up. Says what came out.
async fn overlap(world: &Communicator) -> ringworld::Result<String> {
    let (rank, size) = (world.rank(), world.size());
    let gradients = world.start_all_reduce(vec![rank as f32; 1000], Op::Average)?;
    let losses = world.start_all_reduce(vec![rank as f64 + 1.0], Op::Sum)?;
    let send = world.start_send(vec![rank as u64], (rank + 1) % size, TAG)?;
    let recv = world.start_recv(vec![0u64], (rank + size - 1) % size, TAG)?;
    let (gradients, losses, (before, _), _) = tokio::try_join!(gradients, losses, recv, send)?;

    let mut silent = world.start_recv(vec![0u8; 8], rank, SILENT)?;
    let given_up = tokio::select! {
        came = &mut silent => came.is_err(),
        () = tokio::time::sleep(Duration::from_millis(10)) => silent.cancel(),
    };
    Ok(format!(
        "{size} ranks: the average gradient is {}, the losses add up to {}, rank {} is before this one, \
         the silent receive was given up: {given_up}",
        gradients[0], losses[0], before[0]
    ))
}

#[cfg(test)]
mod tests {
    #[tokio::test]
    async fn everything_overlaps_and_the_silent_receive_is_given_up() {
        let line = super::overlap(&ringworld::testing::alone()).await.expect("a world of one");
        assert_eq!(
            line,
            "1 ranks: the average gradient is 0, the losses add up to 1, rank 0 is before this one, the \
             silent receive was given up: true"
        );
    }
}
