//! What users' own unit tests stand on: `ringworld::testing::ranks`, whatever is set around it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::time::Instant;

use ringworld::{Error, Op, World, testing};

fn sum(world: &World) -> usize {
    world.all_reduce_one(world.rank(), Op::Sum).unwrap()
}

#[test]
fn worlds_of_threads_compute_one_after_another_and_side_by_side() {
    for size in [1, 2, 5] {
        assert_eq!(testing::ranks(size, |world| sum(&world)), vec![size * (size - 1) / 2; size]);
    }
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(testing::ranks(3, |world| sum(&world)), [3; 3]));
        }
    });
}

#[test]
fn the_panic_of_the_rank_that_began_it_is_the_panic_of_the_test() {
    let begun = Instant::now();
    let panic = catch_unwind(AssertUnwindSafe(|| {
        testing::ranks(3, |world| {
            assert!(world.rank() != 1, "rank 1 does not like this");
            sum(&world)
        })
    }));
    let panic = panic.unwrap_err();
    let said = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    assert_eq!(said, Some("rank 1 does not like this"));
    assert!(begun.elapsed().as_secs() < 30, "the others are told, and do not wait for a time-out");
}

#[test]
fn the_others_see_a_rank_that_fails() {
    let errors = testing::ranks(2, |world| match world.rank() {
        0 => None,
        _ => Some(world.barrier().unwrap_err()),
    });
    assert!(matches!(errors[1], Some(Error::PeerFinished { .. } | Error::Mismatch { .. })), "{errors:?}");
}

/// Set for the process that the last test starts.
const INSIDE: &str = "RINGWORLD_TESTS_INSIDE";

#[test]
fn no_variable_of_the_environment_has_a_say() {
    if std::env::var_os(INSIDE).is_some() {
        assert_eq!(testing::ranks(2, |world| sum(&world)), [1, 1]);
        assert_eq!(World::builder().ignore_environment().build().unwrap().size(), 1);
        return;
    }
    let inside = inside("no_variable_of_the_environment_has_a_say")
        .envs([("SLURM_PROCID", "0"), ("SLURM_NTASKS", "8"), ("MASTER_NODE", "192.0.2.1")])
        .envs([("WORLD_SIZE", "7"), ("RANK", "6"), ("RINGWORLD_CONFIG", "/nonexistent.toml")])
        .envs([
            ("RINGWORLD_IF_EXCLUDE", "lo"),
            ("RINGWORLD_SECRET", "a secret"),
            ("RINGWORLD_TRANSPORT", "^tcp"),
            ("RINGWORLD_LOG", ""),
        ])
        .output()
        .unwrap();
    assert!(inside.status.success(), "{}", String::from_utf8_lossy(&inside.stderr));
    let stdout = String::from_utf8_lossy(&inside.stdout);
    assert!(stdout.contains("1 passed"), "{stdout}");
}

/// A process that runs this test alone.
fn inside(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([
        "--exact",
        &format!("{}::{test}", module_path!().split_once("::").unwrap().1),
        "--nocapture",
    ]);
    command.env(INSIDE, "1").env_remove("RINGWORLD_LOG");
    command
}

#[test]
fn warnings_are_seen_and_a_program_may_install_a_subscriber_later() {
    if std::env::var_os(INSIDE).is_some() {
        let leave_a_message = || {
            testing::ranks(2, |world| {
                let peer = 1 - world.rank();
                world.send(&[1u8], peer, 7).unwrap();
                world.barrier().unwrap();
            });
        };
        leave_a_message();
        // Would panic, if the library had installed one.
        tracing_subscriber::fmt().with_ansi(false).with_writer(std::io::stdout).init();
        leave_a_message();
        return;
    }
    let test = "warnings_are_seen_and_a_program_may_install_a_subscriber_later";
    let output = inside(test).output().unwrap();
    let (stdout, stderr) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{stdout}{stderr}");
    let warnings = |text: &str| text.matches("1 message was never received").count();
    assert_eq!((warnings(&stderr), warnings(&stdout)), (2, 2), "{stdout}{stderr}");

    // Somebody who asks is heard; this program's own subscriber then comes too late.
    let output = inside(test).env("RINGWORLD_LOG", "debug").output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && stderr.contains(" DEBUG ringworld"), "{stderr}");
}

#[test]
fn ranks_are_run_from_a_task_as_well() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(runtime.block_on(async { testing::ranks(2, |world| sum(&world)) }), [1, 1]);
}

#[test]
fn warnings_of_transports_are_heard_on_whatever_thread_they_come() {
    if std::env::var_os(INSIDE).is_some() {
        let world = World::builder().ignore_environment().build().unwrap();
        std::thread::spawn(|| ringworld_transport::warn!("the cable is out")).join().unwrap();
        tracing_subscriber::fmt().with_ansi(false).with_writer(std::io::stdout).init();
        ringworld_transport::warn!("it is in again");
        world.finish().unwrap();
        return;
    }
    let output = inside("warnings_of_transports_are_heard_on_whatever_thread_they_come").output().unwrap();
    let (stdout, stderr) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}{stderr}");
    assert!(stderr.contains("the cable is out") && !stderr.contains("it is in again"), "{stderr}");
    assert!(stdout.contains("it is in again") && !stdout.contains("the cable is out"), "{stdout}");
}
