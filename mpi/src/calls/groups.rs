//! Groups.

use super::shared::number;
use crate::arguments::{Handles, IntOut, Ints};
use crate::error::{Result, fail};
use crate::groups::{get, insert, remove};
use crate::guard::on_none;
use crate::process;
use crate::standard::{ERR_ARG, ERR_RANK, Group, IDENT, PROC_NULL, SIMILAR, UNDEFINED, UNEQUAL};

pub fn group_size(group: Group, size: IntOut) -> i32 {
    on_none("MPI_Group_size", || {
        size.set(get(group)?.len() as i64);
        Ok(())
    })
}

pub fn group_rank(group: Group, rank: IntOut) -> i32 {
    on_none("MPI_Group_rank", || {
        let me = process::rank()?;
        rank.set(get(group)?.rank_of(me).map_or(UNDEFINED.into(), |rank| rank as i64));
        Ok(())
    })
}

pub fn group_compare(group1: Group, group2: Group, result: IntOut) -> i32 {
    on_none("MPI_Group_compare", || {
        let compared = match get(group1)?.compare(&*get(group2)?) {
            ringworld::Comparison::Identical | ringworld::Comparison::Congruent => IDENT,
            ringworld::Comparison::Similar => SIMILAR,
            ringworld::Comparison::Different => UNEQUAL,
        };
        result.set(compared.into());
        Ok(())
    })
}

pub fn group_translate_ranks(group1: Group, n: i32, ranks1: Ints, group2: Group, ranks2: IntOut) -> i32 {
    on_none("MPI_Group_translate_ranks", || {
        let (from, to) = (get(group1)?, get(group2)?);
        let n = number(n.into(), RANKS)?;
        if n > 0 && (ranks1.is_null() || ranks2.is_null()) {
            return fail(ERR_ARG, "NULL was given for ranks");
        }
        for place in 0..n {
            let rank = ranks1.get(place);
            let translated = if rank == i64::from(PROC_NULL) {
                PROC_NULL.into()
            } else {
                let Some(world) = usize::try_from(rank).ok().and_then(|rank| from.ranks().get(rank)) else {
                    return fail(ERR_RANK, format!("rank {rank} is not in a group of {}", from.len()));
                };
                to.rank_of(*world).map_or(UNDEFINED.into(), |rank| rank as i64)
            };
            ranks2.put(place, translated);
        }
        Ok(())
    })
}

fn give(newgroup: Handles<Group>, group: ringworld::Group) {
    newgroup.set(insert(group));
}

pub fn group_union(group1: Group, group2: Group, newgroup: Handles<Group>) -> i32 {
    on_none("MPI_Group_union", || {
        give(newgroup, get(group1)?.union(&*get(group2)?));
        Ok(())
    })
}

pub fn group_intersection(group1: Group, group2: Group, newgroup: Handles<Group>) -> i32 {
    on_none("MPI_Group_intersection", || {
        give(newgroup, get(group1)?.intersection(&*get(group2)?));
        Ok(())
    })
}

pub fn group_difference(group1: Group, group2: Group, newgroup: Handles<Group>) -> i32 {
    on_none("MPI_Group_difference", || {
        give(newgroup, get(group1)?.difference(&*get(group2)?));
        Ok(())
    })
}

const RANKS: &str = "the number of ranks";

/// As many ranks of a group as were given.
fn ranks(n: i32, given: Ints) -> Result<Vec<usize>> {
    valid(given.vec(number(n.into(), RANKS)?))
}

fn valid(given: impl IntoIterator<Item = i64>) -> Result<Vec<usize>> {
    let rank = |rank: i64| usize::try_from(rank).or_else(|_| fail(ERR_RANK, format!("{rank} is no rank")));
    given.into_iter().map(rank).collect()
}

/// An error of the runtime's about ranks of a group.
fn of_ranks(made: ringworld::Result<ringworld::Group>) -> Result<ringworld::Group> {
    made.or_else(|why| fail(ERR_RANK, why.to_string()))
}

pub fn group_incl(group: Group, n: i32, ranks: Ints, newgroup: Handles<Group>) -> i32 {
    on_none("MPI_Group_incl", || {
        give(newgroup, of_ranks(get(group)?.include(self::ranks(n, ranks)?))?);
        Ok(())
    })
}

pub fn group_excl(group: Group, n: i32, ranks: Ints, newgroup: Handles<Group>) -> i32 {
    on_none("MPI_Group_excl", || {
        give(newgroup, of_ranks(get(group)?.exclude(self::ranks(n, ranks)?))?);
        Ok(())
    })
}

/// The ranks of ranges (first, last, stride).
fn ranges(n: i32, given: Ints) -> Result<Vec<usize>> {
    let mut all = Vec::new();
    for place in 0..number(n.into(), "the number of ranges")? {
        let [first, last, stride] = [0, 1, 2].map(|at| given.get(3 * place + at));
        if stride == 0 || (last - first) * stride.signum() < 0 {
            return fail(ERR_ARG, format!("the range from {first} to {last} by {stride} cannot be"));
        }
        let steps = (last - first) / stride;
        all.extend((0..=steps).map(|step| first + step * stride));
    }
    valid(all)
}

pub fn group_range_incl(group: Group, n: i32, ranges: Ints, newgroup: Handles<Group>) -> i32 {
    on_none("MPI_Group_range_incl", || {
        give(newgroup, of_ranks(get(group)?.include(self::ranges(n, ranges)?))?);
        Ok(())
    })
}

pub fn group_range_excl(group: Group, n: i32, ranges: Ints, newgroup: Handles<Group>) -> i32 {
    on_none("MPI_Group_range_excl", || {
        give(newgroup, of_ranks(get(group)?.exclude(self::ranges(n, ranges)?))?);
        Ok(())
    })
}

pub fn group_free(group: Handles<Group>) -> i32 {
    on_none("MPI_Group_free", || {
        remove(group.get(0))?;
        group.set(Group::NULL);
        Ok(())
    })
}
