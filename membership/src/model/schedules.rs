//! Schedules that a seed makes: a world of some size, some weather, and then calm, in which all that can go on must.

use std::time::Duration;

use fastrand::Rng;

use super::fault::Fault;
use super::judge::{Broken, Promise, brief, broken};
use super::world::{Event, Plan, Process, Weather, World};
use super::{ms, setting};
use crate::{Limits, Patience, Table};

/// What a schedule came to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Played {
    pub(super) events: u64,
    pub(super) messages: u64,
    /// The last generation.
    pub(super) generation: u64,
    /// All went on once faults had stopped.
    pub(super) revived: bool,
    /// All agreed again afterwards, without faults.
    pub(super) regrouped: bool,
}

#[derive(Debug)]
pub(super) struct Found {
    pub(super) broken: Broken,
    pub(super) seed: u64,
}

/// The longest that a decision may take once faults have stopped: whoever is silent is waited for, and what was lost is
/// said again a few times.
const REVIVED: Duration = ms(1500);
/// The same where nothing has been lost.
const REGROUPED: Duration = ms(600);

/// Plays one schedule.
pub(super) fn play(seed: u64, fault: Option<Fault>, trace: bool) -> Result<Played, Found> {
    schedule(seed, fault, trace).map_err(|broken| Found { broken, seed })
}

fn schedule(seed: u64, fault: Option<Fault>, trace: bool) -> Result<Played, Broken> {
    let mut rng = Rng::with_seed(seed);
    let large = rng.u8(0..10) == 0;
    let members = rng.usize(1..=if large { 9 } else { 5 });
    let arbiter = rng.u8(0..5) == 0;
    let least = rng.usize(0..=members.min(3));
    let most = rng.usize(members..=members + 3);
    let comes_calm = rng.u8(0..4) != 0;
    let patience = Patience {
        gather: ms(300),
        // Where there is no calm, the end must come in time; else it must not come too soon.
        limit: if comes_calm { ms(60_000) } else { ms(900) },
        // Short of what a message takes at worst, leaders get in each other's way.
        retry: ms(if rng.bool() { 40 } else { 15 }),
        repeat: ms(100),
    };
    let mut pick = |from: &[u8]| *rng.choice(from).unwrap_or(&0);
    let weather = Weather {
        lost: pick(&[0, 0, 2, 20]),
        doubled: pick(&[0, 0, 5, 30]),
        disorder: pick(&[0, 1]) == 1,
        delay: ms(u64::from(pick(&[1, 5, 60]))),
        last_words: pick(&[0, 0, 5, 30]),
        unaware: pick(&[0, 0, 30, 100]),
    };
    let mut world = World::new(rng, members, arbiter, Limits { least, most }, patience, fault);
    world.weather = weather;
    world.trace = trace;
    if trace {
        println!("{members} members, arbiter: {arbiter}, {:?}, {patience:?}, {weather:?}", world.limits);
    }
    let storm = ms(world.rng.u64(50..=1000));
    storm_of(&mut world, members, storm);
    if !comes_calm {
        world.run(ms(4000))?;
        return Ok(played(&world));
    }
    world.run(storm)?;
    let before = calm(&mut world)?;
    let end = world.now + REVIVED;
    world.run(end)?;
    let Some(before) = before else { return Ok(played(&world)) };
    let decided =
        world.judge.tables.values().next_back().filter(|table| table.generation > before.generation);
    if decided.is_some_and(|table| !can_go_on(&world, table)) {
        // What voters had accepted from a leader that died has too many in it that died as well.
        return Ok(played(&world));
    }
    all_are_in(&world, &before, true)?;
    let (said, before) = (world.to_agree, regroup(&mut world));
    let end = world.now + REGROUPED;
    world.run(end)?;
    let Some(before) = before else { return Ok(Played { revived: true, ..played(&world) }) };
    all_are_in(&world, &before, false)?;
    frugal(&world, world.to_agree - said)?;
    Ok(Played { revived: true, regrouped: true, ..played(&world) })
}

fn played(world: &World) -> Played {
    let generation = world.judge.tables.keys().next_back().copied().unwrap_or(0);
    Played { events: world.events, messages: world.messages, generation, revived: false, regrouped: false }
}

/// What befalls the world, and what its programs do meanwhile.
fn storm_of(world: &mut World, members: usize, storm: Duration) {
    let processes = world.processes.len();
    // Now and then all leave.
    let leave = *world.rng.choice(&[10, 10, 10, 100]).unwrap_or(&0);
    world.plan = Plan::Busy { leaves: *world.rng.choice(&[0, 0, leave]).unwrap_or(&0) };
    for at in 0..members {
        // Some never do.
        if world.chance(85) {
            let after = world.upto(storm / 3);
            let leaving = world.chance(leave);
            world.at(after, Event::GoOn { at, generation: 0, leaving });
        }
    }
    for _ in 0..world.rng.usize(0..=3) {
        let (after, at) = (world.upto(storm), world.rng.usize(0..processes));
        world.at(after, Event::Crash { at });
    }
    for _ in 0..world.rng.usize(0..=4) {
        let after = world.upto(storm);
        world.at(after, Event::Knock);
    }
    if processes > 1 {
        for _ in 0..world.rng.usize(0..=4) {
            let a = world.rng.usize(0..processes);
            let b = (a + world.rng.usize(1..processes)) % processes;
            let after = world.upto(storm);
            world.at(after, Event::Break { a, b });
        }
    }
    // Somebody is thought to be lost, and is not: several lead at once.
    let suspicions = *world.rng.choice(&[0, 0, 10, 60]).unwrap_or(&0);
    for _ in 0..if processes > 1 { suspicions } else { 0 } {
        let at = world.rng.usize(0..processes);
        let of = if world.rng.bool() { 0 } else { world.rng.usize(0..processes) };
        let after = world.upto(storm);
        if at != of {
            world.at(after, Event::Down { at, of, certain: false });
        }
    }
    if processes > 1 && world.chance(25) {
        let a = world.rng.usize(0..processes);
        world.apart = Some((a, (a + world.rng.usize(1..processes)) % processes));
    }
    if world.chance(40) {
        let (after, part) = (world.upto(storm), world.rng.u32(..));
        world.at(after, Event::Cut { part });
        let after = after + world.upto(storm);
        world.at(after, Event::Heal);
    }
}

/// The last generation that anybody alive knows.
fn last(world: &World) -> Option<Table> {
    let tables = world.alive().map(|at| world.processes[at].machine.table());
    tables.max_by_key(|table| table.generation).cloned()
}

/// Whether enough of that generation are alive to decide, and to be in the next one.
fn can_go_on(world: &World, table: &Table) -> bool {
    let lives = |id| {
        let mut processes = world.processes.iter();
        // A newcomer that does not know that it is in may know nobody who is left.
        processes.any(|process| process.node.id == id && process.alive && !process.machine.is_over())
            && !world.judge.is_newcomer(id)
    };
    let stays = |id| lives(id) && !world.judge.leaves(id);
    let there = table.members.iter().filter(|member| stays(member.id)).count();
    // One of two without a link may be left out.
    let apart = usize::from(world.apart.is_some());
    table.quorum(lives) && there >= world.limits.least.max(1) + apart
}

/// Faults stop: what is cut is healed, all hear of all dead, and all want to go on: from what, if they can.
fn calm(world: &mut World) -> Result<Option<Table>, Broken> {
    world.calm = true;
    world.weather = Weather { delay: world.weather.delay.min(ms(3)), ..Weather::default() };
    world.at(Duration::ZERO, Event::Heal);
    for at in world.alive() {
        for of in world.dead() {
            let (after, certain) = (world.upto(ms(50)), world.rng.bool());
            world.at(after, Event::Down { at, of, certain });
        }
    }
    // Some gave up before, and are asking whether there is hope.
    let end = world.now + ms(400);
    world.run(end)?;
    let Some(table) = last(world) else { return Ok(None) };
    go_on(world, &table, ms(30));
    Ok(can_go_on(world, &table).then_some(table))
}

fn go_on(world: &mut World, table: &Table, within: Duration) {
    world.plan = Plan::Until(table.generation);
    for at in world.alive() {
        let id = world.processes[at].node.id;
        let generation = world.processes[at].machine.table().generation;
        if world.processes[at].machine.table().rank_of(id).is_some() && !world.judge.waiting(id) {
            let after = world.upto(within);
            world.at(after, Event::GoOn { at, generation, leaving: false });
        }
    }
}

/// All go on once more, and nothing is in the way.
fn regroup(world: &mut World) -> Option<Table> {
    let table = last(world)?;
    go_on(world, &table, ms(20));
    can_go_on(world, &table).then_some(table)
}

/// All of that generation who live are in one after it, and have what they wanted. Where faults went before, others may
/// have gone on without some of them, who have heard that; where none did, all are there, and newcomers as far as there
/// is room.
fn all_are_in(world: &World, old: &Table, after_faults: bool) -> Result<(), Broken> {
    let Some(table) = last(world) else { return broken(Promise::Liveness, "nobody is left") };
    if table.generation == old.generation {
        return broken(Promise::Liveness, format!("nothing follows {}", brief(old)));
    }
    let full = table.members.len() == world.limits.most;
    for process in world.processes.iter().filter(|process| process.alive) {
        let id = process.node.id;
        let newcomer = world.judge.is_newcomer(id);
        if if newcomer { after_faults || full || !finds(world, process, &table) } else { !old.knows(id) } {
            continue;
        }
        let inside = process.machine.table() == &table && table.knows(id) && !world.judge.waiting(id);
        let over = process.machine.is_over();
        if world.judge.leaves(id) && world.judge.waiting(id) && after_faults {
            // Others had not heard that it leaves; it does when they go on.
            continue;
        }
        if !(inside || over && after_faults) || inside && over {
            let how = format!("{id:?} has {}, others {}", brief(process.machine.table()), brief(&table));
            return broken(Promise::Liveness, how);
        }
    }
    Ok(())
}

/// Whether a newcomer knows somebody of that generation, and nobody alive who has been left behind.
fn finds(world: &World, newcomer: &Process, table: &Table) -> bool {
    let alive = world.processes.iter().filter(|process| process.alive && !process.machine.is_over());
    let mut known = alive.filter(|process| newcomer.machine.table().votes(process.node.id)).peekable();
    known.peek().is_some() && known.all(|process| process.machine.table() == table)
}

/// A decision without faults takes eight messages for each that takes part, and a few that were on the way.
fn frugal(world: &World, messages: u64) -> Result<(), Broken> {
    let there = world.alive().count() as u64;
    let Some(table) = last(world) else { return Ok(()) };
    // Those who were left behind by an earlier generation try on, until their time is up.
    let mut alive = world.processes.iter().filter(|process| process.alive);
    let behind =
        |process: &Process| process.machine.table() != &table && !world.judge.is_newcomer(process.node.id);
    if alive.any(behind) {
        return Ok(());
    }
    match messages > 8 * there {
        true => broken(Promise::Messages, format!("{messages} messages for a decision of {there}")),
        false => Ok(()),
    }
}

#[test]
fn no_schedule_breaks_a_promise() {
    if let Ok(seed) = std::env::var("RINGWORLD_MODEL_SEED") {
        let seed = seed.parse().expect("RINGWORLD_MODEL_SEED is a number");
        println!("{:?}", play(seed, None, true).expect("it keeps all promises"));
        return;
    }
    let count = setting("RINGWORLD_MODEL_SCHEDULES", 10_000);
    let first = setting("RINGWORLD_MODEL_FIRST", 0);
    let mut sum = Played::default();
    let (mut revived, mut regrouped, mut furthest) = (0_u64, 0_u64, 0);
    for seed in first..first + count {
        match play(seed, None, false) {
            Ok(played) => {
                sum.events += played.events;
                sum.messages += played.messages;
                sum.generation += played.generation;
                furthest = furthest.max(played.generation);
                revived += u64::from(played.revived);
                regrouped += u64::from(played.regrouped);
            }
            Err(Found { broken, seed }) => {
                panic!("{:?}: {}; again by RINGWORLD_MODEL_SEED={seed}", broken.promise, broken.how)
            }
        }
    }
    println!(
        "{count} schedules from {first}: {} events, {} messages, {} generations, at most {furthest} in one; \
         in {revived} all that could went on after the faults, in {regrouped} once more",
        sum.events, sum.messages, sum.generation
    );
    // A harness in which nothing happens finds nothing.
    assert!(revived * 4 > count && regrouped * 4 > count && sum.generation > count);
}
