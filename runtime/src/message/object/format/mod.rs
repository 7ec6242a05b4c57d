//! How an object is written: in bytes that describe themselves and hold everything that serde can say.
//!
//! A format of its own, because those that there are change values in silence: CBOR, MessagePack and JSON have one
//! null for `None`, `Some(None)` and `()`, and postcard, which keeps them apart, does not describe itself, so that
//! enums without an outer tag, flattened and skipped fields cannot be read. Neighbours: `write` and `read` are the
//! two halves, `token` is what they share.
//!
//! ```text
//! object  = HEAD value
//! value   = one byte that says what follows (see `token`), then
//!           a number       little-endian, in as many bytes as its value needs (a float: as its type has)
//!           text, bytes    a number, their length; then they themselves
//!           some           the value
//!           sequence       a number, how many; then the values    | without number: values, END
//!           map            a number, how many; then key and value of each | without number: the same, END
//! ```
//!
//! Structs are maps from the names of their fields. A variant that holds nothing is the text of its name, any other a
//! map of one from its name to what it holds. Types that differ for people and machines, such as addresses, take the
//! form for people, because parts of serde (tagged and flattened types) ask for that one whatever a format says.

mod read;
mod token;
mod trouble;
mod write;

pub(super) use read::read;
pub(crate) use trouble::cut;
pub(super) use write::write;

/// The first bytes of every object: a letter of its own that no text begins with, and the version.
const HEAD: [u8; 2] = [0xb7, 1];

/// How deep an object may be nested: what is recursive is read by recursion, and a stack has an end.
const DEPTH: usize = 256;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::{Deserialize, Serialize};
    use serde_json::Value;

    use super::*;

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct Everything {
        numbers: (u8, i16, u32, i64, u128, i128, f32, f64),
        nested: Option<Option<Box<Everything>>>,
        #[serde(flatten)]
        rest: std::collections::BTreeMap<String, Option<bool>>,
    }

    fn everything() -> impl Strategy<Value = Everything> {
        let numbers = || {
            let float = proptest::num::f32::ANY.prop_filter("equal to itself", |x| !x.is_nan());
            let double = proptest::num::f64::ANY.prop_filter("equal to itself", |x| !x.is_nan());
            (
                any::<u8>(),
                any::<i16>(),
                any::<u32>(),
                any::<i64>(),
                any::<u128>(),
                any::<i128>(),
                float,
                double,
            )
        };
        let rest = || proptest::collection::btree_map("[a-m]{0,9}", any::<Option<bool>>(), 0..4);
        let leaf = (numbers(), rest()).prop_map(|(numbers, rest)| Everything { numbers, nested: None, rest });
        leaf.prop_recursive(4, 8, 1, move |inner| {
            (numbers(), rest(), proptest::option::of(inner)).prop_map(|(numbers, rest, inner)| Everything {
                numbers,
                nested: Some(inner.map(Box::new)),
                rest,
            })
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(value in everything()) {
            let bytes = write(&value).unwrap();
            prop_assert_eq!(read::<Everything>(&bytes).unwrap(), value);
            // A message that is cut short, or longer than its object, is none.
            for end in 0..bytes.len() {
                prop_assert!(read::<Everything>(&bytes[..end]).is_err());
            }
            prop_assert!(read::<Everything>(&[&bytes[..], &[0]].concat()).is_err());
        }

        #[test]
        fn whatever_a_peer_sends_is_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let bytes = [&HEAD[..], &bytes].concat();
            let _ = read::<Everything>(&bytes);
            let _ = read::<Vec<(String, Option<u64>)>>(&bytes);
            if let Ok(value) = read::<Value>(&bytes) {
                let again = write(&value).unwrap();
                prop_assert_eq!(read::<Value>(&again).unwrap(), value);
            }
        }

        #[test]
        fn an_object_with_some_bytes_changed_is_read_or_refused(
            value in everything(),
            changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..8),
        ) {
            let mut bytes = write(&value).unwrap();
            for (place, byte) in changes {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            let _ = read::<Everything>(&bytes);
            let _ = read::<Value>(&bytes);
        }
    }

    #[test]
    fn a_length_that_the_message_cannot_have_asks_for_no_memory() {
        for marker in [token::TEXT, token::BYTES, token::SEQUENCE, token::MAP] {
            let mut bytes = [&HEAD[..], &[marker, token::U64]].concat();
            bytes.extend(u64::MAX.to_le_bytes());
            // A `Vec` of `()` takes no memory, but must not be counted to the end of time.
            assert!(read::<Vec<()>>(&bytes).is_err());
            assert!(read::<Value>(&bytes).is_err());
        }
    }

    #[test]
    fn a_peer_can_nest_no_deeper_than_an_honest_rank() {
        for level in [&[token::SOME][..], &[token::SEQUENCE, 1], &[token::MAP, 1, token::TEXT, 0]] {
            let bytes = [&HEAD[..], &level.repeat(1 << 20)].concat();
            let error = read::<Value>(&bytes).unwrap_err().to_string();
            assert!(error.contains("256") && error.len() < 2000, "{error}");
        }
    }

    #[test]
    fn a_type_that_announces_another_number_of_elements_is_refused() {
        struct Liar(usize);
        impl Serialize for Liar {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeSeq;
                let mut elements = serializer.serialize_seq(Some(self.0))?;
                elements.serialize_element(&1)?;
                elements.serialize_element(&2)?;
                elements.end()
            }
        }
        assert!(write(&Liar(2)).is_ok());
        for announced in [1, 3] {
            let error = write(&Liar(announced)).unwrap_err().to_string();
            assert!(error.contains(&format!("announced {announced} elements and gave 2")), "{error}");
        }
    }
}
