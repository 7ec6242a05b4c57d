//! Readers of what comes from a network, or from a neighbour on the same host. The first byte of an input says which of
//! them reads the rest.

/// Control frames, and the handshakes before them.
pub fn control(data: &[u8]) {
    use ringworld_bootstrap::fuzzing::{control_frame, control_handshake};
    dispatch(data, &[control_frame, control_handshake]);
}

/// What a neighbour writes into shared memory, and what comes by the sockets of that.
pub fn shm(data: &[u8]) {
    use ringworld_transport_shm::fuzzing::{neighbour, stranger};
    dispatch(data, &[neighbour, neighbour, neighbour, stranger]);
}

/// Frames, addresses and handshakes of the TCP transport.
pub fn tcp(data: &[u8]) {
    use ringworld_transport_tcp::fuzzing::{address, frames, handshake};
    dispatch(data, &[frames, address, handshake]);
}

/// Slots and introductions of the verbs transport.
pub fn verbs(data: &[u8]) {
    use ringworld_transport_ibverbs::fuzzing::{introductions, slot};
    dispatch(data, &[introductions, slot]);
}

fn dispatch(data: &[u8], readers: &[fn(&[u8])]) {
    if let Some((first, rest)) = data.split_first() {
        readers[usize::from(*first) % readers.len()](rest);
    }
}
