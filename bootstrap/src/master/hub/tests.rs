//! How many frames the master sends: a world of n ranks may cost some per rank, whatever happens, not some per
//! pair. Ranks are outboxes here, so that worlds of hundreds cost nothing else.

use super::*;
use crate::observe::{Waiting, Whereabouts};
use crate::settings::Settings;
use crate::wire::Notice;

/// A world whose ranks are channels.
struct World {
    inbound: mpsc::Sender<Inbound>,
    outboxes: Vec<mpsc::UnboundedReceiver<Outgoing>>,
    /// What each rank has been sent, pings aside.
    frames: Vec<Vec<ToRank>>,
    hub: tokio::task::JoinHandle<Outcome>,
}

impl World {
    async fn form(size: usize) -> Self {
        Self::form_served(size, None).await
    }

    /// One of whose ranks the process that serves it is.
    async fn form_served(size: usize, serving: Option<u64>) -> Self {
        let config = MasterConfig::new(size, &Settings::default());
        let (inbound, orders) = mpsc::channel(1024);
        let hub = tokio::spawn(Hub::new(&config, inbound.clone(), Arc::default()).run(orders, None));
        let mut outboxes = Vec::new();
        for rank in 0..size as u64 {
            let hello = Hello {
                host: format!("n{rank}"),
                host_id: rank,
                process: Process { pid: 1, space: 0 },
                job: None,
                world_size: size as u64,
                num_nodes: None,
                rank: Some(rank),
                local_rank: None,
                program: program::Program::default(),
                serves: serving == Some(rank),
                elastic: false,
            };
            let (outbox, written) = mpsc::unbounded_channel();
            inbound.send(Inbound::Joined { connection: rank, hello, outbox }).await.ok().unwrap();
            outboxes.push(written);
        }
        let frames = outboxes.iter().map(|_| Vec::new()).collect();
        let mut world = Self { inbound, outboxes, frames, hub };
        for rank in 0..size {
            let addresses = vec![("tcp".into(), vec![0; 100])];
            world.says(rank, ToMaster::Ready { addresses }).await;
        }
        world.quiet().await;
        world
    }

    async fn says(&mut self, rank: usize, message: ToMaster) {
        // As the readers do, which take turns with everybody else.
        self.inbound.send(Inbound::Message { connection: rank as u64, message }).await.ok().unwrap();
        self.write();
        tokio::task::yield_now().await;
    }

    /// Writes what is in the outboxes, as their writers do.
    fn write(&mut self) {
        for (outbox, frames) in self.outboxes.iter_mut().zip(&mut self.frames) {
            while let Ok(next) = outbox.try_recv() {
                match next {
                    Outgoing::Frame(bytes) | Outgoing::Words(bytes, _) => {
                        frames.push(postcard::from_bytes(&bytes).unwrap())
                    }
                    Outgoing::Flush(done) => drop(done.send(())),
                    Outgoing::After(_) => {}
                }
            }
        }
    }

    /// Waits until nothing more comes.
    async fn quiet(&mut self) {
        for _ in 0..40 {
            sleep(Duration::from_millis(10)).await;
            self.write();
        }
    }

    /// How many frames all ranks together have been sent since this was asked last.
    fn sent(&mut self) -> usize {
        self.frames.iter_mut().map(|frames| std::mem::take(frames).len()).sum()
    }

    /// The ranks that `rank` has been told are down, in order.
    fn down(&self, rank: usize) -> Vec<(u64, String)> {
        let notices = self.frames[rank].iter().filter_map(|frame| match frame {
            ToRank::Notices(notices) => Some(notices),
            _ => None,
        });
        let down = notices.flatten().filter_map(|notice| match notice {
            Notice::Down { ranks, cause } => {
                Some(ranks.within(1000).map(|rank| (rank as u64, cause.clone())))
            }
            _ => None,
        });
        down.flatten().collect()
    }

    fn heard(&self) -> usize {
        self.frames.iter().flatten().filter(|frame| matches!(frame, ToRank::Heard)).count()
    }

    fn finished(&self, rank: usize) -> Vec<u64> {
        let notices = self.frames[rank].iter().filter_map(|frame| match frame {
            ToRank::Notices(notices) => Some(notices),
            _ => None,
        });
        let finished = notices.flatten().filter_map(|notice| match notice {
            Notice::Finished { ranks } => Some(ranks.within(1000).map(|rank| rank as u64)),
            _ => None,
        });
        finished.flatten().collect()
    }
}

fn each_size(run: impl AsyncFn(usize, World)) {
    // Time passes only while nobody has anything to do, so that it does not matter how busy the machine is.
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        for size in [8, 64, 512] {
            let world = World::form(size).await;
            run(size, world).await;
        }
    });
}

#[test]
fn a_world_forms_with_a_few_frames_for_each_rank() {
    each_size(async |size, mut world| {
        // The welcome, the rank, the table.
        assert_eq!(world.sent(), 3 * size);
    });
}

#[test]
fn the_end_of_a_world_costs_a_few_frames_for_each_rank() {
    each_size(async |size, mut world| {
        world.sent();
        for rank in 0..size - 1 {
            world.says(rank, ToMaster::Goodbye).await;
        }
        world.quiet().await;
        let mut finished = world.finished(size - 1);
        finished.sort_unstable();
        assert_eq!(finished, (0..size as u64 - 1).collect::<Vec<_>>(), "who is left knows who is not");
        assert_eq!(world.heard(), size - 1);
        world.says(size - 1, ToMaster::Goodbye).await;
        world.quiet().await;
        let sent = world.sent();
        assert!(sent <= 6 * size, "{sent} frames for {size} ranks");
    });
}

#[test]
fn a_rank_that_has_left_is_told_within_the_second_while_others_leave() {
    each_size(async |size, mut world| {
        let begin = Instant::now();
        for rank in 1..size {
            world.says(rank, ToMaster::Goodbye).await;
        }
        while world.finished(0).len() < size - 1 {
            assert!(begin.elapsed() < Duration::from_millis(900), "{:?}", world.finished(0));
            sleep(Duration::from_millis(1)).await;
            world.write();
        }
    });
}

#[test]
fn a_death_and_all_that_follows_cost_a_few_frames_for_each_rank() {
    each_size(async |size, mut world| {
        world.sent();
        let begin = Instant::now();
        world.inbound.send(Inbound::Gone { connection: 3, cause: ReadError::Closed }).await.ok().unwrap();
        sleep(Duration::from_millis(1)).await;
        world.write();
        // The first is told at once: the others' data connections to it break at the same moment.
        for rank in (0..size).filter(|rank| *rank != 3) {
            let down = world.down(rank);
            assert!(matches!(&down[..], [(3, cause)] if cause.contains("without finishing")), "{down:?}");
        }
        assert!(begin.elapsed() < Duration::from_millis(300));
        for rank in (0..size).filter(|rank| *rank != 3) {
            world.says(rank, ToMaster::PeerLost { rank: 3, cause: "reset".into() }).await;
            let fault = ToMaster::Fault(wire::Fault::Mismatch { detail: format!("seen by {rank}") });
            world.says(rank, fault).await;
            world.says(rank, ToMaster::Leaving).await;
        }
        world.quiet().await;
        assert_eq!(world.heard(), size - 1, "each may end");
        let sent = world.sent();
        assert!(sent <= 8 * size, "{sent} frames for {size} ranks");
        let outcome = world.hub.await.unwrap();
        assert!(matches!(outcome, Outcome::Died(down) if down.len() == size && down[0].0 == 3));
    });
}

#[test]
fn an_abort_by_all_at_once_costs_a_few_frames_for_each_rank() {
    each_size(async |size, mut world| {
        world.sent();
        for rank in 0..size {
            world.says(rank, ToMaster::Abort { code: 7, reason: format!("by {rank}") }).await;
        }
        world.quiet().await;
        assert_eq!(world.heard(), size);
        let sent = world.sent();
        assert!(sent <= 4 * size, "{sent} frames for {size} ranks");
        assert_eq!(world.hub.await.unwrap(), Outcome::Aborted { rank: 0, code: 7, reason: "by 0".into() });
    });
}

#[test]
fn words_for_a_rank_that_does_not_read_are_bounded() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let mut world = World::form(2).await;
        let tell = || ToMaster::Tell { rank: 1, words: vec![0; wire::TEXT_LIMIT] };
        // Nothing is written meanwhile.
        for _ in 0..3000 {
            let said = Inbound::Message { connection: 0, message: tell() };
            world.inbound.send(said).await.ok().unwrap();
        }
        world
            .inbound
            .send(Inbound::Message {
                connection: 0,
                message: ToMaster::Tell { rank: 1, words: vec![0; wire::TEXT_LIMIT + 1] },
            })
            .await
            .ok()
            .unwrap();
        sleep(Duration::from_millis(10)).await;
        let told = |world: &World| {
            let told = world.frames[1].iter().filter(|frame| matches!(frame, ToRank::Told { rank: 0, .. }));
            told.count()
        };
        world.write();
        let first = told(&world);
        let most = wire::WORDS_LIMIT / wire::TEXT_LIMIT;
        assert!((most - 8..=most).contains(&first), "{first}");
        // What has been written makes room.
        world.says(0, tell()).await;
        world.quiet().await;
        assert_eq!(told(&world), first + 1);
    });
}

impl World {
    /// What `rank` has been asked for since this was asked last: the number of the question.
    fn asked(&mut self, rank: usize) -> Option<u64> {
        let at = self.frames[rank].iter().position(|frame| matches!(frame, ToRank::AskWhere { .. }))?;
        match self.frames[rank].remove(at) {
            ToRank::AskWhere { number } => Some(number),
            _ => None,
        }
    }

    /// All ranks answer as these do, and again when they are asked again; others are quiet.
    async fn answers(&mut self, told: &[Whereabouts]) {
        for _ in 0..2 {
            let mut numbers = Vec::new();
            while numbers.len() < told.len() {
                sleep(Duration::from_millis(1)).await;
                self.write();
                let next = numbers.len();
                numbers.extend(self.asked(next));
            }
            for (rank, told) in told.iter().enumerate() {
                self.says(rank, ToMaster::Where { number: numbers[rank], told: told.clone() }).await;
            }
        }
        sleep(Duration::from_millis(1)).await;
        self.write();
    }

    /// The lines that ranks have been told to say.
    fn lines(&mut self) -> Vec<(usize, String, bool)> {
        let lines = |(rank, frames): (usize, &Vec<ToRank>)| {
            let line = |frame: &ToRank| match frame {
                ToRank::Stall { text, deadlock } => Some((rank, text.clone(), *deadlock)),
                _ => None,
            };
            frames.iter().filter_map(line).collect::<Vec<_>>()
        };
        self.frames.iter().enumerate().flat_map(lines).collect()
    }
}

fn waits(number: u64, peer: u64) -> Whereabouts {
    let waited = Duration::from_secs(30);
    let waiting =
        Waiting { number, waited, stalled: true, call: "recv".into(), peers: vec![peer], any: false };
    Whereabouts { waits: vec![waiting], others: Some(0), ..Whereabouts::default() }
}

#[test]
fn a_stall_is_said_by_one_rank_once_and_a_deadlock_too() {
    each_size(async |size, mut world| {
        world.sent();
        let mut told = vec![waits(1, 3); size];
        told[3] = Whereabouts { last: Some("barrier #4".into()), ..Whereabouts::default() };
        for _ in 0..2 {
            for rank in (0..size).filter(|rank| *rank != 3) {
                world.says(rank, ToMaster::Stalled).await;
            }
            world.answers(&told).await;
        }
        let lines = world.lines();
        let [(0, line, false)] = &lines[..] else { panic!("{lines:?}") };
        assert!(line.contains("wait for rank 3 on n3") && line.contains("since barrier #4"), "{line}");
        world.sent();
        told[3] = waits(9, 0);
        world.says(3, ToMaster::Stalled).await;
        world.answers(&told).await;
        let lines = world.lines();
        assert!(matches!(&lines[..], [(0, line, true)] if line.starts_with("deadlock: ")), "{lines:?}");
    });
}

#[test]
fn who_asks_before_its_time_is_over_is_told_what_others_do() {
    each_size(async |size, mut world| {
        world.sent();
        world.says(5, ToMaster::AskStory).await;
        let mut told = vec![Whereabouts::default(); size];
        told[5] = waits(1, 2);
        world.answers(&told).await;
        let stories: Vec<_> =
            world.frames[5].iter().filter(|frame| matches!(frame, ToRank::Story { .. })).collect();
        let [ToRank::Story { text }] = &stories[..] else { panic!("{stories:?}") };
        assert!(text.contains("rank 5 waits for rank 2 on n2"), "{text}");
    });
}

#[test]
fn what_is_on_its_way_at_the_first_look_is_looked_for_once_more_before_an_error_is_made_of_it() {
    each_size(async |size, mut world| {
        world.sent();
        let mut told: Vec<_> = (0..size).map(|rank| waits(1, (rank as u64 + 1) % size as u64)).collect();
        told[1].moves = true;
        let stories = |world: &World| {
            let stories = world.frames[5].iter().filter_map(|frame| match frame {
                ToRank::Story { text } => Some(text.clone()),
                _ => None,
            });
            stories.collect::<Vec<_>>()
        };
        for moves in [true, false] {
            world.says(5, ToMaster::AskStory).await;
            world.answers(&told).await;
            assert!(stories(&world).is_empty(), "told before it was certain: {:?}", stories(&world));
            told[1].moves = moves;
            world.answers(&told).await;
            let what = if moves { "data is on its way" } else { "deadlock: all ranks wait" };
            assert!(matches!(&stories(&world)[..], [text] if text.contains(what)), "{:?}", stories(&world));
            world.sent();
            told[1].moves = true;
        }
    });
}

#[test]
fn however_often_ranks_want_to_know_and_whatever_they_answer_all_are_asked_now_and_then() {
    each_size(async |size, mut world| {
        world.sent();
        let begin = Instant::now();
        for time in 0..20 {
            for rank in 0..size.min(50) {
                world.says(rank, ToMaster::Stalled).await;
                // Of no question, of no rank, and without measure.
                let peers = vec![u64::MAX; 10_000];
                let mut told = waits(time, 7);
                (told.waits[0].peers, told.sent) = (peers, u64::MAX);
                world.says(rank, ToMaster::Where { number: time, told }).await;
            }
            sleep(Duration::from_millis(50)).await;
            world.write();
        }
        let seconds = 1 + begin.elapsed().as_secs() as usize;
        let sent = world.sent();
        assert!(sent <= 10 * seconds * size, "{sent} frames for {size} ranks in {seconds} s");
    });
}

/// Its process may end at once, and with it whoever could tell the others.
#[tokio::test(start_paused = true)]
async fn the_rank_that_serves_hears_last_of_what_ends_the_world() {
    let mut world = World::form_served(4, Some(1)).await;
    world.inbound.send(Inbound::Gone { connection: 2, cause: ReadError::Closed }).await.ok().unwrap();
    let Some(Outgoing::After(mut heard)) = world.outboxes[1].recv().await else {
        panic!("it is told at once")
    };
    assert_eq!(heard.len(), 2);
    assert!(heard.iter_mut().all(|heard| heard.try_recv().is_err()), "nobody has written anything");
    assert!(matches!(world.outboxes[1].recv().await, Some(Outgoing::Frame(_))));
    world.quiet().await;
    assert!(heard.iter_mut().all(|heard| heard.try_recv().is_ok()));
    for rank in [0, 3] {
        let notices = |frame: &ToRank| matches!(frame, ToRank::Notices(_));
        assert_eq!(world.frames[rank].iter().filter(|frame| notices(frame)).count(), 1);
    }
    // Nobody needs to wait where others leave in good order.
    world.says(3, ToMaster::Goodbye).await;
    while let Some(next) = world.outboxes[1].recv().await {
        match next {
            Outgoing::After(_) => panic!("it waits for others"),
            Outgoing::Frame(_) => break,
            _ => {}
        }
    }
}
