//! Two levels: signals inside the hosts, dissemination between them, and signals inside again.
//!
//! ```text
//! host 0   0 < 1, 2, 3              everybody tells the rank that leads the host
//!          0 ~ 4 ~ 8                the leaders hold a barrier by themselves
//!          0 > 1, 2, 3              and let the others go
//! ```
//!
//! Steps: `ceil(log2 h)` between `h` hosts, and two inside. Messages over each wire: `ceil(log2 h)`, however many ranks
//! share it. Chosen: where some ranks share a host and not all.

use super::dissemination;
use crate::levels::{Levels, one_level};
use crate::{Builder, Choice, Request};

pub(crate) fn build(request: &Request, choice: &Choice, b: &mut Builder) {
    let Some(levels) = Levels::new(request, choice) else { return one_level(request, choice, b) };
    let (leaders, neighbours) = (levels.leaders(None), levels.neighbours());
    let leader = leaders[levels.host];
    // Signals touch no memory, so their order has to be said.
    if request.rank != leader {
        let told = b.signal(leader);
        let released = b.await_signal(leader);
        b.order(told, released);
        return;
    }
    let others = || neighbours.iter().copied().filter(|rank| *rank != leader);
    let heard_inside: Vec<_> = others().map(|rank| b.await_signal(rank)).collect();
    let heard_between = dissemination::among(&leaders, levels.host, &heard_inside, b);
    for rank in others() {
        let release = b.signal(rank);
        for &earlier in heard_inside.iter().chain(&heard_between) {
            b.order(earlier, release);
        }
    }
}
