//! external32, the representation that all machines share: big-endian, of fixed sizes (MPI 5.0, section 14.5.2).

use std::sync::Arc;

use super::basic::{Basic, Nature};
use super::datatype::Datatype;
use super::layout::Map;
use super::memory::Buffer;

/// How many bytes a basic element takes there.
fn size(basic: &Basic) -> usize {
    // `long` and the like have the sizes of other machines there; all that is 8 bytes here is kept so but for these.
    match basic.name {
        "MPI_LONG" | "MPI_UNSIGNED_LONG" => 4,
        "MPI_WCHAR" => 2,
        _ => basic.size,
    }
}

/// How many bytes so many elements take.
pub(crate) fn packed_size(count: usize, datatype: &Datatype) -> usize {
    let mut bytes = 0;
    datatype.map.visit(0, &mut |_, basic| {
        bytes += size(basic);
        true
    });
    bytes * count
}

/// The numbers of a basic element, one after the other: (place in memory, bytes in memory, bytes there).
fn words(basic: &'static Basic) -> Vec<(i64, usize, usize)> {
    match basic.nature {
        Nature::Pair(_, at) => {
            let first = basic.size - 4;
            vec![(0, first, first), (at as i64, 4, 4)]
        }
        Nature::Complex(_) | Nature::LongDoubleComplex => {
            let half = basic.size / 2;
            vec![(0, half, half), (half as i64, half, half)]
        }
        _ => vec![(0, basic.size, size(basic))],
    }
}

fn each(buffer: &Buffer, visitor: &mut impl FnMut(i64, &'static Basic) -> bool) {
    let map = Map::Repeat {
        count: buffer.count,
        stride: buffer.datatype.extent(),
        inner: Arc::clone(&buffer.datatype.map),
    };
    map.visit(0, visitor);
}

/// Writes the elements in that representation.
pub(crate) fn pack(buffer: &Buffer) -> Vec<u8> {
    let mut packed = Vec::with_capacity(packed_size(buffer.count, &buffer.datatype));
    each(buffer, &mut |at, basic| {
        for (place, here, there) in words(basic) {
            let mut word = [0u8; 32];
            let word = &mut word[..here];
            buffer.address.plus(at + place).read(word);
            if cfg!(target_endian = "little") {
                word.reverse();
            }
            packed.extend(&word[here - there..]);
        }
        true
    });
    packed
}

/// Reads elements in that representation; how many bytes were read.
pub(crate) fn unpack(packed: &[u8], buffer: &Buffer) -> usize {
    let mut done = 0;
    each(buffer, &mut |at, basic| {
        for (place, here, there) in words(basic) {
            let Some(bytes) = packed.get(done..done + there) else { return false };
            done += there;
            let signed = matches!(basic.nature, Nature::Integer(_)) && basic.name != "MPI_UNSIGNED_LONG";
            let fill = if signed && bytes.first().is_some_and(|first| first & 0x80 != 0) { 0xff } else { 0 };
            let mut word = vec![fill; here];
            word[here - there..].copy_from_slice(bytes);
            if cfg!(target_endian = "little") {
                word.reverse();
            }
            buffer.address.plus(at + place).write(&word);
        }
        true
    });
    done
}
