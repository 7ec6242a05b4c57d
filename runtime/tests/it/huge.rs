//! A message and an all-reduce beyond 4 GiB: lengths are `usize` all the way. Takes 9 GiB of memory, so
//! it runs on request only: `cargo test -p ringworld --test it huge -- --ignored`.

use crate::common::{real_wire, world};
use ringworld::Op;
use ringworld::testing::Choice;

/// Beyond 32 bits, and no multiple of anything.
const LENGTH: usize = (1 << 32) + 13;

#[test]
#[ignore = "takes 9 GiB of memory"]
fn a_message_beyond_4_gib_arrives_intact() {
    world(real_wire(), 2, &Choice::default(), |rank| {
        let mut data = vec![0u8; LENGTH];
        if rank.rank() == 0 {
            for (place, byte) in data.iter_mut().step_by(4093).enumerate() {
                *byte = place as u8;
            }
            rank.send(&data, 1, 0).unwrap();
        } else {
            assert_eq!(rank.recv(&mut data, 0, 0).unwrap().count, LENGTH);
            let wrong = data.iter().step_by(4093).enumerate().find(|(place, byte)| **byte != *place as u8);
            assert_eq!(wrong, None);
        }
        data.fill(1 + rank.rank() as u8);
        rank.all_reduce(&mut data, Op::Sum).unwrap();
        assert!(data.iter().all(|byte| *byte == 3));
    });
}
