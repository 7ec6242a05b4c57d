//! A process that a launcher has started joins once, and is told so at once when it tries again.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, TcpListener};
use std::time::{Duration, Instant};

use ringworld::{Error, Result, World};
use ringworld_bootstrap::{Master, MasterConfig, Settings};

/// How long whoever is not refused waits for an answer.
const PATIENCE: Duration = Duration::from_secs(3);

/// Settings as a launcher's, whose part is played by the process that has started this one.
fn settings(port: u16) -> Vec<(String, String)> {
    let parent = std::os::unix::process::parent_id().to_string();
    let port = port.to_string();
    [
        ("master_node", "127.0.0.1"),
        ("master_port", &port),
        ("world_size", "1"),
        ("rank", "0"),
        ("master_external", "1"),
        ("parent_pid", &parent),
        ("timeout", &PATIENCE.as_secs().to_string()),
    ]
    .map(|(key, value)| (key.into(), value.into()))
    .into()
}

fn join(port: u16) -> Result<World> {
    let builder = World::builder().ignore_environment();
    settings(port).into_iter().fold(builder, |builder, (key, value)| builder.set(key, value)).build()
}

/// What is said to whoever comes again, at once.
fn refused(port: u16) -> String {
    let began = Instant::now();
    let error = join(port).unwrap_err();
    assert!(began.elapsed() < PATIENCE, "after {:?}: {error}", began.elapsed());
    assert!(matches!(error, Error::Bootstrap(_)), "{error}");
    error.to_string()
}

#[test]
fn whoever_has_joined_is_told_so_while_the_world_lives_and_when_it_has_been_left() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let served = Settings::load(&settings(port), &BTreeMap::new()).unwrap();

    // Nobody answers there yet: that is no reason not to try again.
    let began = Instant::now();
    let unanswered = join(port).unwrap_err().to_string();
    assert!(began.elapsed() >= PATIENCE && !unanswered.contains("has joined"), "{unanswered}");

    let master = Master::serve(listener, MasterConfig::new(1, &served)).unwrap();
    let world = join(port).unwrap();
    let told = refused(port);
    assert!(told.contains("has joined") && told.contains("rank 0") && told.contains("duplicate()"), "{told}");
    world.barrier().unwrap();
    world.finish().unwrap();
    let told = refused(port);
    assert!(told.contains("has left it") && told.contains("rank 0"), "{told}");
    master.shutdown();

    // Worlds that no launcher serves are not concerned.
    assert_eq!(ringworld::testing::ranks(2, |world| world.size()), [2, 2]);
}
