//! The soak: rounds of everything that ends a world badly, for as long as one likes, from one printed seed.
//!
//! ```text
//! main ─▶ round                 which round comes next, and its seed
//!   ├─▶ kills ─▶ plan           who is killed, how, when; pure
//!   │     ├────▶ rank           one rank: checked operations until it fails       (a process)
//!   │     └────▶ judge          whether the survivors said what is promised; pure
//!   ├─▶ ends ─▶ plan, script    what the ranks of a world leave behind; pure
//!   │     ├───▶ play            one rank's part, through the public calls      (a thread: worlds; a process: alone)
//!   │     └───▶ judge           whether what they met is right; pure
//!   └─▶ long ─▶ rank            threads, crowds, communicators; memory is watched  (processes)
//! ```
//!
//! Every round runs in processes of its own, so that a crash or a hang is a finding and not the end. Programs with an
//! oracle come from `runtime/tests/it/random`, whose files are modules here, too. `tests/soak/README.md` tells how to
//! use it.

#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test program: what cannot be set up is reported by a panic that names it, findings are printed"
)]

mod ends;
mod kills;
mod long;
mod round;
mod watch;

// What `runtime/tests/it/random` is made of; its paths say `crate::`, so they stand here.
#[path = "../../../../runtime/tests/it/random/call.rs"]
mod call;
#[path = "../../../../runtime/tests/it/random/element.rs"]
mod element;
#[path = "../../../../runtime/tests/it/random/exchange.rs"]
mod exchange;
#[path = "../../../../runtime/tests/it/random/messages.rs"]
mod messages;
#[path = "../../../../runtime/tests/it/random/oracle.rs"]
mod oracle;
#[path = "../../../../runtime/tests/it/random/perform.rs"]
mod perform;
#[path = "../../../../runtime/tests/it/random/play.rs"]
mod play;
#[path = "../../../../runtime/tests/it/random/program.rs"]
#[allow(dead_code, reason = "limits and hosts of a program are those of the world here")]
mod program;
#[path = "../../../../runtime/tests/it/random/rng.rs"]
mod rng;

use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};

use round::{Kind, Options};

#[derive(Parser)]
#[command(
    about = "Kills ranks, ends worlds in disorder and runs them long, and checks every answer",
    args_conflicts_with_subcommands = true
)]
struct Arguments {
    #[command(subcommand)]
    part: Option<Part>,
    /// How long, all kinds together
    #[arg(long, default_value_t = 1.0)]
    minutes: f64,
    /// So many rounds of each kind instead
    #[arg(long)]
    rounds: Option<u64>,
    /// What all choices derive from; without, a new one
    #[arg(long)]
    seed: Option<u64>,
    /// Only these kinds of rounds
    #[arg(long, value_enum)]
    only: Vec<Kind>,
    /// Only rounds of this mode of their kind, such as `sync` of the kills; the summary names them
    #[arg(long)]
    mode: Option<String>,
    /// Only the round with this seed of its own, as a finding names it (needs one --only)
    #[arg(long)]
    repeat: Option<u64>,
    /// How often it is repeated
    #[arg(long, default_value_t = 1)]
    times: u64,
    /// Stop at the first finding
    #[arg(long)]
    first: bool,
    /// Show what each round does
    #[arg(long, short)]
    verbose: bool,
    /// How long a world may take to end, in seconds
    #[arg(long, default_value_t = 10)]
    patience: u64,
}

/// The processes of a round; not for users.
#[derive(Subcommand)]
enum Part {
    #[command(hide = true)]
    Victim(kills::rank::Arguments),
    #[command(hide = true)]
    Worlds(ends::worlds::Arguments),
    #[command(hide = true)]
    Ending(ends::alone::Arguments),
    #[command(hide = true)]
    Long(long::rank::Arguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match arguments.part {
        Some(Part::Victim(arguments)) => return kills::rank::main(&arguments),
        Some(Part::Worlds(arguments)) => return ends::worlds::main(&arguments),
        Some(Part::Ending(arguments)) => return ends::alone::main(&arguments),
        Some(Part::Long(arguments)) => return long::rank::main(&arguments),
        None => {}
    }
    round::run(&Options {
        time: Duration::from_secs_f64(arguments.minutes.clamp(0.0, 1e6) * 60.0),
        rounds: arguments.rounds,
        seed: arguments.seed.unwrap_or_else(ringworld_tests::clock::now),
        kinds: if arguments.only.is_empty() { Kind::ALL.to_vec() } else { arguments.only },
        mode: arguments.mode,
        repeat: arguments.repeat.map(|seed| (seed, arguments.times)),
        first: arguments.first,
        verbose: arguments.verbose,
        patience: Duration::from_secs(arguments.patience.max(1)),
    })
}
