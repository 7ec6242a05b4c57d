//! Direct scan: everybody sends to all ranks above.
//!
//! ```text
//! 0 > 1, 2, 3      rank 3:  ((x0 op x1) op x2) op x3
//! 1 > 2, 3
//! 2 > 3
//! ```
//!
//! Steps: 1. Bytes on the wire: `n (n - 1) m / 2`. Scratch: up to `(n - 1) m`. Operands are combined strictly from
//! the left. Chosen: tiny vectors on few ranks.

use crate::{Builder, Collective, Request, Span, left};

pub(crate) fn build(request: &Request, b: &mut Builder) {
    let Request { rank, size, collective, .. } = *request;
    let count = request.count();
    let (own, output) = (Span::input(0, count), Span::output(0, count));
    for to in rank + 1..size {
        b.send(to, own);
    }
    let inbox = b.slots(rank, count);
    for from in (0..rank).rev() {
        b.recv(from, inbox[from]);
    }
    let operands = if collective == Collective::ExclusiveScan { rank } else { rank + 1 };
    match operands {
        0 => {}
        1 => {
            b.copy(if rank == 0 { own } else { inbox[0] }, output);
        }
        _ => {
            let operand = |from: usize| if from == rank { own } else { inbox[from] };
            left::fold(operands, operand, inbox[0], output, false, b);
        }
    }
}
