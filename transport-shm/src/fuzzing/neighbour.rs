//! Rank 1, which does what a script says.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use ringworld_auth::Secret;
use ringworld_transport::{Address, Rank, Transport as _};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::net::{Shutdown, SocketFlags};

use super::script::Script;
use crate::board::{self, Board, CELLS};
use crate::config::Config;
use crate::handshake::{Initiator, Responder, Verdict, answer_to, open, seal};
use crate::link::{self, BEGIN, BRIEF, FIN, MESSAGE, PIECE, PROOF, PUT, SLOTTED};
use crate::memory::{Mapping, Writers};
use crate::outbox;
use crate::packet::{self, Received};
use crate::ring::{self, Producer, Record};
use crate::slots::SLOTS;
use crate::transport::Shm;

/// How many channels there are.
pub(super) const CHANNELS: u64 = 2;

/// Of both ranks.
pub(super) fn config(rank: Rank) -> Config {
    Config { secret: Secret::new(b"a secret that no input contains".to_vec()), ..Config::new(rank, 2, 7) }
}

/// What it has of a connection, as far as that has come.
pub(super) struct Neighbour {
    /// Its address, outbox and bell. It is never polled.
    shm: Shm,
    socket: Option<OwnedFd>,
    link: Option<Mapping>,
    /// Where it writes records.
    producer: Producer,
    /// Bytes that are missing of a message.
    missing: usize,
    /// Rank 0's.
    bell: Option<OwnedFd>,
}

impl Neighbour {
    pub(super) fn new() -> Self {
        let mut shm = Shm::bind(config(1)).expect("shared memory");
        shm.pass(0, 0);
        Self { shm, socket: None, link: None, producer: Producer::new(0), missing: 0, bell: None }
    }

    pub(super) fn address(&self) -> Address {
        self.shm.address()
    }

    /// Connects, by a socket that it has, with rank 0, which polls.
    pub(super) fn dial(&mut self, script: &mut Script<'_>, socket: OwnedFd, mut poll: impl FnMut()) {
        let (initiator, hello) = Initiator::new(&self.shm.identity, 0).expect("random numbers");
        say(&socket, &script.packet(&hello), &descriptors(script, Vec::new()));
        poll();
        let welcome = hear(&socket).0;
        self.socket = Some(socket);
        let Ok((mut session, _)) = initiator.welcomed(&welcome) else { return };
        let (memory, fd) = Mapping::create(link::SIZE, Writers::Both).expect("memory");
        let proof = script.number();
        memory.store(PROOF, if script.is_one_in(16) { script.number() } else { proof });
        let offer = seal(&mut session, proof).expect("a session");
        self.hand_over(&offer, Some(fd), script);
        self.link = Some(memory);
        poll();
        self.bell = self.socket.as_ref().and_then(|socket| hear(socket).1.into_iter().nth(1));
    }

    /// Lets itself be connected by rank 0, which has begun that, and polls.
    pub(super) fn is_dialled(&mut self, script: &mut Script<'_>, mut poll: impl FnMut()) {
        let Some(listeners) = &self.shm.listeners else { return };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let Ok(socket) = rustix::net::accept_with(&listeners.talk, flags) else { return };
        let responder = Responder::new(&self.shm.identity, &hear(&socket).0).expect("a Hello");
        let verdict = match script.below(32) {
            29 => Verdict::Wrong,
            30 => Verdict::Down,
            31 => Verdict::Finished,
            _ => Verdict::Ready,
        };
        let (mut session, welcome) = responder.answer(verdict).expect("random numbers");
        say(&socket, &script.packet(&welcome), &descriptors(script, Vec::new()));
        poll();
        let (offer, fds) = hear(&socket);
        self.socket = Some(socket);
        let (Ok(proof), Some(memory)) = (open(&mut session, &offer), fds.first()) else { return };
        let memory = Mapping::open(memory, link::SIZE, Writers::Both).expect("memory as it was made");
        assert_eq!(memory.load(PROOF), proof);
        let answer = answer_to(proof);
        memory.store(PROOF, if script.is_one_in(16) { script.number() } else { answer });
        let accept = seal(&mut session, answer).expect("a session");
        self.hand_over(&accept, None, script);
        (self.link, self.producer) = (Some(memory), Producer::new(ring::SIZE));
        self.bell = fds.into_iter().nth(2);
        poll();
    }

    /// Says something, and hands over what belongs to it.
    fn hand_over(&self, right: &[u8], memory: Option<OwnedFd>, script: &mut Script<'_>) {
        let own = self.shm.handed().map(|fd| fd.try_clone_to_owned().expect("a descriptor"));
        let fds = descriptors(script, memory.into_iter().chain(own).collect());
        if let Some(socket) = &self.socket {
            say(socket, &script.packet(right), &fds);
        }
    }

    /// Does one thing.
    pub(super) fn act(&mut self, script: &mut Script<'_>) {
        match script.below(32) {
            0..20 => self.write(script),
            20..24 => self.scribble(script),
            24..30 => self.show(script),
            30 => {
                if let Some(bell) = &self.bell {
                    // What it says to that does not matter.
                    let _ = rustix::io::write(bell, &script.number().to_ne_bytes());
                }
            }
            _ => match (script.below(8), &self.socket) {
                (0, _) => self.socket = None,
                (1, Some(socket)) => _ = rustix::net::shutdown(socket, Shutdown::Write),
                (2, Some(socket)) => _ = rustix::net::shutdown(socket, Shutdown::Both),
                (3, Some(socket)) => say(socket, script.bytes(255), &any_descriptors(script)),
                _ => {}
            },
        }
    }

    /// Writes into the link: a record.
    fn write(&mut self, script: &mut Script<'_>) {
        let Some(link) = &self.link else { return };
        let (mut detail, mut words) = (0, Vec::new());
        let kind = match script.below(16) {
            0..4 => MESSAGE,
            4..6 => SLOTTED,
            6..11 => BEGIN,
            11 | 12 => BRIEF,
            13 | 14 => PUT,
            _ => FIN,
        };
        // What has begun is mostly brought to its end.
        let kind = if self.missing > 0 && !script.is_one_in(16) { PIECE } else { kind };
        match kind {
            MESSAGE => detail = script.byte() % 16,
            BEGIN => {
                self.missing = script.length();
                words.push(self.missing as u64);
            }
            SLOTTED => {
                let length = script.length() % (2 * link::WHOLE);
                words.push(piece(script, length));
            }
            PIECE => {
                let rest = self.missing.min(outbox::LONGEST);
                let length = if script.is_one_in(4) { script.length() } else { rest };
                self.missing = self.missing.saturating_sub(length);
                words.push(piece(script, length));
            }
            PUT => {
                let length = script.length();
                words.extend([key(script), offset(script), piece(script, length)]);
            }
            BRIEF => words.extend([key(script), offset(script)]),
            _ if script.is_one_in(2) => words.extend((0..script.below(4)).map(|_| script.number())),
            _ => {}
        }
        let mut body: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        if matches!(kind, MESSAGE | SLOTTED | BEGIN | BRIEF) {
            body.extend(script.bytes(if matches!(kind, SLOTTED | BEGIN) { 40 } else { 200 }));
        }
        match kind {
            MESSAGE => detail = detail.min(body.len() as u8),
            SLOTTED | BEGIN => detail = (body.len() - 8) as u8,
            _ => {}
        }
        let mut record = Record { kind, detail, length: body.len(), is_last: script.is_one_in(8) };
        match script.below(32) {
            0 => record.length = script.number() as usize % (1 << 15),
            1 => record.detail = script.byte(),
            2 => record.kind = script.byte().max(1),
            _ => {}
        }
        self.producer.forge(link, record, &body);
    }

    /// Writes anywhere.
    fn scribble(&self, script: &mut Script<'_>) {
        let outbox = self.shm.outbox.memory();
        let (memory, size) = match (script.below(3), &self.link) {
            (0, _) => (outbox, outbox::SIZE),
            // What is looked at by itself.
            (1, _) => (outbox, 4096 + 256),
            (_, Some(link)) if script.is_one_in(2) => (link, 1024),
            (_, Some(link)) => (link, link::SIZE),
            _ => return,
        };
        if script.is_one_in(2) {
            memory.store(script.number() as usize % (size / 8) * 8, script.number());
        } else {
            let bytes = script.bytes(64);
            memory.write(script.number() as usize % (size - bytes.len()), bytes);
        }
    }

    /// Writes on its board.
    fn show(&self, script: &mut Script<'_>) {
        let (board, memory) = (Board::OF_OUTBOX, self.shm.outbox.memory());
        let (channel, number) = (script.number() % CHANNELS, script.collective());
        let place = if script.is_one_in(8) { script.below(8) } else { channel as usize };
        let place = Board::places().nth(place).expect("a place");
        match script.below(4) {
            0 => board.open(memory, place, channel, number),
            1 => board.pass(memory, place, number),
            2 => board.leave(memory, place, channel),
            _ => {
                let length = script.length() % (board::LONGEST + 1);
                let room = script.below(4 * CELLS as usize) as u32;
                board.show(memory, (place, number, room), &[script.byte(); 24], &vec![1; length]);
            }
        }
    }
}

/// Where a part of a payload lies, as records say it.
fn piece(script: &mut Script<'_>, length: usize) -> u64 {
    let slot = if script.is_one_in(8) { SLOTS as u64 - script.number() % 20 } else { script.number() % 16 };
    let within = if script.is_one_in(8) { script.number() % 66 } else { 0 };
    slot | within << 16 | (length as u64) << 32
}

/// What memory of rank 0 may be called.
fn key(script: &mut Script<'_>) -> u64 {
    if script.is_one_in(16) { script.number() } else { 1 << 32 | script.number() % 3 }
}

fn offset(script: &mut Script<'_>) -> u64 {
    if script.is_one_in(8) { script.number() } else { 0 }
}

/// What is handed over instead of `right`, which it mostly is.
fn descriptors(script: &mut Script<'_>, mut right: Vec<OwnedFd>) -> Vec<OwnedFd> {
    match script.below(64) {
        60 => _ = right.pop(),
        61 => right.extend(any_descriptors(script)),
        62 if !right.is_empty() => {
            let at = script.below(right.len());
            right[at] = descriptor(script);
        }
        63 if right.len() > 1 => right.swap(0, 1),
        _ => {}
    }
    right
}

/// Mostly none.
pub(super) fn any_descriptors(script: &mut Script<'_>) -> Vec<OwnedFd> {
    (0..script.byte().saturating_sub(243)).map(|_| descriptor(script)).collect()
}

/// Something that can be handed over, and that no reader may wait for.
fn descriptor(script: &mut Script<'_>) -> OwnedFd {
    let fd = match script.below(7) {
        0 => eventfd(0, EventfdFlags::CLOEXEC),
        1 => eventfd(u32::MAX, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK),
        2 => rustix::pipe::pipe().map(|(read, _write)| read),
        3 => rustix::pipe::pipe().map(|(_read, write)| write),
        4 => rustix::fs::open("/dev/null", rustix::fs::OFlags::RDWR, rustix::fs::Mode::empty()),
        5 => rustix::event::epoll::create(rustix::event::epoll::CreateFlags::CLOEXEC),
        _ => memory(script),
    };
    fd.expect("a descriptor")
}

/// Memory of some size, sealed or not.
fn memory(script: &mut Script<'_>) -> Result<OwnedFd, rustix::io::Errno> {
    let fd = rustix::fs::memfd_create("fuzz", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let size = [0, 1, link::SIZE, link::SIZE + 4096, outbox::SIZE][script.below(5)];
    rustix::fs::ftruncate(&fd, size as u64)?;
    let seals = [SealFlags::SHRINK, SealFlags::GROW, SealFlags::WRITE, SealFlags::FUTURE_WRITE];
    let most = 2 + script.below(3);
    let set = seals.into_iter().take(most).filter(|_| !script.is_one_in(4));
    rustix::fs::fcntl_add_seals(&fd, set.collect())?;
    Ok(fd)
}

/// Whether it is heard does not matter.
pub(super) fn say(socket: &OwnedFd, bytes: &[u8], fds: &[OwnedFd]) {
    let fds: Vec<BorrowedFd<'_>> = fds.iter().map(|fd| fd.as_fd()).collect();
    let _ = packet::send_many(socket, bytes, &fds);
}

/// What has come, if anything has.
fn hear(socket: &OwnedFd) -> (Vec<u8>, Vec<OwnedFd>) {
    match packet::receive(socket) {
        Ok(Received::Packet(bytes, fds)) => (bytes, fds),
        _ => (Vec::new(), Vec::new()),
    }
}
