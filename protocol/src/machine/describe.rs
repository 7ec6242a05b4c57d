//! Answers to "what is being waited for?" and "what lies here unreceived?". Nothing here changes state.
//!
//! Neighbours: `states.rs`; the runtime puts descriptions into its time-out messages.

use super::Machine;
use super::states::{Receive, ReceiveStage, Request, Send, SendStage};
use crate::{Incoming, Mode, Rank, RequestId, TagSelector};

/// What a pending request is and what it waits for. Its `Display` is a sentence without a full stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Description {
    /// Send or receive.
    pub kind: Kind,
    /// The other rank; `None`: a receive from any source that has matched nothing yet.
    pub peer: Option<Rank>,
    /// The context of its messages.
    pub context: u64,
    /// The tag, as selected, or as matched once it has matched.
    pub tag: TagSelector,
    /// Bytes to send, or room to receive into.
    pub bytes: usize,
    /// What it waits for.
    pub stage: Stage,
}

/// Send or receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A standard send.
    Send,
    /// A synchronous send.
    SynchronousSend,
    /// A receive.
    Receive,
}

/// What a pending request waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// A send: the receiver has too much of this rank's data lying unreceived already.
    Credit,
    /// A send: the receiver has not posted a matching receive.
    Match,
    /// A send: the transport has not taken all bytes yet.
    Leaving,
    /// A receive: no matching message has come.
    Message,
    /// A receive: its message has matched and the bytes are on their way.
    Bytes,
}

impl std::fmt::Display for Description {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (kind, direction) = match self.kind {
            Kind::Send => ("send", "to"),
            Kind::SynchronousSend => ("synchronous send", "to"),
            Kind::Receive => ("receive", "from"),
        };
        write!(f, "{kind} of {} bytes {direction} ", self.bytes)?;
        match self.peer {
            Some(peer) => write!(f, "rank {peer}")?,
            None => write!(f, "any rank")?,
        }
        match self.tag {
            TagSelector::Exact(tag) => write!(f, " with tag {tag}")?,
            TagSelector::Any => write!(f, " with any tag")?,
        }
        f.write_str(match self.stage {
            Stage::Credit => " waits until the receiver has taken earlier messages",
            Stage::Match => " waits for a matching receive",
            Stage::Leaving => " waits for its bytes to leave",
            Stage::Message => " waits for a matching message",
            Stage::Bytes => " has matched and waits for the bytes",
        })
    }
}

impl Machine {
    /// What `request` is and what it waits for; `None` once it has ended.
    #[must_use]
    pub fn describe(&self, request: RequestId) -> Option<Description> {
        match self.requests.get(request.0)? {
            Request::Send(send) => Some(describe_send(send)),
            Request::Receive(receive) => Some(describe_receive(receive)),
            Request::Finished => None,
        }
    }

    /// Messages of a context that nobody has asked for, in the order of arrival.
    pub fn unexpected(&self, context: u64) -> impl Iterator<Item = Incoming> + '_ {
        self.unexpected
            .iter(context)
            .filter_map(|index| self.inbound.get(self.inbound.id_at(index)?))
            .map(|message| message.incoming)
    }
}

fn describe_send(send: &Send) -> Description {
    Description {
        kind: match send.mode {
            Mode::Standard => Kind::Send,
            Mode::Synchronous => Kind::SynchronousSend,
        },
        peer: Some(send.peer),
        context: send.envelope.context,
        tag: TagSelector::Exact(send.envelope.tag),
        bytes: send.data.len,
        stage: match send.stage {
            SendStage::Queued => Stage::Credit,
            SendStage::Offered => Stage::Match,
            SendStage::Leaving | SendStage::Putting => Stage::Leaving,
        },
    }
}

fn describe_receive(receive: &Receive) -> Description {
    let matched = receive.matched();
    Description {
        kind: Kind::Receive,
        peer: matched.map(|incoming| incoming.source).or(receive.selector.source),
        context: receive.selector.context,
        tag: matched.map_or(receive.selector.tag, |incoming| TagSelector::Exact(incoming.envelope.tag)),
        bytes: receive.room.into.len,
        stage: match receive.stage {
            ReceiveStage::Posted => Stage::Message,
            _ => Stage::Bytes,
        },
    }
}
