//! The constructors of datatypes (MPI 5.0, sections 5.1.2 to 5.1.5).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::datatype::{Datatype, Recipe};
use super::layout::Map;
use crate::attributes::Attributes;
use crate::error::{Result, fail};
use crate::standard::{
    self, CONTIGUOUS, DARRAY, DISTRIBUTE_BLOCK, DISTRIBUTE_CYCLIC, DISTRIBUTE_DFLT_DARG, DISTRIBUTE_NONE,
    DUP, ERR_ARG, ERR_COUNT, F90_INTEGER, HINDEXED_BLOCK, HVECTOR, INDEXED, INDEXED_BLOCK, ORDER_C,
    ORDER_FORTRAN, RESIZED, STRUCT, SUBARRAY, VECTOR,
};

/// A datatype with the handle that the program knows it by.
pub(crate) type Old = (standard::Datatype, Arc<Datatype>);

/// So many elements at some place.
struct Block<'a> {
    at: i64,
    count: usize,
    of: &'a Datatype,
}

fn kept(old: &Old) -> (standard::Datatype, Option<Arc<Datatype>>) {
    (old.0, old.1.made.then(|| Arc::clone(&old.1)))
}

fn count(given: i64, what: &str) -> Result<usize> {
    usize::try_from(given).or_else(|_| fail(ERR_COUNT, format!("{what} is {given}; it must be 0 or more")))
}

/// A datatype of blocks, one after the other.
fn of_blocks(blocks: &[Block<'_>], recipe: Recipe) -> Datatype {
    let (mut lb, mut ub, mut true_lb, mut true_ub) = (i64::MAX, i64::MIN, i64::MAX, i64::MIN);
    let (mut size, mut alignment) = (0, 1);
    let mut list = Vec::with_capacity(blocks.len());
    for Block { at, count, of } in blocks.iter().filter(|block| block.count > 0) {
        let last = at + (*count as i64 - 1) * of.extent();
        let (low, high) = (last.min(*at), last.max(*at));
        (lb, ub) = (lb.min(low + of.lb), ub.max(high + of.ub));
        if of.size > 0 {
            (true_lb, true_ub) = (true_lb.min(low + of.true_lb), true_ub.max(high + of.true_ub));
        }
        size += count * of.size;
        alignment = alignment.max(of.alignment);
        let inner = Arc::clone(&of.map);
        let one = *count == 1;
        let map =
            if one { inner } else { Arc::new(Map::Repeat { count: *count, stride: of.extent(), inner }) };
        list.push((*at, map));
    }
    if lb > ub {
        (lb, ub) = (0, 0);
    }
    if true_lb > true_ub {
        (true_lb, true_ub) = (0, 0);
    }
    let map =
        if list.len() == 1 && list[0].0 == 0 { list.swap_remove(0).1 } else { Arc::new(Map::List(list)) };
    Datatype {
        size,
        lb,
        ub,
        true_lb,
        true_ub,
        layout: map.layout(),
        map,
        alignment,
        recipe,
        committed: AtomicBool::new(false),
        name: Mutex::default(),
        attributes: Attributes::default(),
        made: true,
    }
}

/// The same datatype again.
pub(crate) fn dup(old: &Old) -> Datatype {
    let recipe = Recipe { combiner: DUP, types: vec![kept(old)], ..Recipe::default() };
    let committed = AtomicBool::new(old.1.committed.load(Ordering::Relaxed));
    Datatype { committed, ..with_bounds(&old.1, old.1.lb, old.1.ub, recipe) }
}

/// The same elements with other bounds.
fn with_bounds(old: &Datatype, lb: i64, ub: i64, recipe: Recipe) -> Datatype {
    Datatype {
        size: old.size,
        lb,
        ub,
        true_lb: old.true_lb,
        true_ub: old.true_ub,
        map: Arc::clone(&old.map),
        layout: old.layout.clone(),
        alignment: old.alignment,
        recipe,
        committed: AtomicBool::new(false),
        name: Mutex::default(),
        attributes: Attributes::default(),
        made: true,
    }
}

pub(crate) fn resized(old: &Old, lb: i64, extent: i64) -> Datatype {
    let recipe = Recipe {
        combiner: RESIZED,
        addresses: vec![lb, extent],
        types: vec![kept(old)],
        ..Recipe::default()
    };
    // Whoever gives bounds wants no others.
    Datatype { alignment: 1, ..with_bounds(&old.1, lb, lb + extent, recipe) }
}

pub(crate) fn contiguous(given: i64, old: &Old) -> Result<Datatype> {
    let recipe =
        Recipe { combiner: CONTIGUOUS, integers: vec![given], types: vec![kept(old)], ..Recipe::default() };
    Ok(of_blocks(&[Block { at: 0, count: count(given, "count")?, of: &old.1 }], recipe))
}

/// `stride` in bytes; `elements`: as the program has given it, if it did so in extents.
pub(crate) fn vector(
    given: i64,
    blocklength: i64,
    stride: i64,
    elements: Option<i64>,
    old: &Old,
) -> Result<Datatype> {
    let types = vec![kept(old)];
    let recipe = match elements {
        Some(elements) => Recipe {
            combiner: VECTOR,
            integers: vec![given, blocklength, elements],
            types,
            ..Recipe::default()
        },
        None => {
            Recipe { combiner: HVECTOR, integers: vec![given, blocklength], addresses: vec![stride], types }
        }
    };
    let length = count(blocklength, "blocklength")?;
    let turns = count(given, "count")?;
    let block = of_blocks(&[Block { at: 0, count: length, of: &old.1 }], Recipe::default());
    // A block that repeats at a stride is an element with that extent.
    let (lb, ub) = (block.lb, block.ub);
    let element = with_bounds(&block, lb, lb + stride, Recipe::default());
    let mut made =
        of_blocks(&[Block { at: 0, count: if length == 0 { 0 } else { turns }, of: &element }], recipe);
    if turns > 0 && length > 0 {
        let last = (turns as i64 - 1) * stride;
        (made.lb, made.ub) = (lb + last.min(0), ub + last.max(0));
    }
    Ok(made)
}

/// Blocks of given lengths at given places; `unit`: of the displacements, in bytes.
pub(crate) fn indexed(
    combiner: i32,
    lengths: &[i64],
    displacements: &[i64],
    unit: i64,
    old: &Old,
) -> Result<Datatype> {
    let number = displacements.len() as i64;
    let mut integers = vec![number];
    let mut addresses = Vec::new();
    match combiner {
        INDEXED_BLOCK | HINDEXED_BLOCK => integers.extend(lengths.first().or(Some(&0))),
        _ => integers.extend(lengths),
    }
    match combiner {
        INDEXED | INDEXED_BLOCK => integers.extend(displacements),
        _ => addresses.extend(displacements),
    }
    let recipe = Recipe { combiner, integers, addresses, types: vec![kept(old)] };
    let blocks = lengths
        .iter()
        .zip(displacements)
        .map(|(length, at)| Ok(Block { at: at * unit, count: count(*length, "blocklength")?, of: &old.1 }))
        .collect::<Result<Vec<_>>>()?;
    Ok(of_blocks(&blocks, recipe))
}

pub(crate) fn structure(lengths: &[i64], displacements: &[i64], types: &[Old]) -> Result<Datatype> {
    let mut integers = vec![lengths.len() as i64];
    integers.extend(lengths);
    let recipe = Recipe {
        combiner: STRUCT,
        integers,
        addresses: displacements.to_vec(),
        types: types.iter().map(kept).collect(),
    };
    let blocks = lengths
        .iter()
        .zip(displacements)
        .zip(types)
        .map(|((length, at), old)| Ok(Block { at: *at, count: count(*length, "blocklength")?, of: &old.1 }))
        .collect::<Result<Vec<_>>>()?;
    let mut made = of_blocks(&blocks, recipe);
    // As a compiler pads a structure, so that an array of them is aligned; not where bounds were given.
    let bounded = types.iter().any(|(_, old)| old.alignment == 1 && old.made);
    if !bounded {
        let alignment = made.alignment as i64;
        made.ub += (alignment - made.extent().rem_euclid(alignment)) % alignment;
    }
    Ok(made)
}

pub(crate) fn subarray(
    sizes: &[i64],
    parts: &[i64],
    starts: &[i64],
    order: i32,
    old: &Old,
) -> Result<Datatype> {
    let mut integers = vec![sizes.len() as i64];
    integers.extend(sizes.iter().chain(parts).chain(starts));
    integers.push(order.into());
    let recipe = Recipe { combiner: SUBARRAY, integers, types: vec![kept(old)], ..Recipe::default() };
    if sizes.is_empty() {
        return fail(ERR_ARG, "an array has one dimension at least");
    }
    for ((size, part), start) in sizes.iter().zip(parts).zip(starts) {
        if *size < 1 || *part < 1 || part > size || *start < 0 || start + part > *size {
            return fail(
                ERR_ARG,
                format!("{part} elements from {start} on are no part of a dimension of {size}"),
            );
        }
    }
    let ranges = parts.iter().zip(starts).map(|(part, start)| vec![(*start, *part)]).collect();
    array(sizes, ranges, order, old, recipe)
}

/// The elements of an array whose index is, in each dimension, in one of the ranges (first, how many).
fn array(
    sizes: &[i64],
    ranges: Vec<Vec<(i64, i64)>>,
    order: i32,
    old: &Old,
    recipe: Recipe,
) -> Result<Datatype> {
    let mut dimensions: Vec<_> = sizes.iter().copied().zip(ranges).collect();
    match order {
        // The fastest first.
        ORDER_C => dimensions.reverse(),
        ORDER_FORTRAN => {}
        _ => return fail(ERR_ARG, format!("{order} is no order of an array")),
    }
    let (mut stride, whole) = (old.1.extent(), old.1.extent() * sizes.iter().product::<i64>());
    let mut element = with_bounds(&old.1, old.1.lb, old.1.ub, Recipe::default());
    for (size, ranges) in dimensions {
        let blocks: Vec<_> = ranges
            .iter()
            .map(|(first, number)| Block { at: first * stride, count: *number as usize, of: &element })
            .collect();
        let made = of_blocks(&blocks, Recipe::default());
        stride *= size;
        element = with_bounds(&made, 0, stride, Recipe::default());
    }
    let mut made = with_bounds(&element, 0, whole, recipe);
    (made.lb, made.ub) = (old.1.lb, old.1.lb + whole);
    Ok(made)
}

/// The datatype of Fortran's for a precision and a range, the same handle each time. It cannot be freed.
pub(crate) fn of_fortran(
    combiner: i32,
    p: i32,
    r: i32,
    basic: standard::Datatype,
) -> Result<standard::Datatype> {
    type Known = BTreeMap<(i32, i32, i32), standard::Datatype>;
    static KNOWN: Mutex<Known> = Mutex::new(Known::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(handle) = known.get(&(combiner, p, r)) {
        return Ok(*handle);
    }
    let old = super::datatype::get(basic)?;
    let integers = if combiner == F90_INTEGER { vec![r.into()] } else { vec![p.into(), r.into()] };
    let recipe = Recipe { combiner, integers, ..Recipe::default() };
    let made = with_bounds(&old, old.lb, old.ub, recipe);
    made.committed.store(true, Ordering::Relaxed);
    let handle = super::datatype::insert(Arc::new(Datatype { made: false, ..made }));
    known.insert((combiner, p, r), handle);
    Ok(handle)
}

/// What one process has of an array that is dealt out over a grid of them.
pub(crate) struct Dealt<'a> {
    pub(crate) size: i64,
    pub(crate) rank: i64,
    pub(crate) sizes: &'a [i64],
    pub(crate) distributions: &'a [i64],
    pub(crate) arguments: &'a [i64],
    pub(crate) grid: &'a [i64],
    pub(crate) order: i32,
}

pub(crate) fn darray(dealt: &Dealt<'_>, old: &Old) -> Result<Datatype> {
    let Dealt { size, rank, sizes, distributions, arguments, grid, order } = *dealt;
    let mut integers = vec![size, rank, sizes.len() as i64];
    integers.extend(sizes.iter().chain(distributions).chain(arguments).chain(grid));
    integers.push(order.into());
    let recipe = Recipe { combiner: DARRAY, integers, types: vec![kept(old)], ..Recipe::default() };
    if grid.iter().product::<i64>() != size || rank < 0 || rank >= size {
        return fail(ERR_ARG, format!("rank {rank} of a grid {grid:?} of {size} processes does not exist"));
    }
    // Places in the grid are in the order of C, whatever that of the array is.
    let mut places = vec![0; grid.len()];
    let mut left = rank;
    for (place, width) in places.iter_mut().zip(grid).rev() {
        (*place, left) = (left % width, left / width);
    }
    let mut ranges = Vec::new();
    for dimension in 0..sizes.len() {
        let (size, width, place) = (sizes[dimension], grid[dimension], places[dimension]);
        let given = arguments[dimension];
        let is_default = given == i64::from(DISTRIBUTE_DFLT_DARG);
        let block = match distributions[dimension] as i32 {
            DISTRIBUTE_NONE if width == 1 => size,
            DISTRIBUTE_BLOCK if is_default => (size + width - 1) / width,
            DISTRIBUTE_BLOCK if given > 0 && given * width >= size => given,
            DISTRIBUTE_CYCLIC if is_default => 1,
            DISTRIBUTE_CYCLIC if given > 0 => given,
            other => return fail(ERR_ARG, format!("distribution {other} with argument {given} cannot be")),
        };
        let starts = (0..).map(|turn| (turn * width + place) * block).take_while(|start| *start < size);
        ranges.push(starts.map(|start| (start, block.min(size - start))).collect());
    }
    array(sizes, ranges, order, old, recipe)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn int() -> Old {
        (standard::Datatype::INT, crate::datatypes::get(standard::Datatype::INT).unwrap())
    }

    fn runs(datatype: &Datatype) -> Vec<(i64, usize)> {
        let mut runs = Vec::new();
        datatype.layout.visit(0, &mut |found| {
            runs.extend((0..found.count as i64).map(|run| (found.at + run * found.stride, found.length)));
            true
        });
        runs
    }

    #[test]
    fn blocks_lie_where_they_were_asked_for_and_bounds_go_round_them() {
        let made = vector(3, 2, 16, Some(4), &int()).unwrap();
        assert_eq!((runs(&made), made.size), (vec![(0, 8), (16, 8), (32, 8)], 24));
        assert_eq!((made.lb, made.ub, made.true_ub), (0, 40, 40));
        let made = vector(2, 1, -8, None, &int()).unwrap();
        assert_eq!((runs(&made), made.lb, made.ub), (vec![(0, 4), (-8, 4)], -8, 4));
        let made = indexed(INDEXED, &[1, 0, 2], &[5, 9, 1], 4, &int()).unwrap();
        assert_eq!((runs(&made), made.lb, made.ub), (vec![(20, 4), (4, 8)], 4, 24));
        assert_eq!(made.recipe.integers, [3, 1, 0, 2, 5, 9, 1]);
        assert!(contiguous(-1, &int()).is_err());
        let made = contiguous(5, &int()).unwrap();
        assert!(made.is_dense() && runs(&made) == [(0, 20)]);
    }

    #[test]
    fn a_structure_is_padded_as_a_compiler_pads_it_unless_bounds_were_given() {
        let byte = (standard::Datatype::BYTE, crate::datatypes::get(standard::Datatype::BYTE).unwrap());
        let made = structure(&[1, 1], &[0, 4], &[int(), byte.clone()]).unwrap();
        assert_eq!((made.size, made.ub, made.true_ub), (5, 8, 5));
        let bounded = (standard::Datatype(0x1000), Arc::new(resized(&int(), 0, 5)));
        let made = structure(&[1, 1], &[0, 5], &[bounded, byte]).unwrap();
        assert_eq!(made.ub, 6);
    }

    #[test]
    fn a_part_of_an_array_keeps_the_extent_of_the_whole() {
        let made = subarray(&[4, 6], &[2, 3], &[1, 2], ORDER_C, &int()).unwrap();
        assert_eq!((runs(&made), made.lb, made.ub), (vec![(32, 12), (56, 12)], 0, 96));
        let made = subarray(&[4, 6], &[2, 3], &[1, 2], ORDER_FORTRAN, &int()).unwrap();
        assert_eq!(runs(&made), [(36, 8), (52, 8), (68, 8)]);
        assert!(subarray(&[4], &[3], &[2], ORDER_C, &int()).is_err());
    }

    #[test]
    fn an_array_that_is_dealt_out_is_whole_again_over_all_ranks() {
        for (distribution, argument) in [(DISTRIBUTE_BLOCK, DISTRIBUTE_DFLT_DARG), (DISTRIBUTE_CYCLIC, 2)] {
            let mut bytes = vec![0; 7 * 5 * 4];
            for rank in 0..6 {
                let dealt = Dealt {
                    size: 6,
                    rank,
                    sizes: &[7, 5],
                    distributions: &[distribution.into(); 2],
                    arguments: &[argument.into(); 2],
                    grid: &[2, 3],
                    order: ORDER_C,
                };
                for (at, length) in runs(&darray(&dealt, &int()).unwrap()) {
                    bytes[at as usize..][..length].iter_mut().for_each(|byte| *byte += 1);
                }
            }
            assert_eq!(bytes, vec![1; 140]);
        }
    }
}
