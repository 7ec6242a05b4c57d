//! A digest of a state: the same for the same bytes and lengths, on every machine and by every compiler.
//!
//! XXH3 is specified to the bit, and faster than memory. It finds accidents, not forgers: the ranks of a job trust one
//! another. Each part is preceded by its length, so the end of one cannot pass for the beginning of the next.

use std::hash::Hasher as _;

use twox_hash::XxHash3_64;

use super::vector::StateVector;

pub(super) fn digest(value: &[u8], vectors: &[&mut dyn StateVector]) -> u64 {
    let mut hasher = XxHash3_64::new();
    let mut part = |length: usize, bytes: &[u8]| {
        hasher.write(&(length as u64).to_le_bytes());
        hasher.write(bytes);
    };
    part(value.len(), value);
    for vector in vectors {
        part(vector.length(), vector.bytes());
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_xxh3_of_lengths_and_bytes_and_stays_so() {
        let mut bytes = vec![3, 0, 0, 0, 0, 0, 0, 0];
        bytes.extend(b"abc");
        bytes.extend([2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 0]);
        assert_eq!(digest(b"abc", &[&mut vec![1u16.to_le(), 2u16.to_le()]]), XxHash3_64::oneshot(&bytes));
        // The published value of XXH3 of nothing, so that another version of the crate cannot change it unseen.
        assert_eq!(XxHash3_64::oneshot(b""), 0x2d06_8005_38d3_94c2);
    }

    #[test]
    fn every_bit_every_length_and_every_border_counts() {
        let digests = [
            digest(b"", &[]),
            digest(b"\0", &[]),
            digest(b"", &[&mut Vec::<f32>::new()]),
            digest(b"", &[&mut Vec::<f32>::new(), &mut Vec::<f32>::new()]),
            digest(b"", &[&mut vec![0f32]]),
            digest(b"", &[&mut vec![-0f32]]),
            digest(b"", &[&mut vec![0u64]]),
            digest(b"", &[&mut vec![0u8; 8]]),
            digest(b"", &[&mut vec![0u8; 3], &mut vec![0u8; 5]]),
            digest(b"", &[&mut vec![0u8; 5], &mut vec![0u8; 3]]),
            digest(b"", &[&mut vec![[0f32; 0]; 2]]),
        ];
        for (index, one) in digests.iter().enumerate() {
            assert!(!digests[..index].contains(one), "number {index} of {digests:x?}");
        }
    }
}
