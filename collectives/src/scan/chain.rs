//! Pipelined chain scan.
//!
//! ```text
//! rank:      0        1              2
//! sends:     x0  >    x0 op x1  >    (x0 op x1) op x2  >  ...
//! scan:      x0       x0 op x1       (x0 op x1) op x2
//! exclusive: -        x0             x0 op x1
//! ```
//!
//! What arrives is the result of an exclusive scan; with the own contribution appended it is that of a scan, and
//! what the next rank needs. Each segment is passed on as soon as it is reduced. Steps: `S + n - 2` segment times
//! for S segments. Bytes: every link carries the vector once, the least that can be. Operands are combined
//! strictly from the left. Scratch: `in_flight` segments, twice that for
//! an exclusive scan in place. Chosen: long vectors, and whenever the operands must
//! be combined from the left.

use crate::builder::{Builder, part, parts};
use crate::window::Window;
use crate::{Choice, Collective, Request, Span};

pub(crate) fn build(request: &Request, choice: &Choice, b: &mut Builder) {
    let Request { rank, size, collective, .. } = *request;
    let count = request.count();
    let exclusive = collective == Collective::ExclusiveScan;
    let segments = parts(count, choice.segment);
    let (first, last) = (rank == 0, rank + 1 == size);
    let longest = count.div_ceil(segments);
    let sets = choice.in_flight.clamp(1, segments);
    let wanted = |needed: bool| if needed { sets } else { 0 };
    // The exclusive result may arrive where it belongs, unless the own contribution still lies there.
    let inbox = b.slots(wanted(!first && (!exclusive || request.in_place)), longest);
    let outbox = b.slots(wanted(exclusive && !first && !last), longest);
    let (mut sends, mut recvs) = (Window::new(choice.in_flight), Window::new(choice.in_flight));
    for segment in 0..segments {
        let (offset, len) = part(count, segments, segment);
        let (own, output) = (Span::input(offset, len), Span::output(offset, len));
        let below = inbox.get(segment % sets).map_or(output, |slot| slot.first(len));
        let mut passed_on = own;
        if !first {
            let recv = b.recv(rank - 1, below);
            recvs.admit(b, recv);
            if !exclusive {
                passed_on = output;
                b.reduce(below, own, passed_on, false);
            } else if !last {
                passed_on = outbox[segment % sets].first(len);
                b.reduce(below, own, passed_on, false);
            }
        }
        if first && !exclusive {
            b.copy(own, output);
        } else if !first && exclusive {
            b.copy(below, output);
        }
        if !last {
            let send = b.send(rank + 1, passed_on);
            sends.admit(b, send);
        }
    }
}
