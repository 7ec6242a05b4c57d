//! Operations of reductions: the standard's, and functions of the program.

mod located;
mod long_double;

use std::sync::{Arc, OnceLock};

use ringworld::DType;
use ringworld::foreign::Reducer;

use crate::arguments::Address;
use crate::datatypes::basic::{self, Basic, Nature};
use crate::datatypes::{Buffer, Datatype, Owned};
use crate::error::{Error, Result, error, fail};
use crate::host::{Function, host};
use crate::objects::Table;
use crate::standard::{self, ERR_OP};

/// An operation that the program has made.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) function: Function,
    /// Takes large counts.
    pub(crate) wide: bool,
    pub(crate) commutative: bool,
}

static MADE: Table<Made> = Table::new();

pub(crate) fn insert(made: Made) -> standard::Op {
    standard::Op(MADE.insert(Arc::new(made)))
}

pub(crate) fn remove(op: standard::Op) -> Result<()> {
    match MADE.remove(op.0) {
        Some(_) => Ok(()),
        None => fail(ERR_OP, format!("{:#x} is no operation that can be freed", op.0)),
    }
}

/// The standard's operations.
fn builtin(op: standard::Op) -> Option<ringworld::Op> {
    use ringworld::Op as O;
    Some(match op.0 {
        0x21 => O::Sum,
        0x22 => O::Min,
        0x23 => O::Max,
        0x24 => O::Product,
        0x28 => O::BitAnd,
        0x29 => O::BitOr,
        0x2a => O::BitXor,
        0x30 => O::LogicalAnd,
        0x31 => O::LogicalOr,
        0x32 => O::LogicalXor,
        0x38 => O::MinLocation,
        0x39 => O::MaxLocation,
        _ => return None,
    })
}

/// Whether operands may change places.
pub(crate) fn is_commutative(op: standard::Op) -> Result<bool> {
    if builtin(op).is_some() || op == standard::Op::NO_OP {
        return Ok(true);
    }
    if op == standard::Op::REPLACE {
        return Ok(false);
    }
    Ok(made(op)?.commutative)
}

/// The first of the standard's operations, and how many handles there are from it on.
const FIRST: usize = 0x21;
const OPS: usize = 0x39 - FIRST + 1;
/// How each of the standard's operations combines each of the predefined datatypes, once somebody has asked.
static KNOWN: [[OnceLock<Reducer>; OPS]; basic::ALL.len()] =
    [const { [const { OnceLock::new() }; OPS] }; basic::ALL.len()];

/// The same as [`reducer`] of an operation and a datatype of the standard's; `None` where that is another, or an error.
#[inline]
pub(crate) fn known(op: standard::Op, datatype: standard::Datatype) -> Option<&'static Reducer> {
    let place = basic::place(datatype)?;
    let known = KNOWN.get(place)?.get(op.0.wrapping_sub(FIRST))?;
    match known.get() {
        Some(reducer) => Some(reducer),
        None => {
            let reducer = of(builtin(op)?, &basic::ALL[place]).ok()?;
            Some(known.get_or_init(|| reducer))
        }
    }
}

fn made(op: standard::Op) -> Result<Arc<Made>> {
    MADE.get(op.0).ok_or_else(|| match op {
        standard::Op::NULL => error(ERR_OP, "MPI_OP_NULL was given"),
        _ => error(ERR_OP, format!("{:#x} is no operation, or one that has been freed", op.0)),
    })
}

/// How elements of a datatype, packed, are combined. `handle`: the datatype's own.
pub(crate) fn reducer(
    op: standard::Op,
    handle: standard::Datatype,
    datatype: &Arc<Datatype>,
) -> Result<Reducer> {
    if let Some(op) = builtin(op) {
        // Those that Fortran asks for by their precision are the standard's, too.
        return match datatype.map.basic().filter(|_| !datatype.made) {
            Some(basic) => of(op, basic),
            None => fail(ERR_OP, not_for(op, "a datatype that the program has made")),
        };
    }
    if op == standard::Op::REPLACE || op == standard::Op::NO_OP {
        return fail(ERR_OP, "MPI_REPLACE and MPI_NO_OP are for one-sided communication only");
    }
    Ok(of_program(&*made(op)?, handle, datatype))
}

fn not_for(op: ringworld::Op, element: &str) -> String {
    format!("{op} is not defined for {element}")
}

/// An operation of the standard's on a predefined datatype.
fn of(op: ringworld::Op, basic: &'static Basic) -> Result<Reducer> {
    use ringworld::Op as O;
    let refused = || fail(ERR_OP, not_for(op, basic.name));
    let dtype = match (basic.nature, op) {
        (Nature::Integer(_), O::MinLocation | O::MaxLocation) => return refused(),
        (Nature::Integer(dtype), _) => dtype,
        (Nature::Float(dtype), O::Sum | O::Product | O::Min | O::Max) => dtype,
        (Nature::Complex(dtype), O::Sum | O::Product) => dtype,
        (Nature::Logical(dtype), O::LogicalAnd | O::LogicalOr | O::LogicalXor) => dtype,
        (Nature::Byte, O::BitAnd | O::BitOr | O::BitXor) => DType::U8,
        (Nature::LongDouble | Nature::LongDoubleComplex, _) => {
            return long_double::reducer(op, basic).map_or_else(refused, Ok);
        }
        (Nature::Pair(value, _), O::MinLocation | O::MaxLocation) => {
            return located::reducer(op, value, basic.size).map_or_else(refused, Ok);
        }
        _ => return refused(),
    };
    Reducer::new(dtype, op).map_err(Error::from)
}

/// A function of the program. It sees elements as they lie in memory of its own.
#[allow(unsafe_code)]
fn of_program(made: &Made, handle: standard::Datatype, datatype: &Arc<Datatype>) -> Reducer {
    let Made { function, wide, commutative } = *made;
    let datatype = Arc::clone(datatype);
    let size = datatype.size.max(1);
    let call = move |left: Address, right: Address, count: usize| {
        let (left, right) = (left.pointer(), right.pointer());
        // SAFETY: it is what the program has made the operation with; both runs have that many elements of the
        // datatype.
        unsafe { (host().call_op)(function, left, right, count as i64, handle, wide) }
    };
    let combine = move |left: &[u8], right: &mut [u8]| {
        let count = left.len() / size;
        if datatype.is_dense() {
            // Functions with small counts are called again and again.
            let most = if wide { count.max(1) } else { i32::MAX as usize } * size;
            for (left, right) in left.chunks(most).zip(right.chunks_mut(most)) {
                let count = left.len() / size;
                call(Address::of_bytes(left), Address::of_bytes_mut(right), count);
            }
            return;
        }
        let laid_out = |packed: &[u8]| {
            let span = datatype.extent().abs() * count as i64 + (datatype.true_ub - datatype.true_lb);
            let mut memory = Owned::new(span as usize);
            let lowest = datatype.true_lb + (datatype.extent() * (count as i64 - 1)).min(0);
            let address = Address::of_bytes_mut(memory.bytes_mut()).plus(-lowest);
            let buffer = Buffer { address, count, datatype: Arc::clone(&datatype) };
            buffer.unpack(packed);
            (memory, buffer)
        };
        let ((_left, from), (_right, into)) = (laid_out(left), laid_out(right));
        call(from.address, into.address, count);
        into.pack_into(right);
    };
    Reducer::from_fn(
        "an operation of the program",
        size,
        16.min(size.next_power_of_two()),
        commutative,
        Arc::new(combine),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatypes::get;

    #[test]
    fn what_is_known_is_what_is_found_out_for_each_call() {
        for basic in basic::ALL {
            for op in (0..0x40).chain([0x200, usize::MAX]).map(standard::Op) {
                let handle = standard::Datatype(basic.handle);
                let found = reducer(op, handle, &get(handle).expect("a predefined one")).ok();
                for _ in 0..2 {
                    let known = known(op, handle);
                    assert_eq!(known.is_some(), found.is_some(), "{} by {:#x}", basic.name, op.0);
                    if let (Some(known), Some(found)) = (known, &found) {
                        let parts = |of: &Reducer| (of.element(), of.alignment(), format!("{of:?}"));
                        assert_eq!(parts(known), parts(found), "{} by {:#x}", basic.name, op.0);
                    }
                }
            }
        }
        assert!(known(standard::Op(FIRST), standard::Datatype(0x200)).is_none());
        assert!(known(standard::Op(FIRST), standard::Datatype(0x100)).is_none());
    }
}
