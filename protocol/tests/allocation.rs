//! The steady state allocates nothing: a global allocator counts.
//!
//! Alone in its binary, and one test only, so that no other thread allocates meanwhile.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)] // helpers of tests
#![allow(unsafe_code)]

use ringworld_protocol::{
    Action, BufferId, Config, Element, Envelope, Header, Key, Machine, Mode, Selector, Span, TagSelector,
};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

fn count() {
    ALLOCATIONS.with(|count| count.set(count.get() + 1));
}

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`, which is the same.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `realloc`, which is the same.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Moves everything between two machines until nothing is left to do.
fn exchange(machines: &mut [Machine; 2]) {
    let mut idle = 0;
    let mut rank = 0;
    while idle < 2 {
        idle += 1;
        while let Some(action) = machines[rank].next_action() {
            idle = 0;
            match action {
                Action::Message { peer, header, payload, token } => {
                    let len = payload.map_or(0, |span| span.len);
                    let target =
                        machines[peer].header(rank, header.encode(&mut [0; Header::MAX]), len).unwrap();
                    token.into_iter().for_each(|token| machines[rank].sent(token));
                    machines[peer].delivered(target.token);
                }
                Action::Expose { token, .. } => {
                    machines[rank].exposed(token, Key::new(&token.to_le_bytes()).unwrap());
                }
                Action::Put { peer, key, token, .. } => {
                    machines[rank].sent(token);
                    machines[peer].filled(u64::from_le_bytes(key.as_bytes().try_into().unwrap()));
                }
                Action::Copy { .. } | Action::Release { .. } => {}
            }
        }
        rank = 1 - rank;
    }
}

fn round(machines: &mut [Machine; 2], len: usize, expected: bool) {
    let envelope = Envelope { context: 3, element: Element::RAW, tag: 7, signature: [0; 24] };
    let span = Span::of(BufferId::FIRST, len);
    for from in [0, 1] {
        let to = 1 - from;
        let source = if len.is_multiple_of(2) { Some(from) } else { None };
        let selector = Selector { context: 3, source, tag: TagSelector::Exact(7) };
        if expected {
            machines[to].receive(selector, span, Element::RAW);
        }
        machines[from].send(to, envelope, span, Mode::Standard);
        exchange(machines);
        if !expected {
            machines[to].receive(selector, span, Element::RAW);
            exchange(machines);
        }
        for machine in machines.iter_mut() {
            let completion = machine.next_completion().expect("both sides complete");
            assert!(completion.outcome.is_ok() && machine.next_completion().is_none());
        }
    }
}

/// Many messages wait, each with a tag of its own, and are received last first.
fn backwards(machines: &mut [Machine; 2]) {
    let (tags, span) = (100..200, Span::of(BufferId::FIRST, 8));
    for tag in tags.clone() {
        let envelope = Envelope { context: 5, element: Element::RAW, tag, signature: [0; 24] };
        machines[0].send(1, envelope, span, Mode::Standard);
    }
    exchange(machines);
    for tag in tags.rev() {
        let selector = Selector { context: 5, source: Some(0), tag: TagSelector::Exact(tag) };
        machines[1].receive(selector, span, Element::RAW);
    }
    exchange(machines);
    for machine in machines {
        while let Some(completion) = machine.next_completion() {
            assert!(completion.outcome.is_ok());
        }
        assert_eq!(machine.pending(), 0);
    }
}

#[test]
fn the_steady_state_allocates_nothing() {
    let config = |rank| Config::new(rank, 2, 1024, 16 << 10).unwrap();
    let mut machines = [Machine::new(config(0)), Machine::new(config(1))];
    let kinds = [(0, true), (8, true), (1023, true), (8, false), (100_000, true), (100_001, false)];
    for (len, expected) in kinds {
        (0..100).for_each(|_| round(&mut machines, len, expected));
        let before = ALLOCATIONS.with(Cell::get);
        (0..1000).for_each(|_| round(&mut machines, len, expected));
        let after = ALLOCATIONS.with(Cell::get);
        assert_eq!(after - before, 0, "1000 ping-pongs of {len} bytes, posted before arrival: {expected}");
    }
    // The same behind a window full of messages that nobody receives.
    for from in [0, 1] {
        let envelope = Envelope { context: 3, element: Element::RAW, tag: 8, signature: [0; 24] };
        let span = Span::of(BufferId::FIRST, 1000);
        for _ in 0..40 {
            machines[from].send(1 - from, envelope, span, Mode::Standard);
        }
        exchange(&mut machines);
        while machines[from].next_completion().is_some() {}
    }
    for (len, expected) in [(8, true), (8, false)] {
        (0..100).for_each(|_| round(&mut machines, len, expected));
        let before = ALLOCATIONS.with(Cell::get);
        (0..1000).for_each(|_| round(&mut machines, len, expected));
        let after = ALLOCATIONS.with(Cell::get);
        assert_eq!(after - before, 0, "1000 ping-pongs behind a full window, posted first: {expected}");
    }
    let mut machines = [Machine::new(config(0)), Machine::new(config(1))];
    // And where many wait, each with a tag of its own, and are taken last first.
    (0..100).for_each(|_| backwards(&mut machines));
    let before = ALLOCATIONS.with(Cell::get);
    (0..1000).for_each(|_| backwards(&mut machines));
    let after = ALLOCATIONS.with(Cell::get);
    assert_eq!(after - before, 0, "1000 times many messages, taken last first");
    assert!(ALLOCATIONS.with(Cell::get) > 0, "the counter counts");
}
