//! What several of the functions do with their arguments.

use std::sync::Arc;

use ringworld::foreign::Reducer;

use crate::arguments::{Address, Handles, Ints};
use crate::comms::Comm;
use crate::datatypes::{self, Buffer};
use crate::error::{Result, fail};
use crate::operations;
use crate::requests;
use crate::standard::{self, ERR_ARG, ERR_COUNT};
use crate::work::Work;

/// The buffer of a call.
#[inline]
pub(super) fn buffer(address: Address, count: i64, datatype: standard::Datatype) -> Result<Buffer> {
    Buffer::new(address, count, datatypes::usable(datatype)?)
}

/// The same, unless the call works in place.
#[inline]
pub(super) fn unless_in_place(
    address: Address,
    count: i64,
    datatype: standard::Datatype,
) -> Result<Option<Buffer>> {
    if address.is_in_place() { Ok(None) } else { buffer(address, count, datatype).map(Some) }
}

/// Blocks of as many elements, one behind the other.
pub(super) fn blocks(
    address: Address,
    count: i64,
    datatype: standard::Datatype,
    number: usize,
) -> Result<Vec<Buffer>> {
    if number == 0 {
        return Ok(Vec::new());
    }
    let first = buffer(address, count, datatype)?;
    Ok((0..number).map(|place| first.part(place as i64 * count, first.count)).collect())
}

/// Blocks of given lengths, at displacements in elements; one behind the other where none are given.
pub(super) fn varied(
    address: Address,
    counts: Ints,
    displacements: Option<Ints>,
    datatype: standard::Datatype,
    number: usize,
) -> Result<Vec<Buffer>> {
    there("the counts of elements", counts.is_null(), number)?;
    there("the displacements", displacements.is_some_and(Ints::is_null), number)?;
    let datatype = datatypes::usable(datatype)?;
    let extent = datatype.extent();
    let mut next = 0;
    (0..number)
        .map(|place| {
            let count = counts.get(place);
            let at = displacements.map_or(next, |displacements| displacements.get(place));
            next += count;
            Buffer::new(address.plus(at * extent), count, Arc::clone(&datatype))
        })
        .collect()
}

/// Arrays have to be there, where anything of them is needed.
fn there(what: &str, is_null: bool, number: usize) -> Result<()> {
    if is_null && number > 0 { fail(ERR_ARG, format!("NULL was given for {what}")) } else { Ok(()) }
}

/// Blocks of a datatype each, at displacements in bytes.
pub(super) fn of_each(
    address: Address,
    counts: Ints,
    displacements: Ints,
    types: Handles<standard::Datatype>,
    number: usize,
) -> Result<Vec<Buffer>> {
    there("the counts of elements", counts.is_null(), number)?;
    there("the displacements", displacements.is_null(), number)?;
    there("the datatypes", types.is_null(), number)?;
    (0..number)
        .map(|place| {
            let datatype = datatypes::usable(types.get(place))?;
            Buffer::new(address.plus(displacements.get(place)), counts.get(place), datatype)
        })
        .collect()
}

/// How elements are combined.
#[inline]
pub(super) fn reducer(op: standard::Op, datatype: standard::Datatype) -> Result<Reducer> {
    operations::reducer(op, datatype, &datatypes::usable(datatype)?)
}

/// Gives the program the request of what is under way.
pub(super) fn give(request: Handles<standard::Request>, comm: &Arc<Comm>, work: Work) {
    request.set(requests::active(Some(comm.into()), work));
}

/// A number that must not be negative.
pub(super) fn number(given: i64, what: &str) -> Result<usize> {
    usize::try_from(given).or_else(|_| fail(ERR_ARG, format!("{what} is {given}; it must be 0 or more")))
}

/// Counts of elements.
pub(super) fn counts(given: Ints, number: usize) -> Result<Vec<usize>> {
    let count = |count: i64| {
        usize::try_from(count).or_else(|_| fail(ERR_COUNT, format!("{count} is no number of elements")))
    };
    there("the counts of elements", given.is_null(), number)?;
    (0..number).map(|place| count(given.get(place))).collect()
}
