//! Objects without waiting: sent from memory of the call's own, received by a future that takes nothing before it is
//! ready.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::pending::Pending;
use super::probe::PendingMessage;
#[cfg(doc)]
use crate::Error;
use crate::Result;
use crate::communicator::Communicator;
use crate::message::object::{Action, LIMIT, Refusal, pack, too_long, unpack};
use crate::message::{Source, Status, Tag};
use ringworld_engine::ElementCode;

/// An object that has not come yet. A future: `.await` it under any executor.
///
/// Dropped before it is ready it has taken nothing: a message that was on its way can be received by the next who asks.
#[must_use = "the object is received when this is awaited"]
pub struct PendingObject<V> {
    communicator: Communicator,
    from: Source,
    tag: Tag,
    stage: Stage,
    object: PhantomData<fn() -> V>,
}

enum Stage {
    Probing(PendingMessage),
    Receiving(Status, Pending<(Vec<u8>, Status)>),
}

impl<V> fmt::Debug for PendingObject<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PendingObject(from {}, {})", self.from, self.tag)
    }
}

impl<V> PendingObject<V> {
    fn named(&self, status: Option<Status>) -> String {
        match status {
            None => format!("start_recv_object (from {}, {})", self.from, self.tag),
            Some(status) => format!("start_recv_object (from rank {}, tag {})", status.source, status.tag),
        }
    }
}

impl<V: DeserializeOwned> Future for PendingObject<V> {
    type Output = Result<V>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        loop {
            match &mut this.stage {
                Stage::Probing(message) => {
                    let Poll::Ready(message) = Pin::new(message).poll(context) else { return Poll::Pending };
                    let message = match message {
                        Ok(message) => message,
                        Err(error) => return Poll::Ready(Err(error.of_call(this.named(None)))),
                    };
                    let status = message.status();
                    let name = this.named(Some(status));
                    if status.count > LIMIT {
                        let reason = too_long(status.count);
                        return Poll::Ready(Err(
                            Refusal { action: Action::Deserialize, reason }.into_error(name)
                        ));
                    }
                    let receiving = this
                        .communicator
                        .room(status.count)
                        .and_then(|room| message.start_recv_as(ElementCode::OBJECT, room));
                    match receiving {
                        Ok(receiving) => this.stage = Stage::Receiving(status, receiving),
                        Err(error) => return Poll::Ready(Err(error.of_call(name))),
                    }
                }
                Stage::Receiving(status, receiving) => {
                    let status = *status;
                    let Poll::Ready(received) = Pin::new(receiving).poll(context) else {
                        return Poll::Pending;
                    };
                    let name = this.named(Some(status));
                    return Poll::Ready(match received {
                        Err(error) => Err(error.of_call(name)),
                        Ok((bytes, _)) => unpack(&bytes).map_err(|refusal| {
                            this.communicator.of_rank(status.source, refusal).into_error(name)
                        }),
                    });
                }
            }
        }
    }
}

/// # Messages that are objects, non-blocking
impl Communicator {
    /// Like [`Communicator::send_object`], but returns at once: the value has been written, and is not needed any more.
    ///
    /// # Errors
    ///
    /// [`Error::Object`] when it cannot be written, [`Error::InvalidRank`]; all else is reported by the pending result.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let coming = world.start_recv_object::<String>(0, 6)?;
    /// world.start_send_object("hello", 0, 6)?.await?;
    /// assert_eq!(coming.await?, "hello");
    /// # Ok::<(), ringworld::Error>(()) }).unwrap();
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    pub fn start_send_object<V: Serialize + ?Sized>(
        &self,
        value: &V,
        to: usize,
        tag: u32,
    ) -> Result<Pending<()>> {
        let name = || format!("start_send_object (to rank {to}, tag {tag})");
        let bytes = pack(value).map_err(|refusal| refusal.into_error(name()))?;
        self.start_send_bytes("start_send_object", ElementCode::OBJECT, bytes, to, tag)
    }

    /// Like [`Communicator::recv_object`], as a future.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRank`]; all else is reported by the future.
    ///
    /// See [`Communicator::start_send_object`] for an example.
    pub fn start_recv_object<V: DeserializeOwned>(
        &self,
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<PendingObject<V>> {
        let (from, tag) = (from.into(), tag.into());
        let stage = Stage::Probing(self.start_probe_matched(from, tag)?);
        Ok(PendingObject { communicator: self.clone(), from, tag, stage, object: PhantomData })
    }
}
