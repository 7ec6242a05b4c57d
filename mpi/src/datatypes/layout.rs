//! Where the bytes of a datatype lie: a tree of basic elements, and the same merged into runs, by which memory is
//! packed.

use std::sync::Arc;

use super::basic::Basic;
use crate::arguments::Address;

/// The basic elements of a datatype, in the order of its type map, with their places in bytes.
#[derive(Debug)]
pub(crate) enum Map {
    Basic(&'static Basic),
    Repeat { count: usize, stride: i64, inner: Arc<Map> },
    List(Vec<(i64, Arc<Map>)>),
}

/// Runs of bytes, in the order in which they are packed.
#[derive(Clone, Debug)]
pub(crate) enum Layout {
    /// So many from 0 on.
    Run(usize),
    Repeat {
        count: usize,
        stride: i64,
        inner: Arc<Layout>,
    },
    List(Vec<(i64, Arc<Layout>)>),
}

impl Map {
    /// Visits every basic element with its place, until the visitor says stop.
    pub(crate) fn visit(&self, at: i64, visitor: &mut impl FnMut(i64, &'static Basic) -> bool) -> bool {
        match self {
            Self::Basic(basic) => visitor(at, basic),
            Self::Repeat { count, stride, inner } => {
                (0..*count).all(|turn| inner.visit(at + turn as i64 * stride, visitor))
            }
            Self::List(list) => list.iter().all(|(place, inner)| inner.visit(at + place, visitor)),
        }
    }

    /// How many basic elements there are.
    pub(crate) fn elements(&self) -> usize {
        match self {
            // A pair counts as its two elements.
            Self::Basic(basic) => basic.elements(),
            Self::Repeat { count, inner, .. } => count * inner.elements(),
            Self::List(list) => list.iter().map(|(_, inner)| inner.elements()).sum(),
        }
    }

    /// The basic type that it is, if it is one.
    pub(crate) fn basic(&self) -> Option<&'static Basic> {
        match self {
            Self::Basic(basic) => Some(basic),
            Self::Repeat { .. } | Self::List(_) => None,
        }
    }

    /// The same, merged.
    pub(crate) fn layout(&self) -> Layout {
        match self {
            Self::Basic(basic) => match basic.hole() {
                None => Layout::Run(basic.size),
                Some((first, second, at)) => Layout::List(vec![
                    (0, Arc::new(Layout::Run(first))),
                    (at as i64, Arc::new(Layout::Run(second))),
                ]),
            },
            Self::Repeat { count, stride, inner } => repeat(*count, *stride, inner.layout()),
            Self::List(list) => merge(list.iter().map(|(place, inner)| (*place, inner.layout()))),
        }
    }
}

impl Basic {
    /// Of a pair whose parts do not touch: how long they are, and where the second begins.
    fn hole(&self) -> Option<(usize, usize, usize)> {
        match self.nature {
            super::basic::Nature::Pair(_, at) if self.size - 4 != at => Some((self.size - 4, 4, at)),
            _ => None,
        }
    }

    pub(crate) fn elements(&self) -> usize {
        match self.nature {
            super::basic::Nature::Pair(..) => 2,
            _ => 1,
        }
    }
}

pub(crate) fn repeat(count: usize, stride: i64, inner: Layout) -> Layout {
    match inner {
        _ if count == 0 => Layout::Run(0),
        Layout::Run(0) => Layout::Run(0),
        Layout::Run(length) if length as i64 == stride => Layout::Run(length * count),
        inner if count == 1 => inner,
        inner => Layout::Repeat { count, stride, inner: Arc::new(inner) },
    }
}

fn merge(parts: impl Iterator<Item = (i64, Layout)>) -> Layout {
    let mut merged: Vec<(i64, Layout)> = Vec::new();
    for (place, layout) in parts {
        match (merged.last_mut(), layout) {
            (_, Layout::Run(0)) => {}
            (Some((before, Layout::Run(length))), Layout::Run(more)) if *before + *length as i64 == place => {
                *length += more;
            }
            (_, layout) => merged.push((place, layout)),
        }
    }
    match merged.len() {
        0 => Layout::Run(0),
        1 if merged[0].0 == 0 => merged.swap_remove(0).1,
        _ => Layout::List(merged.into_iter().map(|(place, layout)| (place, Arc::new(layout))).collect()),
    }
}

/// Runs of the same length, the same distance apart: nearly all that there are lie so, and are copied several times as
/// fast as one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Runs {
    pub(crate) at: i64,
    pub(crate) count: usize,
    pub(crate) stride: i64,
    pub(crate) length: usize,
}

impl Layout {
    /// Visits the runs, in order, until the visitor says stop.
    pub(crate) fn visit(&self, at: i64, visitor: &mut impl FnMut(Runs) -> bool) -> bool {
        match self {
            Self::Run(length) => self.visit_repeated(1, *length as i64, at, visitor),
            Self::Repeat { count, stride, inner } => inner.visit_repeated(*count, *stride, at, visitor),
            Self::List(list) => list.iter().all(|(place, inner)| inner.visit(at + place, visitor)),
        }
    }

    /// The same of so many of this, `stride` apart.
    fn visit_repeated(
        &self,
        count: usize,
        stride: i64,
        at: i64,
        visitor: &mut impl FnMut(Runs) -> bool,
    ) -> bool {
        match *self {
            Self::Run(0) => true,
            // Without holes it is one.
            Self::Run(length) if length as i64 == stride && count > 0 => {
                visitor(Runs { at, count: 1, stride: stride * count as i64, length: length * count })
            }
            Self::Run(length) => visitor(Runs { at, count, stride, length }),
            // A part of each, which need not be at its beginning.
            Self::List(ref list) if list.len() == 1 => {
                let (place, inner) = &list[0];
                inner.visit_repeated(count, stride, at + place, visitor)
            }
            _ => (0..count).all(|turn| self.visit(at + turn as i64 * stride, visitor)),
        }
    }

    /// Copies what lies at `base`, of so many of this `extent` apart, into `packed`, whose length says how much.
    pub(crate) fn pack(&self, count: usize, extent: i64, base: Address, packed: &mut [u8]) {
        let mut rest = packed;
        self.visit_repeated(count, extent, 0, &mut |runs| {
            let whole = runs.whole(rest.len());
            let (these, more) = std::mem::take(&mut rest).split_at_mut(whole * runs.length);
            base.plus(runs.at).read_runs(runs.stride, runs.length, these);
            rest = more;
            if whole < runs.count {
                base.plus(runs.place(whole)).read(std::mem::take(&mut rest));
            }
            !rest.is_empty()
        });
    }

    /// And back.
    pub(crate) fn unpack(&self, count: usize, extent: i64, packed: &[u8], base: Address) {
        let mut rest = packed;
        self.visit_repeated(count, extent, 0, &mut |runs| {
            let whole = runs.whole(rest.len());
            let (these, more) = rest.split_at(whole * runs.length);
            base.plus(runs.at).write_runs(runs.stride, runs.length, these);
            rest = more;
            if whole < runs.count {
                base.plus(runs.place(whole)).write(std::mem::take(&mut rest));
            }
            !rest.is_empty()
        });
    }
}

impl Runs {
    /// How many of them so many bytes fill.
    fn whole(&self, bytes: usize) -> usize {
        self.count.min(bytes / self.length)
    }

    /// Where one of them lies.
    fn place(&self, run: usize) -> i64 {
        self.at + run as i64 * self.stride
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where each byte lies, in order: what packing is held to.
    fn bytes_of(layout: &Layout, at: i64, into: &mut Vec<i64>) {
        match layout {
            Layout::Run(length) => into.extend(at..at + *length as i64),
            Layout::Repeat { count, stride, inner } => {
                (0..*count as i64).for_each(|turn| bytes_of(inner, at + turn * stride, into));
            }
            Layout::List(list) => list.iter().for_each(|(place, inner)| bytes_of(inner, at + place, into)),
        }
    }

    #[test]
    fn as_much_as_can_be_is_visited_at_once() {
        let visits = |layout: &Layout, count, stride| {
            let mut visits = Vec::new();
            layout.visit_repeated(count, stride, 8, &mut |runs| {
                visits.push(runs);
                true
            });
            visits
        };
        let runs = |at, count, stride, length| vec![Runs { at, count, stride, length }];
        assert_eq!(visits(&Layout::Run(4), 100, 4), runs(8, 1, 400, 400));
        assert_eq!(visits(&Layout::Run(4), 100, 12), runs(8, 100, 12, 4));
        let apart = Layout::List(vec![(4, Arc::new(Layout::Run(4)))]);
        assert_eq!(visits(&apart, 100, 12), runs(12, 100, 12, 4));
        assert_eq!(visits(&repeat(3, 12, Layout::Run(4)), 2, 64).len(), 2);
    }

    #[test]
    fn all_layouts_are_packed_and_unpacked_as_far_as_it_goes() {
        let run = |length| Arc::new(Layout::Run(length));
        let mut layouts = vec![Layout::Run(0), Layout::Run(7)];
        for length in [1, 2, 3, 4, 5, 8, 12, 16, 24, 31] {
            let inner = repeat(3, 40, Layout::Run(length));
            layouts.push(repeat(2, -130, inner.clone()));
            layouts.push(Layout::List(vec![(60, run(length)), (0, Arc::new(inner)), (-9, run(3))]));
            layouts.push(repeat(4, 50, Layout::List(vec![(7, run(length))])));
            layouts.push(repeat(9, length as i64, Layout::List(vec![(0, run(length))])));
        }
        let memory: Vec<u8> = (0..4_096u32).map(|place| (place * 7 + place / 256) as u8).collect();
        let (middle, extent) = (2_048, 333);
        for layout in &layouts {
            for count in [0, 1, 3] {
                let mut places = Vec::new();
                (0..count as i64).for_each(|turn| bytes_of(layout, turn * extent, &mut places));
                let at = |place: &i64| (middle + place) as usize;
                for length in [0, 1, places.len() / 3, places.len().saturating_sub(1), places.len()] {
                    let length = length.min(places.len());
                    let expected: Vec<u8> = places[..length].iter().map(|place| memory[at(place)]).collect();
                    let mut packed = vec![0; length];
                    layout.pack(count, extent, Address::of_bytes(&memory).plus(middle), &mut packed);
                    assert_eq!(packed, expected, "{count} times {layout:?}, {length} bytes");

                    let (mut back, mut wanted) = (vec![0u8; 4_096], vec![0u8; 4_096]);
                    places[..length].iter().for_each(|place| wanted[at(place)] = memory[at(place)]);
                    let base = Address::of_bytes_mut(&mut back).plus(middle);
                    layout.unpack(count, extent, &packed, base);
                    assert_eq!(back, wanted, "{count} times {layout:?}, {length} bytes back");
                }
            }
        }
    }
}
