//! A send and a receive in one call, begun together: the exchange that cannot deadlock.
//!
//! Both halves are posted before either is waited for, so a ring or a grid of ranks that all call it move
//! at any size, however little the wire buffers. Neighbours: `buffer` lends the memory of both halves,
//! `cartesian` finds the partners.

use bytemuck::Pod;
use ringworld_protocol::Mode;

use crate::Result;
use crate::communicator::Communicator;
use crate::message::{Source, Status, Tag};
use ringworld_engine::lend::{Endings, blocking_pair, blocking_replace};
use ringworld_engine::{ElementCode, ReceiveCall, SendCall, Told, Verb};

/// Whom the receiving half of an exchange receives from: a rank, [`Source::Any`], or nobody.
///
/// Made from any of `usize`, [`Source`] and `Option<usize>`, such as the source of a
/// [`Shift`](crate::Shift), which at an open border is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RecvFrom(Option<Source>);

impl From<usize> for RecvFrom {
    fn from(rank: usize) -> Self {
        Self(Some(Source::Rank(rank)))
    }
}

impl From<Source> for RecvFrom {
    fn from(source: Source) -> Self {
        Self(Some(source))
    }
}

impl From<Option<usize>> for RecvFrom {
    fn from(rank: Option<usize>) -> Self {
        Self(rank.map(Source::Rank))
    }
}

/// Both halves of an exchange, checked.
struct Exchange {
    name: &'static str,
    number: u64,
    to: Option<(usize, u32)>,
    from: Option<(Source, Tag)>,
    send: Option<SendCall>,
    recv: Option<ReceiveCall>,
}

/// # Sending and receiving in one call
impl Communicator {
    /// Sends `send` to rank `to` and receives into the beginning of `recv`, both at once, and returns when
    /// both have ended, saying what came.
    ///
    /// Ranks that exchange in a ring, in pairs or with themselves cannot deadlock, whatever the sizes. It
    /// matches like separate calls: the other side may use [`Communicator::send`] and
    /// [`Communicator::recv`]. `to` and `from` may be `None`, as at the border of a grid: that half is
    /// left out, `recv` stays as it is, and the status is `None` when nothing was to be received.
    ///
    /// # Errors
    ///
    /// Those of [`Communicator::send`] and [`Communicator::recv`], the receive's first. An invalid rank is
    /// found before anything is sent; otherwise both halves are tried, and both have ended.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let (next, previous) = ((world.rank() + 1) % world.size(), (world.rank() + world.size() - 1) % world.size());
    /// let mut from_previous = [0u64; 2];
    /// let status = world.send_recv(&[1u64, 2], next, 7, &mut from_previous, previous, 7)?;
    /// assert_eq!(status.map(|status| status.count), Some(2));
    /// assert_eq!(from_previous, [1, 2]);
    /// // Nobody on either side.
    /// assert!(world.send_recv(&[3u64], None, 7, &mut from_previous, None, 7)?.is_none());
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias("MPI_Sendrecv", "send_receive", "send_receive_into"))]
    #[track_caller]
    pub fn send_recv<S: Pod, R: Pod>(
        &self,
        send: &[S],
        to: impl Into<Option<usize>>,
        send_tag: u32,
        recv: &mut [R],
        from: impl Into<RecvFrom>,
        recv_tag: impl Into<Tag>,
    ) -> Result<Option<Status>> {
        let exchange = self.exchange::<S, R>(
            "send_recv",
            to.into().map(|to| (to, send_tag)),
            from.into(),
            recv_tag.into(),
        )?;
        let input: &[u8] = bytemuck::cast_slice(send);
        let output: &mut [u8] = bytemuck::cast_slice_mut(recv);
        let send = exchange.send.as_ref().map(|send| (send, input));
        let recv = exchange.recv.as_ref().map(|recv| (recv, output));
        self.exchanged::<R>(&exchange, blocking_pair(self.engine(), send, recv))
    }

    /// Like [`Communicator::send_recv`] with one buffer: sends `data`, and what comes replaces it.
    ///
    /// `data` is copied once to send it; up to a mebibyte the memory for that is kept for the next call.
    ///
    /// # Errors
    ///
    /// As for [`Communicator::send_recv`].
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let mut data = [1u8, 2, 3];
    /// let status = world.send_recv_replace(&mut data, 0, 7, 0, 7)?;
    /// assert_eq!((data, status.map(|status| status.count)), ([1, 2, 3], Some(3)));
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias("MPI_Sendrecv_replace", "send_receive_replace_into"))]
    #[track_caller]
    pub fn send_recv_replace<T: Pod>(
        &self,
        data: &mut [T],
        to: impl Into<Option<usize>>,
        send_tag: u32,
        from: impl Into<RecvFrom>,
        recv_tag: impl Into<Tag>,
    ) -> Result<Option<Status>> {
        let to = to.into().map(|to| (to, send_tag));
        let exchange = self.exchange::<T, T>("send_recv_replace", to, from.into(), recv_tag.into())?;
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(data);
        let endings = match (&exchange.send, &exchange.recv) {
            (Some(send), Some(recv)) => blocking_replace(self.engine(), bytes, send, recv),
            // With one half only there is nothing to replace while it is sent, and no need for a copy.
            (Some(send), None) => blocking_pair(self.engine(), Some((send, bytes)), None),
            (None, recv) => blocking_pair(self.engine(), None, recv.as_ref().map(|recv| (recv, bytes))),
        };
        self.exchanged::<T>(&exchange, endings)
    }

    #[track_caller]
    fn exchange<S: Pod, R: Pod>(
        &self,
        name: &'static str,
        to: Option<(usize, u32)>,
        from: RecvFrom,
        recv_tag: Tag,
    ) -> Result<Exchange> {
        if let Some((to, _)) = to {
            self.check_rank(name, to)?;
        }
        let selector = from.0.map(|from| self.selector(name, from, recv_tag)).transpose()?;
        let (sent, wanted) = (ElementCode::of::<S>(), ElementCode::of::<R>());
        let (send, recv) = (Told::here(Verb::SEND), Told::here(Verb::RECEIVE));
        Ok(Exchange {
            name,
            number: self.count_message(),
            to,
            from: from.0.map(|from| (from, recv_tag)),
            send: to.map(|(to, tag)| {
                let envelope = self.envelope(sent, tag);
                SendCall { to: self.world_rank(to), envelope, mode: Mode::Standard, told: send }
            }),
            recv: selector.map(|selector| ReceiveCall { selector, element: wanted.into(), told: recv }),
        })
    }

    fn exchanged<R: Pod>(&self, exchange: &Exchange, endings: Endings) -> Result<Option<Status>> {
        let error = |failure| self.error(failure, exchange);
        let came = endings.recv.map(|ending| self.status::<R>(ending.map_err(error)?, exchange));
        let came = came.transpose()?;
        endings.send.map(|ending| ending.map_err(error)).transpose()?;
        Ok(came)
    }
}

impl std::fmt::Display for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} #{} (", self.name, self.number)?;
        match self.to {
            Some((to, tag)) => write!(f, "to rank {to}, tag {tag}; ")?,
            None => f.write_str("to nobody; ")?,
        }
        match self.from {
            Some((from, tag)) => write!(f, "from {from}, {tag})"),
            None => f.write_str("from nobody)"),
        }
    }
}
