//! Queue pairs and the receive queue that many of them can share.

use std::io;
use std::ptr::NonNull;
use std::sync::Arc;

use ibverbs_sys as ffi;
use ringworld_transport::SendMemory;

use super::context::Pd;
use super::memory::{Registered, Slab};
use super::queue::Cq;
use super::{check, object};
use crate::blob::{Offer, PortInfo};
use crate::choice::LinkLayer;

/// The longest inline message that is asked for: with its work request it fills 256 bytes, which is what
/// devices fetch at a time.
const INLINE: u32 = 220;

/// A shared receive queue.
pub(crate) struct Srq {
    raw: NonNull<ffi::ibv_srq>,
    domain: Arc<Pd>,
}

// SAFETY: libibverbs may be called with one queue from any thread, and concurrently.
unsafe impl Send for Srq {}
// SAFETY: as above.
unsafe impl Sync for Srq {}

impl Srq {
    pub(crate) fn new(domain: &Arc<Pd>, capacity: usize) -> io::Result<Arc<Self>> {
        let mut attributes = ffi::ibv_srq_init_attr::default();
        attributes.attr.max_wr = u32::try_from(capacity).map_err(|_| io::ErrorKind::InvalidInput)?;
        attributes.attr.max_sge = 1;
        // SAFETY: the domain exists, and `attributes` may be written.
        let raw = object(unsafe { ffi::ibv_create_srq(domain.as_raw(), &raw mut attributes) })?;
        Ok(Arc::new(Self { raw, domain: Arc::clone(domain) }))
    }

    /// Lends a slot to the queue.
    pub(crate) fn post_receive(&self, slab: &mut Slab, slot: usize, id: u64) -> io::Result<()> {
        let call = self.domain.context().operations().post_srq_recv.ok_or(io::ErrorKind::Unsupported)?;
        receive(slab, slot, id, |request, bad| {
            // SAFETY: the queue exists; the request names a slot that the device gets until it is taken back.
            unsafe { call(self.raw.as_ptr(), request, bad) }
        })
    }
}

impl Drop for Srq {
    fn drop(&mut self) {
        // SAFETY: the queue pairs hold references to the queue, so it goes after them.
        super::note("shared receive queue", check(unsafe { ffi::ibv_destroy_srq(self.raw.as_ptr()) }));
    }
}

fn receive(
    slab: &mut Slab,
    slot: usize,
    id: u64,
    call: impl FnOnce(*mut ffi::ibv_recv_wr, *mut *mut ffi::ibv_recv_wr) -> i32,
) -> io::Result<()> {
    let mut element = slab.element(slot, slab.slot_size()).ok_or(io::ErrorKind::InvalidInput)?;
    let mut request =
        ffi::ibv_recv_wr { wr_id: id, sg_list: &raw mut element, num_sge: 1, ..Default::default() };
    let mut bad = std::ptr::null_mut();
    check(call(&raw mut request, &raw mut bad))?;
    slab.lend(slot);
    Ok(())
}

/// How a queue pair is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) send_depth: usize,
    /// Without meaning when receives are shared.
    pub(crate) receive_depth: usize,
}

/// When a queue pair gives up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    pub(crate) timeout: u8,
    pub(crate) retries: u8,
}

/// The other end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remote<'a> {
    pub(crate) offer: &'a Offer,
    /// Which of the offered queue pairs.
    pub(crate) number: u32,
    pub(crate) here: &'a PortInfo,
    pub(crate) port: u8,
    pub(crate) gid_index: u8,
}

/// Where an RDMA write goes, and what the receiver is told once it is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    pub(crate) address: u64,
    pub(crate) key: u32,
    pub(crate) immediate: u32,
}

/// A reliable connected queue pair.
pub(crate) struct Qp {
    raw: NonNull<ffi::ibv_qp>,
    inline: usize,
    domain: Arc<Pd>,
    _completions: Arc<Cq>,
    _shared: Option<Arc<Srq>>,
}

// SAFETY: libibverbs may be called with one pair from any thread, and concurrently.
unsafe impl Send for Qp {}
// SAFETY: as above.
unsafe impl Sync for Qp {}

impl Qp {
    pub(crate) fn new(
        domain: &Arc<Pd>,
        completions: &Arc<Cq>,
        shared: Option<&Arc<Srq>>,
        shape: Shape,
    ) -> io::Result<Self> {
        let mut inline = INLINE;
        loop {
            let mut attributes = ffi::ibv_qp_init_attr {
                send_cq: completions.as_raw(),
                recv_cq: completions.as_raw(),
                srq: shared.map_or(std::ptr::null_mut(), |shared| shared.raw.as_ptr()),
                qp_type: ffi::ibv_qp_type::IBV_QPT_RC,
                ..Default::default()
            };
            attributes.cap.max_send_wr = u32::try_from(shape.send_depth).unwrap_or(u32::MAX);
            attributes.cap.max_recv_wr = match shared {
                Some(_) => 0,
                None => u32::try_from(shape.receive_depth).unwrap_or(u32::MAX),
            };
            attributes.cap.max_send_sge = 1;
            attributes.cap.max_recv_sge = 1;
            attributes.cap.max_inline_data = inline;
            // SAFETY: domain, completion queue and shared queue exist, and `attributes` may be written.
            match object(unsafe { ffi::ibv_create_qp(domain.as_raw(), &raw mut attributes) }) {
                Ok(raw) => {
                    return Ok(Self {
                        raw,
                        inline: inline as usize,
                        domain: Arc::clone(domain),
                        _completions: Arc::clone(completions),
                        _shared: shared.map(Arc::clone),
                    });
                }
                // There is no way to ask what a device can do inline, other than to try.
                Err(error) if error.raw_os_error() == Some(EINVAL) && inline > 0 => inline /= 2,
                Err(error) => return Err(error),
            }
        }
    }

    /// Numbers start anew only when a device has had all 2^24.
    pub(crate) fn number(&self) -> u32 {
        // SAFETY: the pair exists; the field never changes.
        unsafe { (*self.raw.as_ptr()).qp_num }
    }

    /// The longest message that the device copies when it is posted.
    pub(crate) fn inline(&self) -> usize {
        self.inline
    }

    fn modify(&self, mut attributes: ffi::ibv_qp_attr, mask: ffi::ibv_qp_attr_mask) -> io::Result<()> {
        // SAFETY: the pair exists, and `attributes` holds what `mask` names.
        check(unsafe { ffi::ibv_modify_qp(self.raw.as_ptr(), &raw mut attributes, mask.0 as i32) })
    }

    /// RESET to INIT: from here on receives can be posted.
    pub(crate) fn initialise(&self, port: u8) -> io::Result<()> {
        use ffi::ibv_qp_attr_mask as mask;
        let attributes = ffi::ibv_qp_attr {
            qp_state: ffi::ibv_qp_state::IBV_QPS_INIT,
            port_num: port,
            qp_access_flags: ffi::ibv_access_flags::IBV_ACCESS_REMOTE_WRITE.0,
            ..Default::default()
        };
        let state = mask::IBV_QP_STATE | mask::IBV_QP_PKEY_INDEX | mask::IBV_QP_PORT;
        self.modify(attributes, state | mask::IBV_QP_ACCESS_FLAGS)
    }

    /// INIT to RTR: the pair knows its other end, and receives.
    pub(crate) fn receive_from(&self, remote: Remote<'_>) -> io::Result<()> {
        use ffi::ibv_qp_attr_mask as mask;
        let Remote { offer, number, here, port, gid_index } = remote;
        let mut address = ffi::ibv_ah_attr { port_num: port, ..Default::default() };
        // InfiniBand routes by LID within a subnet, and the first half of a GID names the subnet.
        let routed = here.link_layer == LinkLayer::Ethernet || here.gid.0[..8] != offer.port.gid.0[..8];
        address.is_global = u8::from(routed);
        if routed {
            address.grh.dgid = ffi::ibv_gid { raw: offer.port.gid.0 };
            address.grh.sgid_index = gid_index;
            address.grh.hop_limit = 64;
        }
        if here.link_layer == LinkLayer::InfiniBand {
            address.dlid = offer.port.lid;
        }
        let attributes = ffi::ibv_qp_attr {
            qp_state: ffi::ibv_qp_state::IBV_QPS_RTR,
            path_mtu: u32::from(here.mtu.min(offer.port.mtu)),
            dest_qp_num: number,
            rq_psn: offer.sequence,
            max_dest_rd_atomic: 0,
            // 0.64 ms, in the code of the specification. Credits see to it that it is never waited for.
            min_rnr_timer: 12,
            ah_attr: address,
            ..Default::default()
        };
        let peer = mask::IBV_QP_STATE | mask::IBV_QP_AV | mask::IBV_QP_PATH_MTU | mask::IBV_QP_DEST_QPN;
        let rest = mask::IBV_QP_RQ_PSN | mask::IBV_QP_MAX_DEST_RD_ATOMIC | mask::IBV_QP_MIN_RNR_TIMER;
        self.modify(attributes, peer | rest)
    }

    /// RTR to RTS: the pair sends, with packet numbers from `sequence`.
    pub(crate) fn send_with(&self, sequence: u32, timing: Timing) -> io::Result<()> {
        use ffi::ibv_qp_attr_mask as mask;
        let attributes = ffi::ibv_qp_attr {
            qp_state: ffi::ibv_qp_state::IBV_QPS_RTS,
            sq_psn: sequence,
            timeout: timing.timeout,
            retry_cnt: timing.retries,
            // Finite (7 is for ever), because a receiver that is not ready is a fault of ours.
            rnr_retry: 6,
            max_rd_atomic: 0,
            ..Default::default()
        };
        let times = mask::IBV_QP_STATE | mask::IBV_QP_TIMEOUT | mask::IBV_QP_RETRY_CNT;
        self.modify(
            attributes,
            times | mask::IBV_QP_RNR_RETRY | mask::IBV_QP_SQ_PSN | mask::IBV_QP_MAX_QP_RD_ATOMIC,
        )
    }

    /// Lends a slot to the receive queue.
    pub(crate) fn post_receive(&self, slab: &mut Slab, slot: usize, id: u64) -> io::Result<()> {
        let call = self.domain.context().operations().post_recv.ok_or(io::ErrorKind::Unsupported)?;
        receive(slab, slot, id, |request, bad| {
            // SAFETY: the pair exists; the request names a slot that the device gets until it is taken back.
            unsafe { call(self.raw.as_ptr(), request, bad) }
        })
    }

    /// Sends the first `length` bytes of a slot, which is lent to the device until it is taken back.
    pub(crate) fn send_slot(
        &self,
        slab: &mut Slab,
        (slot, length): (usize, usize),
        write: Option<Write>,
        id: u64,
        signal: bool,
    ) -> io::Result<()> {
        let element = slab.element(slot, length).ok_or(io::ErrorKind::InvalidInput)?;
        // SAFETY: the element names a slot that nobody else refers to, and the next line keeps it so.
        unsafe { self.post(Some(element), write.into(), false, id, signal) }?;
        slab.lend(slot);
        Ok(())
    }

    /// Sends up to [`Qp::inline`] bytes, which are copied before this returns.
    pub(crate) fn send_inline(
        &self,
        bytes: &[u8],
        write: Option<Write>,
        id: u64,
        signal: bool,
    ) -> io::Result<()> {
        let length = u32::try_from(bytes.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        let element = ffi::ibv_sge { addr: bytes.as_ptr() as u64, length, lkey: 0 };
        // SAFETY: inline elements are read before the call returns, and `bytes` is borrowed for that long.
        unsafe { self.post(Some(element), write.into(), true, id, signal) }
    }

    /// Writes a part of registered memory, always signalled.
    ///
    /// # Safety of the memory
    ///
    /// The device reads it until the completion is polled or `source` is dropped, which deregisters it.
    pub(crate) fn write(
        &self,
        source: &Registered<SendMemory>,
        (offset, length): (usize, usize),
        write: Write,
        id: u64,
    ) -> io::Result<()> {
        let element = source.element(offset, length).ok_or(io::ErrorKind::InvalidInput)?;
        // SAFETY: the element lies in registered memory, which the device can read only while it is registered.
        unsafe { self.post(Some(element), Verb::Write(write), false, id, true) }
    }

    /// Writes nothing to nowhere: succeeds if the other end is there.
    pub(crate) fn probe(&self, id: u64) -> io::Result<()> {
        // SAFETY: there is no memory.
        unsafe { self.post(None, Verb::Probe, false, id, true) }
    }

    /// # Safety
    ///
    /// The memory of `element` must stay as it is until the request has completed or, if `inline`, until
    /// this returns; or else be out of the device's reach because its region is gone.
    unsafe fn post(
        &self,
        element: Option<ffi::ibv_sge>,
        verb: Verb,
        inline: bool,
        id: u64,
        signal: bool,
    ) -> io::Result<()> {
        let call = self.domain.context().operations().post_send.ok_or(io::ErrorKind::Unsupported)?;
        let mut elements = [element.unwrap_or_default()];
        let flag = |set: bool, flag: ffi::ibv_send_flags| if set { flag.0 } else { 0 };
        let mut request = ffi::ibv_send_wr {
            wr_id: id,
            sg_list: elements.as_mut_ptr(),
            num_sge: i32::from(element.is_some()),
            send_flags: flag(signal, ffi::ibv_send_flags::IBV_SEND_SIGNALED)
                | flag(inline, ffi::ibv_send_flags::IBV_SEND_INLINE),
            ..Default::default()
        };
        match verb {
            Verb::Send => request.opcode = ffi::ibv_wr_opcode::IBV_WR_SEND,
            Verb::Probe => request.opcode = ffi::ibv_wr_opcode::IBV_WR_RDMA_WRITE,
            Verb::Write(write) => {
                request.opcode = ffi::ibv_wr_opcode::IBV_WR_RDMA_WRITE_WITH_IMM;
                request.__bindgen_anon_1.imm_data = write.immediate.to_be();
                request.wr.rdma.remote_addr = write.address;
                request.wr.rdma.rkey = write.key;
            }
        }
        let mut bad = std::ptr::null_mut();
        // SAFETY: the pair exists, the request and its element live until the call returns, and the caller
        // vouches for the memory.
        check(unsafe { call(self.raw.as_ptr(), &raw mut request, &raw mut bad) })
    }
}

/// What a work request of the send queue does.
enum Verb {
    Send,
    Write(Write),
    Probe,
}

impl From<Option<Write>> for Verb {
    fn from(write: Option<Write>) -> Self {
        write.map_or(Self::Send, Self::Write)
    }
}

const EINVAL: i32 = rustix::io::Errno::INVAL.raw_os_error();

impl Drop for Qp {
    fn drop(&mut self) {
        // Stops the device at once; its flushes are for nobody any more.
        let error = ffi::ibv_qp_attr { qp_state: ffi::ibv_qp_state::IBV_QPS_ERR, ..Default::default() };
        let _ = self.modify(error, ffi::ibv_qp_attr_mask::IBV_QP_STATE);
        // SAFETY: the pair exists and is given up once. When the call returns, the device is done with it.
        super::note("queue pair", check(unsafe { ffi::ibv_destroy_qp(self.raw.as_ptr()) }));
    }
}
