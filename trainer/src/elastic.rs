//! Training that goes on: through the generations of an elastic world, from memory.
//!
//! ```text
//! enter ─▶ share the newest state ─▶ phases, each on shards by the new rank and size ─▶ done
//!   ▲                                  │ a rank fails: recover      │ somebody waits: regroup
//!   └──────────────────────────────────┴────────────────────────────┘  or a rank is asked to end, and leaves
//! ```
//!
//! Invariant: whether to regroup is decided from what all have seen together. Neighbours: `training` has the phases,
//! `events` the lines for programs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use ringworld::{Op, World};
use signal_hook::consts::SIGTERM;

use crate::error::Error;
use crate::events::Events;
use crate::options::Options;
use crate::training::{Training, check_options};

/// The door is looked at each time so many phases are done.
const DOOR: u64 = 10;

/// What comes after a generation that has not failed.
enum Wish {
    Done { weights: u64 },
    Regroup,
    Leave,
}

/// Why a generation ended, and when.
struct Ended {
    at: Instant,
    why: String,
}

/// Whether this process has been asked to end (SIGTERM): it leaves, and the others go on.
fn asked_to_leave() -> Result<Arc<AtomicBool>, Error> {
    let asked = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGTERM, Arc::clone(&asked)).map_err(Error::Signals)?;
    Ok(asked)
}

/// Trains to the end, through as many generations as it takes. `start` makes the state at the beginning.
///
/// # Errors
///
/// What no next generation helps against.
pub(crate) fn train<'a>(
    mut world: World,
    options: &Options,
    start: impl Fn() -> Training<'a>,
) -> Result<(), Error> {
    let events = Events::new(options.events);
    let leaves = asked_to_leave()?;
    let mut training = if world.generation() == 0 { start() } else { start().newcomer() };
    let mut ended = None;
    loop {
        let next = match generation(&world, &mut training, options, &start, &events, &leaves, ended.take()) {
            Ok(Wish::Done { weights }) => {
                let (correct, tested) = training.score();
                let digest = format!("digest={weights:016x} correct={correct} tested={tested}");
                events.say("done", &world, &format!("step={} {digest}", training.steps()));
                training.summarize(world.size(), weights)?;
                return match world.finish() {
                    // All has been done and compared; who has failed since takes nothing with it.
                    Err(error) if !error.is_recoverable() => Err(error.into()),
                    _ => Ok(()),
                };
            }
            Ok(Wish::Regroup) => {
                let (at, why) = (Instant::now(), "others had come, or left".to_owned());
                ended = Some(Ended { at, why });
                world.regroup()
            }
            Ok(Wish::Leave) => {
                events.say("leaving", &world, &format!("step={}", training.steps()));
                world.leave()?;
                return Ok(());
            }
            Err(Error::World(error)) if error.is_recoverable() => {
                events.say("failed", &world, &format!("kind={} text={error}", error.name()));
                let (at, why) = (Instant::now(), error.to_string());
                ended = Some(Ended { at, why });
                world.recover()
            }
            Err(error) => return Err(error),
        };
        world = next?;
    }
}

fn generation<'a>(
    world: &World,
    training: &mut Training<'a>,
    options: &Options,
    start: &impl Fn() -> Training<'a>,
    events: &Events,
    leaves: &AtomicBool,
    ended: Option<Ended>,
) -> Result<Wish, Error> {
    let previous = world.previous_rank().map_or("none".to_owned(), |rank| rank.to_string());
    events.say("entered", world, &format!("previous={previous}"));
    check_options(world, options)?;
    let mut shared = training.share(world)?;
    if shared.source.is_none() {
        // Those who knew have died before they could tell anybody.
        *training = start();
        shared = training.share(world)?;
    }
    training.show_on(world.rank());
    let mut reducer = training.reducer(world)?;
    training.ends(false);
    let mut first = true;
    while !training.is_over() {
        // Not before the first step: who was started again often knocks just then, and could keep it from being made.
        if !first && training.done().is_multiple_of(DOOR) {
            let leaving = leaves.load(Ordering::Relaxed);
            let seen = options.until.as_ref().is_some_and(|file| file.exists());
            let mut reasons = [world.waiting() as u64, u64::from(leaving), u64::from(seen)];
            world.all_reduce(&mut reasons, Op::Max)?;
            training.ends(reasons[2] > 0);
            if training.is_over() {
                break;
            }
            if reasons[..2] != [0, 0] {
                return Ok(if leaving { Wish::Leave } else { Wish::Regroup });
            }
        }
        training.phase(world, &mut reducer)?;
        if options.check {
            training.share(world)?;
        }
        if std::mem::take(&mut first) {
            events.say("step", world, &format!("step={}", training.steps()));
            training.tell(&line(world, &shared.newcomers, ended.as_ref()))?;
        }
    }
    Ok(Wish::Done { weights: training.check_weights(world)? })
}

/// Who makes a generation, and how long it took to form.
fn line(world: &World, newcomers: &[usize], ended: Option<&Ended>) -> String {
    let (generation, size) = (world.generation(), world.size());
    let new = match newcomers {
        [] => String::new(),
        new => {
            let new: Vec<_> = new.iter().map(ToString::to_string).collect();
            format!(", new: {}", new.join(" "))
        }
    };
    let since = ended.map_or(String::new(), |Ended { at, why, .. }| {
        format!("; first step {:.0} ms after: {why}", at.elapsed().as_secs_f64() * 1e3)
    });
    format!("generation {generation}  {size} ranks{new}{since}")
}
