//! Operations of reductions.

use super::shared;
use crate::arguments::{Address, Handles, IntOut};
use crate::collectives;
use crate::error::Error;
use crate::guard::on_none;
use crate::operations::{Made, insert, is_commutative, remove};
use crate::standard::{Datatype, Op};

fn create(user_fn: Address, commute: i32, op: Handles<Op>, wide: bool) -> i32 {
    op.set(insert(Made { function: user_fn.into(), wide, commutative: commute != 0 }));
    0
}

pub fn op_create(user_fn: Address, commute: i32, op: Handles<Op>) -> i32 {
    create(user_fn, commute, op, false)
}

pub fn op_create_c(user_fn: Address, commute: i32, op: Handles<Op>) -> i32 {
    create(user_fn, commute, op, true)
}

pub fn op_free(op: Handles<Op>) -> i32 {
    on_none("MPI_Op_free", || {
        remove(op.get(0))?;
        op.set(Op::NULL);
        Ok(())
    })
}

pub fn op_commutative(op: Op, commute: IntOut) -> i32 {
    on_none("MPI_Op_commutative", || {
        commute.flag(is_commutative(op)?);
        Ok(())
    })
}

pub fn reduce_local(inbuf: Address, inoutbuf: Address, count: i64, datatype: Datatype, op: Op) -> i32 {
    on_none("MPI_Reduce_local", || {
        let op = shared::reducer(op, datatype)?;
        let left = shared::buffer(inbuf, count, datatype)?;
        let both = shared::buffer(inoutbuf, count, datatype)?;
        collectives::apart(Some(&left), Some(&both))?;
        let (left, mut right) = (left.pack(), both.pack());
        op.combine(left.bytes(), right.bytes_mut()).map_err(Error::from)?;
        both.unpack(right.bytes());
        Ok(())
    })
}
