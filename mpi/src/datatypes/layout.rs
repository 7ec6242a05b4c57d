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

    /// The one basic type that it is made of, if it is one.
    pub(crate) fn uniform(&self) -> Option<&'static Basic> {
        match self {
            Self::Basic(basic) => Some(basic),
            Self::Repeat { inner, .. } => inner.uniform(),
            Self::List(list) => {
                let (_, first) = list.first()?;
                let first = first.uniform()?;
                let same = |(_, inner): &(i64, Arc<Self>)| {
                    inner.uniform().is_some_and(|other| other.handle == first.handle)
                };
                list.iter().all(same).then_some(first)
            }
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

impl Layout {
    /// Visits the runs, in order, until the visitor says stop.
    pub(crate) fn visit(&self, at: i64, visitor: &mut impl FnMut(i64, usize) -> bool) -> bool {
        match self {
            Self::Run(length) => *length == 0 || visitor(at, *length),
            Self::Repeat { count, stride, inner } => {
                (0..*count).all(|turn| inner.visit(at + turn as i64 * stride, visitor))
            }
            Self::List(list) => list.iter().all(|(place, inner)| inner.visit(at + place, visitor)),
        }
    }

    /// Copies what lies at `base` into `packed`, whose length says how much.
    pub(crate) fn pack(&self, base: Address, packed: &mut [u8]) {
        let mut done = 0;
        self.visit(0, &mut |at, length| {
            let end = (done + length).min(packed.len());
            base.plus(at).read(&mut packed[done..end]);
            done = end;
            done < packed.len()
        });
    }

    /// And back.
    pub(crate) fn unpack(&self, packed: &[u8], base: Address) {
        let mut done = 0;
        self.visit(0, &mut |at, length| {
            let end = (done + length).min(packed.len());
            base.plus(at).write(&packed[done..end]);
            done = end;
            done < packed.len()
        });
    }
}
