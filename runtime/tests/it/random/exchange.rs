//! One rank's part in a round of messages: sends and receives in the order of the program, then the verdict.

use ringworld::{Communicator, Error, Pending, Prepared, Result, Running, Status};

use super::messages::{Got, Incoming, Messages, Outgoing, Receiving, Sending, check};
use super::rng::{Rng, mix};

enum Sent {
    Pending(Pending<Vec<u8>>),
    Prepared(Prepared<u8>),
}

enum Posted<'p> {
    Pending(Pending<(Vec<u8>, Status)>),
    Running(Running<'p, u8>),
}

/// Plays this rank's part; `Some` in words what went wrong.
pub(crate) fn play(communicator: &Communicator, messages: &Messages) -> Result<Option<String>> {
    let rank = communicator.rank();
    let receives = &messages.receives[rank];
    let prepare = |receive: &Incoming| match receive.receiving {
        Receiving::Prepared => {
            communicator.prepare_recv(vec![0xee; receive.room], receive.from, receive.tag).map(Some)
        }
        _ => Ok(None),
    };
    let mut prepared = receives.iter().map(prepare).collect::<Result<Vec<_>>>()?;
    let mut part = Part {
        communicator,
        messages,
        rng: Rng::new(mix(messages.seed, rank as u64)),
        prepared: prepared.iter_mut().map(Option::as_mut).collect(),
        sent: Vec::new(),
        posted: Vec::new(),
        got: vec![None; receives.len()],
        wrong: None,
    };
    part.play(&messages.sends[rank], receives)?;
    let wrong = part.wrong.take().or_else(|| check(messages, rank, &part.got));
    // What comes later on this communicator must not meet a receive of this round.
    communicator.barrier()?;
    Ok(wrong)
}

struct Part<'p> {
    communicator: &'p Communicator,
    messages: &'p Messages,
    rng: Rng,
    /// By receive; taken when it is posted.
    prepared: Vec<Option<&'p mut Prepared<u8>>>,
    /// With receiver and length.
    sent: Vec<(usize, usize, Sent)>,
    /// With the index of the receive.
    posted: Vec<(usize, Posted<'p>)>,
    got: Vec<Option<Got>>,
    wrong: Option<String>,
}

impl Part<'_> {
    fn play(&mut self, sends: &[Outgoing], receives: &[Incoming]) -> Result<()> {
        let (mut sends, mut receives) = (sends.iter(), receives.iter().enumerate().peekable());
        if self.messages.posted_first {
            for (index, receive) in receives.by_ref() {
                self.post(index, receive)?;
            }
        }
        // Receives that do not wait go among the sends, in their order.
        loop {
            let ready = receives.next_if(|(_, receive)| !receive.receiving.waits() && self.rng.chance(50));
            if let Some((index, receive)) = ready {
                self.post(index, receive)?;
            } else if let Some(send) = sends.next() {
                self.send(send)?;
            } else {
                break;
            }
        }
        for (index, receive) in receives {
            if receive.receiving.waits() {
                self.receive(index, receive)?;
            } else {
                self.post(index, receive)?;
            }
        }
        self.settle()
    }

    fn complain(&mut self, what: String) {
        self.wrong.get_or_insert(what);
    }

    fn send(&mut self, &Outgoing { to, tag, length, sending }: &Outgoing) -> Result<()> {
        let c = self.communicator;
        let data = self.messages.payload(c.rank(), to, length);
        let sent = match sending {
            Sending::Send => return c.send(&data, to, tag),
            Sending::Sync => return c.send_sync(&data, to, tag),
            Sending::Start => Sent::Pending(c.start_send(data, to, tag)?),
            Sending::StartSync => Sent::Pending(c.start_send_sync(data, to, tag)?),
            Sending::Prepared => {
                let mut prepared = c.prepare_send(data, to, tag)?;
                drop(prepared.start()?);
                Sent::Prepared(prepared)
            }
        };
        self.sent.push((to, length, sent));
        Ok(())
    }

    /// Posts a receive that is waited for later.
    fn post(&mut self, index: usize, receive: &Incoming) -> Result<()> {
        let posted = match self.prepared[index].take() {
            Some(prepared) => Posted::Running(prepared.start()?),
            None => {
                let buffer = vec![0xee; receive.room];
                Posted::Pending(self.communicator.start_recv(buffer, receive.from, receive.tag)?)
            }
        };
        self.posted.push((index, posted));
        Ok(())
    }

    /// Receives one message, waiting for it.
    fn receive(&mut self, index: usize, receive: &Incoming) -> Result<()> {
        let (c, from, tag) = (self.communicator, receive.from, receive.tag);
        let mut buffer = vec![0xee; receive.room];
        let ending = match receive.receiving {
            Receiving::Probed => {
                let status = c.probe(from, tag)?;
                buffer.resize(status.count, 0);
                c.recv(&mut buffer, status.source, status.tag)
            }
            Receiving::Polled => {
                let status = loop {
                    match c.try_probe(from, tag)? {
                        Some(status) => break status,
                        None => std::thread::yield_now(),
                    }
                };
                c.recv(&mut buffer, status.source, status.tag)
            }
            Receiving::Matched => {
                let message = c.probe_matched(from, tag)?;
                buffer.resize(message.status().count, 0);
                message.recv(&mut buffer)
            }
            _ => c.recv(&mut buffer, from, tag),
        };
        self.ended(index, ending.map(|status| (buffer.as_slice(), status)))
    }

    /// A receive has ended, well or not.
    fn ended(&mut self, index: usize, ending: Result<(&[u8], Status)>) -> Result<()> {
        let me = self.communicator.rank();
        let receive = &self.messages.receives[me][index];
        let got = match ending {
            Ok((buffer, Status { source, tag, count, .. })) => {
                if buffer.get(..count) != Some(&self.messages.payload(source, me, count)) {
                    self.complain(format!("{count} bytes of rank {source}, tag {tag}, arrived damaged"));
                } else if buffer[count..].iter().any(|byte| *byte != 0xee) {
                    self.complain(format!("memory behind {count} bytes of rank {source} was written"));
                }
                Got { source, tag, length: count }
            }
            Err(Error::Truncated { source_rank, tag, needed, room, .. }) => {
                if room != receive.room || needed <= room {
                    self.complain(format!("{receive:?} is said to be truncated: {needed} into {room}"));
                }
                Got { source: source_rank, tag, length: needed }
            }
            Err(error) => return Err(error),
        };
        self.got[index] = Some(got);
        Ok(())
    }

    /// Waits for all that is under way, in a random order, and withdraws what nobody answers.
    fn settle(&mut self) -> Result<()> {
        let (mut sent, mut posted) = (std::mem::take(&mut self.sent), std::mem::take(&mut self.posted));
        self.rng.shuffle(&mut sent);
        self.rng.shuffle(&mut posted);
        let me = self.communicator.rank();
        let (mut sent, mut posted) = (sent.into_iter(), posted.into_iter());
        loop {
            let (first, second) =
                if self.rng.chance(50) { (sent.next(), None) } else { (None, posted.next()) };
            match (first, second) {
                (Some((to, length, sent)), _) => {
                    let data = match sent {
                        Sent::Pending(pending) => pending.wait()?,
                        Sent::Prepared(prepared) => prepared.into_buffers().0,
                    };
                    if data != self.messages.payload(me, to, length) {
                        self.complain(format!("what was sent to rank {to} was changed"));
                    }
                }
                (_, Some((index, Posted::Running(running)))) => {
                    let ending = running.wait_for_status();
                    let ending = ending.map(|(data, status)| status.map(|status| (&*data, status)));
                    match ending.transpose() {
                        Some(ending) => self.ended(index, ending)?,
                        None => self.complain("a prepared receive has no status".into()),
                    }
                }
                (_, Some((index, Posted::Pending(pending)))) => {
                    let withdrawn = self.messages.receives[me][index].receiving == Receiving::Withdrawn;
                    if withdrawn && !pending.cancel() {
                        self.complain("a receive that nothing matches could not be cancelled".into());
                    }
                    match pending.wait() {
                        Err(Error::Cancelled { .. }) if withdrawn => {}
                        Ok((buffer, status)) => self.ended(index, Ok((&buffer, status)))?,
                        Err(error) => self.ended(index, Err(error))?,
                    }
                }
                (None, None) if sent.len() + posted.len() == 0 => return Ok(()),
                (None, None) => {}
            }
        }
    }
}
