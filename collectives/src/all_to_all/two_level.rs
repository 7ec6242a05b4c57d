//! Two levels: what one host sends another goes as one message.
//!
//! ```text
//! host 0   0 1      1. inside: each gives each neighbour its block, and what it sends to hosts that this one serves
//! host 1   2 3      2. between: 0 sends 2 what 0 1 have for 2 3, 2 sends 4 what 2 3 have for 4 5, 4 sends 0 ...;
//! host 2   4 5         1 sends 5 what 0 1 have for 4 5, ...
//!                   3. inside: each gives each neighbour what has come for it
//! ```
//!
//! In step `k` every host sends one message to the host `k` further on and receives one from that `k` before it; the
//! ranks of a lane ([`crate::levels`]) serve a step, and steps take turns among the lanes, so that a host's ranks share
//! the others evenly and no host is sent more than one at a time. On `h` hosts of `r` ranks a rank sends `2 (r - 1)`
//! messages inside and `(h - 1) / r` of `r r` blocks between, where the pairwise exchange sends `n - 1` and Bruck's
//! `log2 n` of `n / 2` blocks, most of them through the wire. Bytes through each host's wire: the least that can be.
//! Copies: each block five times. Scratch: all blocks four times. Needs the same count on every rank. Chosen: short
//! blocks, where some ranks share a host and not all.

use crate::levels::{Levels, one_level};
use crate::{Builder, Choice, Request, Span};

pub(crate) fn build(request: &Request, choice: &Choice, b: &mut Builder) {
    let Some(levels) = Levels::new(request, choice) else { return one_level(request, choice, b) };
    Exchange { request, levels: &levels, count: request.count() }.build(b);
}

struct Exchange<'a> {
    request: &'a Request,
    levels: &'a Levels<'a>,
    /// Elements of a block.
    count: usize,
}

impl Exchange<'_> {
    fn build(&self, b: &mut Builder) {
        let (input, output) = self.memory();
        let own = |space| self.blocks(space, self.request.rank, 1);
        b.copy(own(input), own(output));
        let collected = self.collect_inside(b);
        let arrived = self.exchange_between(&collected, b);
        self.hand_out_inside(&arrived, b);
    }

    /// The ranks of a host.
    fn ranks(&self, host: usize) -> &[usize] {
        self.levels.placement().ranks(host)
    }

    /// The host so many steps further on.
    fn host_after(&self, steps: usize) -> usize {
        (self.levels.host + steps) % self.levels.placement().hosts()
    }

    /// The host so many steps before this one.
    fn host_before(&self, steps: usize) -> usize {
        self.host_after(self.levels.placement().hosts() - steps)
    }

    /// The lane that serves a step.
    fn lane(&self, step: usize) -> usize {
        let (steps, lanes) = (self.levels.placement().hosts() - 1, self.levels.lanes);
        // Fewer steps than lanes: spread, for hosts with fewer ranks have neighbouring lanes served by one.
        if steps < lanes { (step - 1) * lanes / steps } else { (step - 1) % lanes }
    }

    /// The steps that a rank of this host serves, by its place.
    fn steps_of(&self, local: usize) -> impl Iterator<Item = usize> {
        let lanes = self.levels.lanes_of(self.levels.host, local);
        (1..self.levels.placement().hosts()).filter(move |step| lanes.contains(&self.lane(*step)))
    }

    /// How many blocks each rank of this host sends by way of that one.
    fn sent_by(&self, local: usize) -> usize {
        self.steps_of(local).map(|step| self.ranks(self.host_after(step)).len()).sum()
    }

    /// How many blocks each rank of this host receives by way of that one.
    fn received_by(&self, local: usize) -> usize {
        self.steps_of(local).map(|step| self.ranks(self.host_before(step)).len()).sum()
    }

    fn blocks(&self, space: Span, first: usize, blocks: usize) -> Span {
        space.part(first * self.count, blocks * self.count)
    }

    /// The blocks of a host's ranks in the input or output, in order, as runs of neighbours: place and length of each.
    fn runs(&self, host: usize) -> impl Iterator<Item = (usize, usize)> {
        self.ranks(host).chunk_by(|one, next| one + 1 == *next).map(|run| (run[0], run.len()))
    }

    /// Gives each neighbour its block and what goes to the hosts that it serves; takes the same from them. Returns for
    /// each rank of this host what it sends to the hosts that this rank serves.
    fn collect_inside(&self, b: &mut Builder) -> Vec<Span> {
        let (input, output) = self.memory();
        let mut collected = Vec::new();
        for (local, &neighbour) in self.levels.neighbours().iter().enumerate() {
            let (out, into) = (self.sent_by(local), self.sent_by(self.levels.local));
            let myself = local == self.levels.local;
            let leaving = b.scratch((out + 1) * self.count);
            let mut packed = 0;
            if !myself {
                b.copy(self.blocks(input, neighbour, 1), self.blocks(leaving, 0, 1));
                packed = 1;
            }
            let hosts = self.steps_of(local).map(|step| self.host_after(step));
            for (first, blocks) in hosts.flat_map(|host| self.runs(host)) {
                b.copy(self.blocks(input, first, blocks), self.blocks(leaving, packed, blocks));
                packed += blocks;
            }
            if myself {
                collected.push(self.blocks(leaving, 0, out));
                continue;
            }
            let arriving = b.scratch((into + 1) * self.count);
            b.send(neighbour, leaving);
            b.recv(neighbour, arriving);
            b.copy(self.blocks(arriving, 0, 1), self.blocks(output, neighbour, 1));
            collected.push(self.blocks(arriving, 1, into));
        }
        collected
    }

    /// Sends, in each step that this rank serves, what the ranks of this host have for those of another, for each
    /// receiver in turn the blocks of all senders; receives the same. Returns what has come, by host.
    fn exchange_between(&self, collected: &[Span], b: &mut Builder) -> Vec<(usize, Span)> {
        let here = self.ranks(self.levels.host).len();
        let mut begin = 0;
        let mut arrived = Vec::new();
        for step in self.steps_of(self.levels.local) {
            let (to, from, lane) = (self.host_after(step), self.host_before(step), self.lane(step));
            let (receivers, senders) = (self.ranks(to).len(), self.ranks(from).len());
            let leaving = b.scratch(here * receivers * self.count);
            let arriving = b.scratch(senders * here * self.count);
            for receiver in 0..receivers {
                for (sender, blocks) in collected.iter().enumerate() {
                    let block = self.blocks(*blocks, begin + receiver, 1);
                    b.copy(block, self.blocks(leaving, receiver * here + sender, 1));
                }
            }
            b.send(self.levels.serving(to, lane), leaving);
            b.recv(self.levels.serving(from, lane), arriving);
            arrived.push((from, arriving));
            begin += receivers;
        }
        arrived
    }

    /// Gives each neighbour what has come for it, and takes what has come for this rank; all to where it belongs.
    fn hand_out_inside(&self, arrived: &[(usize, Span)], b: &mut Builder) {
        let (_, output) = self.memory();
        for (local, &neighbour) in self.levels.neighbours().iter().enumerate() {
            if local == self.levels.local {
                for &(host, blocks) in arrived {
                    let senders = self.ranks(host).len();
                    self.unpack(host, self.blocks(blocks, local * senders, senders), output, b);
                }
                continue;
            }
            let (out, into) = (self.received_by(self.levels.local), self.received_by(local));
            let (leaving, arriving) = (b.scratch(out * self.count), b.scratch(into * self.count));
            let mut packed = 0;
            for &(host, blocks) in arrived {
                let senders = self.ranks(host).len();
                let of = self.blocks(blocks, local * senders, senders);
                b.copy(of, self.blocks(leaving, packed, senders));
                packed += senders;
            }
            b.send(neighbour, leaving);
            b.recv(neighbour, arriving);
            let mut unpacked = 0;
            for host in self.steps_of(local).map(|step| self.host_before(step)) {
                let senders = self.ranks(host).len();
                self.unpack(host, self.blocks(arriving, unpacked, senders), output, b);
                unpacked += senders;
            }
        }
    }

    /// Copies the blocks of a host's ranks to where they belong.
    fn unpack(&self, host: usize, blocks: Span, output: Span, b: &mut Builder) {
        let mut unpacked = 0;
        for (first, len) in self.runs(host) {
            b.copy(self.blocks(blocks, unpacked, len), self.blocks(output, first, len));
            unpacked += len;
        }
    }

    fn memory(&self) -> (Span, Span) {
        let all = self.request.size * self.count;
        (Span::input(0, all), Span::output(0, all))
    }
}
