//! What the tests of the fabric share: memory that lives for ever, a desk that places messages in it, and
//! one rank with what it was told.

use ringworld_transport::{
    Event, Header, Operation, Placement, Placer, Posted, Rank, RecvMemory, Refused, RemoteKey, SendMemory,
    Token, Transport,
};
use ringworld_transport_sim::Sim;

/// Bytes that are never freed, so that lending them is sound whatever a transport does.
#[derive(Clone, Copy)]
pub(crate) struct Leaked {
    pointer: *mut u8,
    length: usize,
}

// SAFETY: the memory is never freed, and a test reads it only after its operation has completed.
unsafe impl Send for Leaked {}

impl Leaked {
    pub(crate) fn new(length: usize) -> Self {
        let bytes = vec![0u8; length].leak();
        Self { pointer: bytes.as_mut_ptr(), length }
    }

    /// To be called once per `Leaked`.
    pub(crate) fn lend(self) -> RecvMemory {
        // SAFETY: initialised, never freed, and left alone until the operation has completed.
        unsafe { RecvMemory::new(self.pointer, self.length) }
    }

    pub(crate) fn read(self) -> Vec<u8> {
        // SAFETY: initialised and never freed; the operation that wrote here has completed.
        let bytes = unsafe { std::slice::from_raw_parts(self.pointer, self.length) };
        bytes.to_vec()
    }
}

/// Places every message whole and remembers it.
#[derive(Default)]
pub(crate) struct Desk {
    pub(crate) placed: Vec<(Rank, Vec<u8>, Leaked)>,
}

impl Placer for Desk {
    fn place(&mut self, peer: Rank, header: &[u8], length: usize) -> Result<Placement, String> {
        let memory = Leaked::new(length);
        let token = Token(self.placed.len() as u64);
        self.placed.push((peer, header.to_vec(), memory));
        Ok(Placement { token, memory: memory.lend() })
    }
}

/// One rank.
pub(crate) struct Node {
    pub(crate) sim: Sim,
    pub(crate) desk: Desk,
    /// Everything it was told, as text.
    pub(crate) told: Vec<String>,
}

impl Node {
    pub(crate) fn new(sim: Sim) -> Self {
        Self { sim, desk: Desk::default(), told: Vec::new() }
    }

    pub(crate) fn poll(&mut self) -> bool {
        let mut events = Vec::new();
        let moved = self.sim.poll(&mut self.desk, &mut events);
        self.told.extend(events.iter().map(describe));
        moved
    }

    pub(crate) fn was_told(&self, beginning: &str) -> bool {
        self.times_told(beginning) > 0
    }

    pub(crate) fn times_told(&self, beginning: &str) -> usize {
        self.told.iter().filter(|text| text.starts_with(beginning)).count()
    }

    pub(crate) fn send(
        &mut self,
        peer: Rank,
        header: &[u8],
        bytes: Vec<u8>,
        token: u64,
    ) -> Result<Posted, Refused> {
        let header = Header::new(header).expect("short enough");
        let payload = SendMemory::from_static(bytes.leak());
        self.sim.post(Operation::Message { peer, header, payload, token: Token(token) })
    }

    pub(crate) fn put(
        &mut self,
        peer: Rank,
        key: RemoteKey,
        offset: usize,
        bytes: Vec<u8>,
        token: u64,
    ) -> Result<Posted, Refused> {
        let payload = SendMemory::from_static(bytes.leak());
        self.sim.post(Operation::Put { peer, key, offset, payload, token: Token(token) })
    }
}

fn describe(event: &Event) -> String {
    match event {
        Event::Sent { token } => format!("sent {}", token.0),
        Event::Received { peer, token } => format!("received {} from {peer}", token.0),
        Event::Filled { token } => format!("filled {}", token.0),
        Event::PeerDown { peer, cause } => format!("down {peer}: {cause}"),
        Event::PeerClosed { peer } => format!("closed {peer}"),
        Event::Closed => "closed".to_owned(),
        other => format!("{other:?}"),
    }
}
