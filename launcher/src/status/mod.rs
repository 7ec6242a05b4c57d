//! `ringworld status`: what a running job does, rank by rank, and who is late. It asks the job's master, and only shows
//! what that says.
//!
//! Neighbours: `text` is for people, `json` for programs.

mod json;
mod text;

use std::time::Instant;

use ringworld_bootstrap::{JobStatus, Settings};

use crate::cli::StatusOptions;
use crate::exit::{Failure, Status};
use crate::style;

/// Prints the status.
pub(crate) fn status(options: &StatusOptions) -> Status {
    let mut shown = false;
    loop {
        let begun = Instant::now();
        let asked = ask(options).and_then(|status| show(&status, options));
        match asked {
            Ok(()) => shown = true,
            // The job that was watched has ended.
            Err(_) if shown => return Status::SUCCESS,
            Err(Failure { status, message }) => {
                style::err("status", &message);
                return status;
            }
        }
        if !options.watch {
            return Status::SUCCESS;
        }
        std::thread::sleep(options.every.saturating_sub(begun.elapsed()));
    }
}

fn ask(options: &StatusOptions) -> Result<JobStatus, Failure> {
    let refused = |message: String| Failure { status: Status::SYSTEM, message };
    if let Some(pid) = options.pid {
        return JobStatus::of_process(pid).map_err(refused);
    }
    let settings = match &options.master {
        None => Settings::from_env_with(&[]),
        Some(master) => {
            // Who asks from outside has no place in any world, whatever stands around it; only the secret counts.
            let secret = |name: &str| Some((name.to_owned(), std::env::var(name).ok()?));
            let env = ["RINGWORLD_SECRET", "RINGWORLD_SECRET_FILE"].into_iter().filter_map(secret).collect();
            let given = [
                ("master_node", master.host.clone()),
                ("master_port", master.port.to_string()),
                // Of which the master will say itself how many there are.
                ("world_size", "2".to_owned()),
            ];
            Settings::load(&given.map(|(key, value)| (key.to_owned(), value)), &env)
        }
    };
    JobStatus::of(&settings.map_err(|error| Failure::usage(error.to_string()))?).map_err(refused)
}

fn show(status: &JobStatus, options: &StatusOptions) -> Result<(), Failure> {
    let text = if options.json {
        json::line(status)
    } else if options.watch {
        // From the upper left corner of a cleared terminal; in a file, one answer after the other.
        let clear =
            if std::io::IsTerminal::is_terminal(&std::io::stdout()) { "\u{1b}[H\u{1b}[2J" } else { "" };
        format!("{clear}{}\n", text::report(status))
    } else {
        text::report(status)
    };
    style::out(&text)
}
