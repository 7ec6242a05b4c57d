//! Two levels: reduce inside the hosts, then between them.
//!
//! ```text
//! host 0, root 1      0 > 1        the first rank of each host leads it, and the root its own
//! host 1              2 < 3
//!                     1 < 2        reduce between the leaders
//! ```
//!
//! The vector goes in blocks, so that the wire carries one while the hosts reduce the next. Bytes: each host sends and
//! receives what the algorithm between hosts sends and receives among so many ranks; along a chain that is the vector
//! once. Scratch of leaders: a block for each under way, besides what the two stages need. Chosen: operations that
//! commute, where some ranks share a host and not all.

use crate::levels::{Levels, Stage, one_level};
use crate::{Builder, Choice, Collective, Counts, Request, Span};

pub(crate) fn build(request: &Request, root: usize, choice: &Choice, b: &mut Builder) {
    let count = request.count();
    let Some(levels) = Levels::new(request, choice) else { return one_level(request, choice, b) };
    let leaders = levels.leaders(Some(root));
    let leader = leaders[levels.host];
    let local = levels.place_inside(leader);
    let blocks = levels.blocks(count);
    levels.each_block(count, blocks, b, |start, len, b| {
        let (input, output) = (Span::input(start, len), Span::output(start, len));
        let (counts, whole) = (Counts::Same(len), Counts::Same(count));
        let mut held = input;
        if !levels.alone() {
            if request.rank == root {
                held = output;
            } else if request.rank == leader {
                held = b.scratch(len);
            }
            let (counts, whole) = (counts.clone(), whole.clone());
            let collective = Collective::Reduce { root: local };
            levels.add_inside(Stage { collective, counts, whole, input, output: held, last: false }, b);
        }
        let output = if request.rank == root { output } else { Span::output(0, 0) };
        let collective = Collective::Reduce { root: levels.placement().host(root) };
        levels.add_between(&leaders, Stage { collective, counts, whole, input: held, output, last: true }, b);
    });
}
