//! One rank of a disorderly world, in a process of its own, which may end in ways that a thread cannot.

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ringworld::World;

use super::play::{Report, Shared, play};
use super::script::{Mode, Plan};
use crate::watch::{end_with_parent, flat, live_at_most, say};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[arg(long)]
    seed: u64,
    #[arg(long, value_enum)]
    mode: Option<Mode>,
}

pub(crate) fn main(arguments: &Arguments) -> ExitCode {
    end_with_parent();
    live_at_most(Duration::from_secs(90));
    let plan = Plan::draw_for_processes(arguments.seed, arguments.mode);
    let shared = Shared::default();
    let mut builder = World::builder();
    for (key, value) in &plan.settings {
        builder = builder.set(*key, *value);
    }
    let world = match builder.build() {
        Ok(world) => world,
        Err(error) => {
            say("refused", &format!("text={}", flat(&error.to_string())));
            return ExitCode::FAILURE;
        }
    };
    let told = Arc::<Mutex<Report>>::default();
    let tell = {
        let (shared, told) = (shared.clone(), Arc::clone(&told));
        move || tell(&shared.get(), &mut told.lock().unwrap_or_else(PoisonError::into_inner))
    };
    // What happened is told as it happens: the process may crash, or be ended.
    std::thread::spawn({
        let tell = tell.clone();
        move || loop {
            tell();
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let script = plan.scripts[world.rank()].clone();
    let canaries = play(world, &script, &shared);
    if let Some(touched) = canaries.touched() {
        say("touched", &format!("text={touched}"));
    }
    tell();
    say("over", "");
    ExitCode::SUCCESS
}

/// Says what is new.
fn tell(now: &Report, told: &mut Report) {
    for met in &now.errors[told.errors.len()..] {
        let named = met.named.map(|rank| format!("named={rank} ")).unwrap_or_default();
        let call = met.call.replace(" text=", " ");
        say("met", &format!("since={} variant={} {named}text={call} | {}", met.at, met.variant, met.text));
    }
    for wrong in &now.wrong[told.wrong.len()..] {
        say("wrong", &format!("text={}", flat(wrong)));
    }
    if let (Some(leaving), None) = (now.leaving, told.leaving) {
        say("leaving", &format!("since={leaving}"));
    }
    if now.stage != told.stage {
        say("stage", &format!("text={}", now.stage));
    }
    *told = now.clone();
}
