//! Datatypes, packing, and counts of elements.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use super::shared::{self, number};
use crate::arguments::{Address, Handles, IntOut, Ints, StatusOut, Text, TextOut};
use crate::datatypes::make::{self, Dealt, Old};
use crate::datatypes::{self, Datatype as Object, Recipe, external};
use crate::error::{Result, fail};
use crate::guard::on_none;
use crate::host::host;
use crate::standard::{
    self, Comm, DARRAY, Datatype, ERR_ARG, ERR_TRUNCATE, ERR_TYPE, ERR_UNSUPPORTED_DATAREP, F90_COMPLEX,
    F90_INTEGER, F90_REAL, HINDEXED, HINDEXED_BLOCK, INDEXED, INDEXED_BLOCK, MAX_OBJECT_NAME, NAMED,
    SUBARRAY, UNDEFINED,
};

fn old(handle: Datatype) -> Result<Old> {
    Ok((handle, datatypes::get(handle)?))
}

/// Gives the program a datatype.
fn make(call: &str, newtype: Handles<Datatype>, made: impl FnOnce() -> Result<Object>) -> i32 {
    on_none(call, || {
        newtype.set(datatypes::insert(Arc::new(made()?)));
        Ok(())
    })
}

pub fn type_contiguous(count: i64, oldtype: Datatype, newtype: Handles<Datatype>) -> i32 {
    make("MPI_Type_contiguous", newtype, || make::contiguous(count, &old(oldtype)?))
}

pub fn type_vector(
    count: i64,
    blocklength: i64,
    stride: i64,
    oldtype: Datatype,
    newtype: Handles<Datatype>,
) -> i32 {
    make("MPI_Type_vector", newtype, || {
        let old = old(oldtype)?;
        make::vector(count, blocklength, stride * old.1.extent(), Some(stride), &old)
    })
}

pub fn type_create_hvector(
    count: i64,
    blocklength: i64,
    stride: i64,
    oldtype: Datatype,
    newtype: Handles<Datatype>,
) -> i32 {
    make("MPI_Type_create_hvector", newtype, || {
        make::vector(count, blocklength, stride, None, &old(oldtype)?)
    })
}

pub fn type_indexed(
    count: i64,
    array_of_blocklengths: Ints,
    array_of_displacements: Ints,
    oldtype: Datatype,
    newtype: Handles<Datatype>,
) -> i32 {
    make("MPI_Type_indexed", newtype, || {
        let (old, count) = (old(oldtype)?, number(count, "count")?);
        let (lengths, places) = (array_of_blocklengths.vec(count), array_of_displacements.vec(count));
        make::indexed(INDEXED, &lengths, &places, old.1.extent(), &old)
    })
}

pub fn type_create_hindexed(
    count: i64,
    array_of_blocklengths: Ints,
    array_of_displacements: Ints,
    oldtype: Datatype,
    newtype: Handles<Datatype>,
) -> i32 {
    make("MPI_Type_create_hindexed", newtype, || {
        let count = number(count, "count")?;
        let (lengths, places) = (array_of_blocklengths.vec(count), array_of_displacements.vec(count));
        make::indexed(HINDEXED, &lengths, &places, 1, &old(oldtype)?)
    })
}

pub fn type_create_indexed_block(
    count: i64,
    blocklength: i64,
    array_of_displacements: Ints,
    oldtype: Datatype,
    newtype: Handles<Datatype>,
) -> i32 {
    make("MPI_Type_create_indexed_block", newtype, || {
        let (old, count) = (old(oldtype)?, number(count, "count")?);
        let (lengths, places) = (vec![blocklength; count], array_of_displacements.vec(count));
        make::indexed(INDEXED_BLOCK, &lengths, &places, old.1.extent(), &old)
    })
}

pub fn type_create_hindexed_block(
    count: i64,
    blocklength: i64,
    array_of_displacements: Ints,
    oldtype: Datatype,
    newtype: Handles<Datatype>,
) -> i32 {
    make("MPI_Type_create_hindexed_block", newtype, || {
        let count = number(count, "count")?;
        let (lengths, places) = (vec![blocklength; count], array_of_displacements.vec(count));
        make::indexed(HINDEXED_BLOCK, &lengths, &places, 1, &old(oldtype)?)
    })
}

pub fn type_create_struct(
    count: i64,
    array_of_blocklengths: Ints,
    array_of_displacements: Ints,
    array_of_types: Handles<Datatype>,
    newtype: Handles<Datatype>,
) -> i32 {
    make("MPI_Type_create_struct", newtype, || {
        let count = number(count, "count")?;
        let types = array_of_types.vec(count).into_iter().map(old).collect::<Result<Vec<_>>>()?;
        make::structure(&array_of_blocklengths.vec(count), &array_of_displacements.vec(count), &types)
    })
}

pub fn type_create_subarray(
    ndims: i32,
    array_of_sizes: Ints,
    array_of_subsizes: Ints,
    array_of_starts: Ints,
    order: i32,
    oldtype: Datatype,
    newtype: Handles<Datatype>,
) -> i32 {
    make("MPI_Type_create_subarray", newtype, || {
        let number = number(ndims.into(), "ndims")?;
        let [sizes, parts, starts] =
            [array_of_sizes, array_of_subsizes, array_of_starts].map(|it| it.vec(number));
        make::subarray(&sizes, &parts, &starts, order, &old(oldtype)?)
    })
}

pub fn type_create_darray(
    size: i32,
    rank: i32,
    ndims: i32,
    array_of_gsizes: Ints,
    array_of_distribs: Ints,
    array_of_dargs: Ints,
    array_of_psizes: Ints,
    order: i32,
    oldtype: Datatype,
    newtype: Handles<Datatype>,
) -> i32 {
    make("MPI_Type_create_darray", newtype, || {
        let number = number(ndims.into(), "ndims")?;
        let [sizes, distributions, arguments, grid] =
            [array_of_gsizes, array_of_distribs, array_of_dargs, array_of_psizes].map(|it| it.vec(number));
        let dealt = Dealt {
            size: size.into(),
            rank: rank.into(),
            sizes: &sizes,
            distributions: &distributions,
            arguments: &arguments,
            grid: &grid,
            order,
        };
        make::darray(&dealt, &old(oldtype)?)
    })
}

pub fn type_create_resized(oldtype: Datatype, lb: i64, extent: i64, newtype: Handles<Datatype>) -> i32 {
    make("MPI_Type_create_resized", newtype, || Ok(make::resized(&old(oldtype)?, lb, extent)))
}

pub fn type_dup(oldtype: Datatype, newtype: Handles<Datatype>) -> i32 {
    make("MPI_Type_dup", newtype, || {
        let old = old(oldtype)?;
        // What a function of the program that copies attributes may fail with leaves no handle behind.
        newtype.set(Datatype::NULL);
        let attributes = old.1.attributes.copies(oldtype.0)?;
        Ok(Object { attributes, ..make::dup(&old) })
    })
}

pub fn type_get_value_index(value_type: Datatype, index_type: Datatype, pair_type: Handles<Datatype>) -> i32 {
    on_none("MPI_Type_get_value_index", || {
        let (_value, _index) = (datatypes::get(value_type)?, datatypes::get(index_type)?);
        let pair = match (value_type.0, index_type) {
            (0x210, Datatype::INT) => 0x228,
            (0x214, Datatype::INT) => 0x229,
            (0x20a, Datatype::INT) => 0x22a,
            (0x209, Datatype::INT) => 0x22b,
            (0x208, Datatype::INT) => 0x22c,
            (0x220, Datatype::INT) => 0x22d,
            _ => Datatype::NULL.0,
        };
        pair_type.set(Datatype(pair));
        Ok(())
    })
}

/// The datatype of Fortran's that has its size in its name.
fn sized(typeclass: i32, size: i32) -> Option<usize> {
    let class = match typeclass {
        standard::TYPECLASS_LOGICAL => "LOGICAL",
        standard::TYPECLASS_INTEGER => "INTEGER",
        standard::TYPECLASS_REAL => "REAL",
        standard::TYPECLASS_COMPLEX => "COMPLEX",
        _ => return None,
    };
    let name = format!("MPI_{class}{size}");
    datatypes::basic::ALL.iter().find(|basic| basic.name == name).map(|basic| basic.handle)
}

pub fn type_match_size(typeclass: i32, size: i32, datatype: Handles<Datatype>) -> i32 {
    on_none("MPI_Type_match_size", || {
        let Some(found) = sized(typeclass, size) else {
            return fail(ERR_ARG, format!("there is no datatype of class {typeclass} with {size} bytes"));
        };
        datatype.set(Datatype(found));
        Ok(())
    })
}

pub fn type_commit(datatype: Handles<Datatype>) -> i32 {
    on_none("MPI_Type_commit", || {
        datatypes::get(datatype.get(0))?.committed.store(true, Ordering::Relaxed);
        Ok(())
    })
}

pub fn type_free(datatype: Handles<Datatype>) -> i32 {
    on_none("MPI_Type_free", || {
        let handle = datatype.get(0);
        let object = datatypes::get(handle)?;
        if !object.made {
            return fail(ERR_TYPE, "a predefined datatype cannot be freed");
        }
        object.attributes.delete_all(handle.0)?;
        datatypes::remove(handle)?;
        datatype.set(Datatype::NULL);
        Ok(())
    })
}

/// A predefined datatype of Fortran's with at least this precision and range.
fn of_fortran(
    call: &str,
    combiner: i32,
    (p, r): (i32, i32),
    newtype: Handles<Datatype>,
    found: impl FnOnce() -> Option<usize>,
) -> i32 {
    on_none(call, || match found() {
        Some(handle) => {
            newtype.set(datatypes::of_fortran(combiner, p, r, Datatype(handle))?);
            Ok(())
        }
        None => fail(ERR_ARG, format!("there is no datatype with precision {p} and range {r}")),
    })
}

/// Digits and exponents of single and double precision.
fn real(p: i32, r: i32, single: usize, double: usize) -> Option<usize> {
    let within = |limit: i32, given: i32| given == UNDEFINED || given <= limit;
    match () {
        () if p == UNDEFINED && r == UNDEFINED => None,
        () if within(6, p) && within(37, r) => Some(single),
        () if within(15, p) && within(307, r) => Some(double),
        () => None,
    }
}

pub fn type_create_f90_real(p: i32, r: i32, newtype: Handles<Datatype>) -> i32 {
    of_fortran("MPI_Type_create_f90_real", F90_REAL, (p, r), newtype, || real(p, r, 0x2d2, 0x2da))
}

pub fn type_create_f90_complex(p: i32, r: i32, newtype: Handles<Datatype>) -> i32 {
    of_fortran("MPI_Type_create_f90_complex", F90_COMPLEX, (p, r), newtype, || real(p, r, 0x2db, 0x2e3))
}

pub fn type_create_f90_integer(r: i32, newtype: Handles<Datatype>) -> i32 {
    of_fortran("MPI_Type_create_f90_integer", F90_INTEGER, (UNDEFINED, r), newtype, || match r {
        ..3 => Some(0x2c1),
        3..5 => Some(0x2c9),
        5..10 => Some(0x2d1),
        10..19 => Some(0x2d9),
        _ => None,
    })
}

/// Something that is known of a datatype.
fn look(call: &str, datatype: Datatype, give: impl FnOnce(&Object)) -> i32 {
    on_none(call, || {
        give(&*datatypes::get(datatype)?);
        Ok(())
    })
}

pub fn type_size(datatype: Datatype, size: IntOut) -> i32 {
    look("MPI_Type_size", datatype, |of| size.set_or_undefined(Some(of.size as i64)))
}

pub fn type_size_x(datatype: Datatype, size: IntOut) -> i32 {
    type_size(datatype, size)
}

pub fn type_get_extent(datatype: Datatype, lb: IntOut, extent: IntOut) -> i32 {
    look("MPI_Type_get_extent", datatype, |of| {
        lb.set(of.lb);
        extent.set(of.extent());
    })
}

pub fn type_get_extent_x(datatype: Datatype, lb: IntOut, extent: IntOut) -> i32 {
    type_get_extent(datatype, lb, extent)
}

pub fn type_get_true_extent(datatype: Datatype, true_lb: IntOut, true_extent: IntOut) -> i32 {
    look("MPI_Type_get_true_extent", datatype, |of| {
        true_lb.set(of.true_lb);
        true_extent.set(of.true_ub - of.true_lb);
    })
}

pub fn type_get_true_extent_x(datatype: Datatype, true_lb: IntOut, true_extent: IntOut) -> i32 {
    type_get_true_extent(datatype, true_lb, true_extent)
}

pub fn type_set_name(datatype: Datatype, type_name: Text) -> i32 {
    look("MPI_Type_set_name", datatype, |of| {
        *of.name.lock().unwrap_or_else(PoisonError::into_inner) = type_name.get();
    })
}

pub fn type_get_name(datatype: Datatype, type_name: TextOut, resultlen: IntOut) -> i32 {
    if datatype == Datatype::NULL {
        resultlen.set(type_name.set("MPI_DATATYPE_NULL", MAX_OBJECT_NAME) as i64);
        return 0;
    }
    look("MPI_Type_get_name", datatype, |of| {
        let name = of.name.lock().unwrap_or_else(PoisonError::into_inner);
        resultlen.set(type_name.set(&name, MAX_OBJECT_NAME) as i64);
    })
}

/// What a datatype is made of, as one of the two ways to ask tells it: integers, addresses, large counts.
fn told(of: &Object, large: bool) -> Result<(Vec<i64>, Vec<i64>, Vec<i64>)> {
    let recipe = &of.recipe;
    if !recipe.is_large() {
        return Ok((recipe.integers.clone(), recipe.addresses.clone(), Vec::new()));
    }
    if !large {
        return fail(ERR_TYPE, "the datatype was made with large counts; ask by the call that ends in _c");
    }
    // What stays small are constants and ranks.
    let (mut small, mut counts) = (Vec::new(), Vec::new());
    for (place, number) in recipe.integers.iter().enumerate() {
        if is_small(recipe, place) { small.push(*number) } else { counts.push(*number) }
    }
    counts.extend(&recipe.addresses);
    Ok((small, Vec::new(), counts))
}

fn is_small(recipe: &Recipe, place: usize) -> bool {
    match recipe.combiner {
        SUBARRAY => place == 0 || is_constant(recipe, place),
        DARRAY => {
            let dimensions = recipe.integers[2] as usize;
            place < 3 || !(3..3 + dimensions).contains(&place)
        }
        _ => false,
    }
}

/// Whether a number is a constant that has another value for the program.
fn is_constant(recipe: &Recipe, place: usize) -> bool {
    let is_last = place + 1 == recipe.integers.len();
    match recipe.combiner {
        SUBARRAY => is_last,
        DARRAY => {
            let dimensions = recipe.integers[2] as usize;
            is_last || (3 + dimensions..3 + 3 * dimensions).contains(&place)
        }
        _ => false,
    }
}

fn envelope(
    datatype: Datatype,
    large: bool,
    places: [IntOut; 3],
    counts: Option<IntOut>,
    combiner: IntOut,
) -> i32 {
    on_none("MPI_Type_get_envelope", || {
        let of = datatypes::get(datatype)?;
        let (integers, addresses, large_counts) = told(&of, large)?;
        let lengths = [integers.len(), addresses.len(), of.recipe.types.len()];
        places.into_iter().zip(lengths).for_each(|(place, length)| place.set(length as i64));
        if let Some(counts) = counts {
            counts.set(large_counts.len() as i64);
        }
        combiner.set(of.recipe.combiner.into());
        Ok(())
    })
}

pub fn type_get_envelope(
    datatype: Datatype,
    num_integers: IntOut,
    num_addresses: IntOut,
    num_datatypes: IntOut,
    combiner: IntOut,
) -> i32 {
    envelope(datatype, false, [num_integers, num_addresses, num_datatypes], None, combiner)
}

pub fn type_get_envelope_c(
    datatype: Datatype,
    num_integers: IntOut,
    num_addresses: IntOut,
    num_large_counts: IntOut,
    num_datatypes: IntOut,
    combiner: IntOut,
) -> i32 {
    envelope(datatype, true, [num_integers, num_addresses, num_datatypes], Some(num_large_counts), combiner)
}

fn contents(
    datatype: Datatype,
    room: [i64; 3],
    array_of_integers: IntOut,
    array_of_addresses: IntOut,
    large: Option<(i64, IntOut)>,
    array_of_datatypes: Handles<Datatype>,
) -> i32 {
    on_none("MPI_Type_get_contents", || {
        let of = datatypes::get(datatype)?;
        let recipe = &of.recipe;
        if recipe.combiner == NAMED {
            return fail(ERR_TYPE, "a predefined datatype has no contents");
        }
        let (integers, addresses, counts) = told(&of, large.is_some())?;
        let needed = [integers.len(), addresses.len(), recipe.types.len()];
        let room_for_counts = large.map_or(0, |(room, _)| room);
        if room.into_iter().zip(needed).any(|(room, needed)| room < needed as i64)
            || room_for_counts < counts.len() as i64
        {
            return fail(ERR_ARG, format!("there is room for {room:?}; the contents are {needed:?}"));
        }
        let known = |place: usize, number: i64| {
            let constant = if recipe.is_large() {
                // Of the small numbers, those behind the dimensions.
                recipe.combiner == DARRAY && place >= 3 || recipe.combiner == SUBARRAY && place >= 1
            } else {
                is_constant(recipe, place)
            };
            if constant { (host().order_out)(number as i32).into() } else { number }
        };
        integers.iter().enumerate().for_each(|(place, it)| array_of_integers.put(place, known(place, *it)));
        addresses.iter().enumerate().for_each(|(place, it)| array_of_addresses.put(place, *it));
        if let Some((_, array)) = large {
            counts.iter().enumerate().for_each(|(place, it)| array.put(place, *it));
        }
        for (place, (handle, made)) in recipe.types.iter().enumerate() {
            // Handles of made ones are new, to be freed.
            let handle = made.as_ref().map_or(*handle, |made| datatypes::insert(Arc::clone(made)));
            array_of_datatypes.put(place, handle);
        }
        Ok(())
    })
}

pub fn type_get_contents(
    datatype: Datatype,
    max_integers: i32,
    max_addresses: i32,
    max_datatypes: i32,
    array_of_integers: IntOut,
    array_of_addresses: IntOut,
    array_of_datatypes: Handles<Datatype>,
) -> i32 {
    let room = [max_integers.into(), max_addresses.into(), max_datatypes.into()];
    contents(datatype, room, array_of_integers, array_of_addresses, None, array_of_datatypes)
}

pub fn type_get_contents_c(
    datatype: Datatype,
    max_integers: i64,
    max_addresses: i64,
    max_large_counts: i64,
    max_datatypes: i64,
    array_of_integers: IntOut,
    array_of_addresses: IntOut,
    array_of_large_counts: IntOut,
    array_of_datatypes: Handles<Datatype>,
) -> i32 {
    let (room, large) =
        ([max_integers, max_addresses, max_datatypes], (max_large_counts, array_of_large_counts));
    contents(datatype, room, array_of_integers, array_of_addresses, Some(large), array_of_datatypes)
}

pub fn get_count(status: StatusOut, datatype: Datatype, count: IntOut) -> i32 {
    look("MPI_Get_count", datatype, |of| count.set_or_undefined(of.count_of(status.get(0).bytes)))
}

pub fn get_elements(status: StatusOut, datatype: Datatype, count: IntOut) -> i32 {
    look("MPI_Get_elements", datatype, |of| count.set_or_undefined(of.elements_of(status.get(0).bytes)))
}

pub fn get_elements_x(status: StatusOut, datatype: Datatype, count: IntOut) -> i32 {
    get_elements(status, datatype, count)
}

pub fn get_address(location: Address, address: IntOut) -> i32 {
    address.set(location.exposed() as i64);
    0
}

pub fn address(location: Address, address: IntOut) -> i32 {
    get_address(location, address)
}

pub fn pack_size(incount: i64, datatype: Datatype, _comm: Comm, size: IntOut) -> i32 {
    on_none("MPI_Pack_size", || {
        let bytes = number(incount, "incount")?.saturating_mul(datatypes::get(datatype)?.size);
        size.set_or_undefined(i64::try_from(bytes).ok());
        Ok(())
    })
}

/// Room for so many bytes at a position.
fn room(position: IntOut, bytes: usize, size: i64) -> Result<i64> {
    let at = position.get(0);
    if at < 0 || at.saturating_add(bytes as i64) > size {
        return fail(ERR_TRUNCATE, format!("{bytes} bytes at {at} do not fit into {size}"));
    }
    position.set(at + bytes as i64);
    Ok(at)
}

pub fn pack(
    inbuf: Address,
    incount: i64,
    datatype: Datatype,
    outbuf: Address,
    outsize: i64,
    position: IntOut,
    _comm: Comm,
) -> i32 {
    on_none("MPI_Pack", || {
        let packed = shared::buffer(inbuf, incount, datatype)?.pack();
        let at = room(position, packed.bytes().len(), outsize)?;
        outbuf.plus(at).write(packed.bytes());
        Ok(())
    })
}

pub fn unpack(
    inbuf: Address,
    insize: i64,
    position: IntOut,
    outbuf: Address,
    outcount: i64,
    datatype: Datatype,
    _comm: Comm,
) -> i32 {
    on_none("MPI_Unpack", || {
        let into = shared::buffer(outbuf, outcount, datatype)?;
        let mut packed = datatypes::Owned::new(into.bytes());
        let at = room(position, into.bytes(), insize)?;
        inbuf.plus(at).read(packed.bytes_mut());
        into.unpack(packed.bytes());
        Ok(())
    })
}

fn external32(datarep: Text) -> Result<()> {
    match datarep.get().as_str() {
        "external32" => Ok(()),
        other => fail(ERR_UNSUPPORTED_DATAREP, format!("{other:?} is unknown; there is external32")),
    }
}

pub fn pack_external_size(datarep: Text, incount: i64, datatype: Datatype, size: IntOut) -> i32 {
    on_none("MPI_Pack_external_size", || {
        external32(datarep)?;
        size.set(external::packed_size(number(incount, "incount")?, &*datatypes::get(datatype)?) as i64);
        Ok(())
    })
}

pub fn pack_external(
    datarep: Text,
    inbuf: Address,
    incount: i64,
    datatype: Datatype,
    outbuf: Address,
    outsize: i64,
    position: IntOut,
) -> i32 {
    on_none("MPI_Pack_external", || {
        external32(datarep)?;
        let packed = external::pack(&shared::buffer(inbuf, incount, datatype)?);
        let at = room(position, packed.len(), outsize)?;
        outbuf.plus(at).write(&packed);
        Ok(())
    })
}

pub fn unpack_external(
    datarep: Text,
    inbuf: Address,
    insize: i64,
    position: IntOut,
    outbuf: Address,
    outcount: i64,
    datatype: Datatype,
) -> i32 {
    on_none("MPI_Unpack_external", || {
        external32(datarep)?;
        let into = shared::buffer(outbuf, outcount, datatype)?;
        let mut packed = vec![0; external::packed_size(into.count, &into.datatype)];
        let at = room(position, packed.len(), insize)?;
        inbuf.plus(at).read(&mut packed);
        external::unpack(&packed, &into);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_of_a_class_is_found() {
        let sizes = |class| (-1..64).filter(|size| sized(class, *size).is_some()).collect::<Vec<_>>();
        assert_eq!(sizes(standard::TYPECLASS_LOGICAL), [1, 2, 4, 8, 16]);
        assert_eq!(sizes(standard::TYPECLASS_INTEGER), [1, 2, 4, 8, 16]);
        assert_eq!(sizes(standard::TYPECLASS_REAL), [2, 4, 8, 16]);
        assert_eq!(sizes(standard::TYPECLASS_COMPLEX), [4, 8, 16, 32]);
        assert_eq!(sizes(7), [0; 0]);
        assert_eq!(sized(standard::TYPECLASS_REAL, 8), Some(0x2da));
    }
}
