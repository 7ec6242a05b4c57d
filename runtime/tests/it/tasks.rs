//! Tasks: futures that are dropped lose nothing, and what can be waited for can be awaited.

use std::time::Duration;

use crate::common::{small, wires, world};
use ringworld::testing::{Choice, Hub};
use ringworld::{Error, Tag};
use tokio::time::{sleep, timeout};

pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

const STOP: u32 = u32::MAX;

/// As every tutorial does it: a loop around `select!`, which drops the receives that were not ready.
#[test]
fn a_loop_of_select_loses_nothing() {
    for wire in wires() {
        for length in [1, 5000] {
            world(wire, 2, &small(), |rank| {
                const EACH: u32 = 60;
                if rank.rank() == 1 {
                    for value in 0..3 * EACH {
                        let mut data = vec![0u32; length];
                        data[0] = value;
                        rank.start_send(data, 0, value % 3).unwrap().wait().unwrap();
                        if value % 7 == 0 {
                            std::thread::sleep(Duration::from_micros(300));
                        }
                    }
                    rank.send(&[STOP], 0, 3).unwrap();
                    rank.barrier().unwrap();
                    return;
                }
                let mut got: [Vec<u32>; 3] = Default::default();
                block_on(async {
                    let mut stopped = false;
                    while !stopped || got.iter().map(Vec::len).sum::<usize>() < 3 * EACH as usize {
                        let [mut a, mut b, mut c, mut stop] =
                            [0, 1, 2, 3].map(|tag| rank.start_recv(vec![0u32; length], 1, tag).unwrap());
                        let (data, status) = tokio::select! {
                            it = &mut a => it.unwrap(),
                            it = &mut b => it.unwrap(),
                            it = &mut c => it.unwrap(),
                            it = &mut stop => it.unwrap(),
                            () = sleep(Duration::from_millis(1)) => continue,
                        };
                        match status.tag {
                            3 => stopped = true,
                            tag => got[tag as usize].push(data[0]),
                        }
                    }
                });
                for (tag, values) in got.iter().enumerate() {
                    let sent: Vec<u32> = (0..3 * EACH).filter(|value| value % 3 == tag as u32).collect();
                    assert_eq!(*values, sent, "{wire:?}, tag {tag}");
                }
                rank.barrier().unwrap();
            });
        }
    }
}

#[test]
fn a_receive_that_has_timed_out_leaves_its_message_to_the_next() {
    for wire in wires() {
        world(wire, 2, &small(), |rank| {
            rank.barrier().unwrap();
            if rank.rank() == 1 {
                std::thread::sleep(Duration::from_millis(30));
                rank.send(&[5u8], 0, 1).unwrap();
                rank.barrier().unwrap();
                return;
            }
            block_on(async {
                let late = timeout(Duration::from_millis(2), rank.start_recv(vec![0u8], 1, 1).unwrap()).await;
                assert!(late.is_err());
                let (data, _) = rank.start_recv(vec![0u8], 1, 1).unwrap().await.unwrap();
                assert_eq!(data, [5]);
            });
            rank.barrier().unwrap();
        });
    }
}

#[test]
fn a_matched_probe_can_be_awaited_and_dropped() {
    for wire in wires() {
        for length in [1, 5000] {
            world(wire, 2, &small(), |rank| {
                if rank.rank() == 1 {
                    rank.recv(&mut [0u8], 0, 9).unwrap();
                    std::thread::sleep(Duration::from_millis(5));
                    for value in 0..20u8 {
                        rank.send(&vec![value; length], 0, 1).unwrap();
                    }
                    return;
                }
                block_on(async {
                    // Nobody waits here any more, and nothing is taken.
                    let dropped = rank.start_probe_matched(1, 1).unwrap();
                    assert!(timeout(Duration::from_millis(1), dropped).await.is_err());
                    rank.start_send(vec![0u8], 1, 9).unwrap().await.unwrap();
                    for value in 0..20u8 {
                        let message = rank.start_probe_matched(1, Tag::Any).unwrap().await.unwrap();
                        let room = vec![0u8; message.status().count];
                        let (data, status) = message.start_recv(room).unwrap().await.unwrap();
                        assert_eq!((data, status.tag), (vec![value; length], 1), "{wire:?}");
                    }
                });
            });
        }
    }
}

/// Objects of any length, awaited, and given up now and then.
#[test]
fn objects_can_be_awaited_and_dropped() {
    for wire in wires() {
        world(wire, 2, &small(), |rank| {
            let peer = 1 - rank.rank();
            let text = |round: usize| "object ".repeat(1 + round * round);
            block_on(async {
                let send = async {
                    for round in 0..30 {
                        rank.start_send_object(&(round, text(round)), peer, 4).unwrap().await.unwrap();
                        sleep(Duration::from_micros(500)).await;
                    }
                };
                let receive = async {
                    let mut next = 0;
                    while next < 30 {
                        let coming = rank.start_recv_object::<(usize, String)>(peer, 4).unwrap();
                        match timeout(Duration::from_millis(1), coming).await {
                            Ok(object) => assert_eq!(object.unwrap(), (next, text(next)), "{wire:?}"),
                            Err(_) => continue,
                        }
                        next += 1;
                    }
                };
                tokio::join!(send, receive);
            });
            rank.barrier().unwrap();
        });
    }
}

/// Each waits for the other to be the root, and nobody says anything: only what they remind one another of tells.
#[test]
fn tasks_whose_collectives_disagree_are_told() {
    for wire in wires() {
        let choice = Choice { remind: Duration::from_millis(30), hub: Some(Hub::new(2)), ..small() };
        let outcomes = world(wire, 2, &choice, |rank| {
            let pending = rank.start_broadcast(vec![0u32; 2], 1 - rank.rank()).unwrap();
            block_on(async { timeout(Duration::from_secs(20), pending).await })
        });
        let told = outcomes.iter().all(|outcome| matches!(outcome, Ok(Err(Error::Mismatch { .. }))));
        assert!(told, "{wire:?}: {outcomes:?}");
    }
}
