//! `MPI_MINLOC` and `MPI_MAXLOC` on pairs of a value and an `int`, packed one behind the other.

use std::cmp::Ordering;
use std::sync::Arc;

use ringworld::Op;
use ringworld::foreign::Reducer;

use super::long_double::{self, Compare};
use crate::datatypes::basic::Value;

macro_rules! compare {
    ($type:ty) => {
        |a, b| {
            let read = |bytes: &[u8]| Some(<$type>::from_ne_bytes(bytes.try_into().ok()?));
            read(a)?.partial_cmp(&read(b)?)
        }
    };
}

/// For pairs of `size` bytes.
pub(super) fn reducer(op: Op, value: Value, size: usize) -> Option<Reducer> {
    let compare: Compare = match value {
        Value::F32 => compare!(f32),
        Value::F64 => compare!(f64),
        Value::I16 => compare!(i16),
        Value::I32 => compare!(i32),
        Value::I64 => compare!(i64),
        Value::LongDouble => long_double::COMPARE?,
    };
    let (name, wanted) = match op {
        Op::MinLocation => ("MPI_MINLOC", Ordering::Less),
        _ => ("MPI_MAXLOC", Ordering::Greater),
    };
    let at = size - 4;
    let combine = move |left: &[u8], right: &mut [u8]| {
        for (left, right) in left.chunks_exact(size).zip(right.chunks_exact_mut(size)) {
            let index = |pair: &[u8]| i32::from_ne_bytes(pair[at..].try_into().unwrap_or_default());
            match compare(&left[..at], &right[..at]) {
                Some(Ordering::Equal) if index(left) < index(right) => {
                    right[at..].copy_from_slice(&left[at..])
                }
                Some(order) if order == wanted => right.copy_from_slice(left),
                _ => {}
            }
        }
    };
    Some(Reducer::from_fn(name, size, 1, true, Arc::new(combine)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn of_equal_values_the_lower_index_is_kept() {
        let pair = |value: i16, index: i32| [&value.to_ne_bytes()[..], &index.to_ne_bytes()].concat();
        let left = [pair(3, 5), pair(3, 5), pair(-1, 9)].concat();
        let mut right = [pair(3, 7), pair(3, 2), pair(4, 1)].concat();
        reducer(Op::MinLocation, Value::I16, 6).unwrap().combine(&left, &mut right).unwrap();
        assert_eq!(right, [pair(3, 5), pair(3, 2), pair(-1, 9)].concat());
    }
}
