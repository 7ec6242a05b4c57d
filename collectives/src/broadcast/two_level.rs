//! Two levels: broadcast between the hosts, then inside them.
//!
//! ```text
//! root 1     host 0   0 < 1 > ...      the root leads its host, the first rank each of the others
//!            host 1   2 > 3            what a leader has received it passes on inside, segment by segment
//! ```
//!
//! Each stage is cut as its own algorithm likes; segments that have come over the wire go on inside at once. Bytes:
//! each host sends and receives what the algorithm between hosts does among so many ranks; along a chain that is the
//! vector once, wherever its ranks stand in the order of all. Chosen: where some ranks share a host and not all.

use crate::levels::{Levels, Stage, one_level};
use crate::{Builder, Choice, Collective, Counts, Request, Span};

pub(crate) fn build(request: &Request, root: usize, choice: &Choice, b: &mut Builder) {
    let count = request.count();
    let Some(levels) = Levels::new(request, choice) else { return one_level(request, choice, b) };
    let leaders = levels.leaders(Some(root));
    let leader = leaders[levels.host];
    let counts = || (Counts::Same(count), Counts::Same(count));
    // The root sends from its input in both stages, and keeps its own result once.
    let all = Span::output(0, count);
    let (input, output) =
        if request.rank == root { (Span::input(0, count), Span::input(0, count)) } else { (all, all) };

    let (now, whole) = counts();
    let collective = Collective::Broadcast { root: levels.placement().host(root) };
    levels.add_between(&leaders, Stage { collective, counts: now, whole, input, output, last: false }, b);
    let (now, whole) = counts();
    let collective = Collective::Broadcast { root: levels.place_inside(leader) };
    levels.add_inside(Stage { collective, counts: now, whole, input, output, last: false }, b);
    if request.rank == root {
        b.copy(Span::input(0, count), all);
    }
}
