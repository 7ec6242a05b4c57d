//! What objects may be: everything that serde can write arrives as it was, and another type than the sender's is
//! an error that says what came.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::net::IpAddr;
use std::time::Duration;

use crate::common::{small, wires, world};
use ringworld::{Communicator, Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Rank 0 sends a value, and rank 1 gets what it makes of it.
fn pass<V: DeserializeOwned>(rank: &Communicator, sent: &(impl Serialize + ?Sized)) -> Option<Result<V>> {
    if rank.rank() == 0 {
        rank.send_object(sent, 1, 1).unwrap();
        return None;
    }
    Some(rank.recv_object(0, 1))
}

/// What arrives is what was sent.
fn travels<V: Serialize + DeserializeOwned + PartialEq + Debug>(rank: &Communicator, value: V) {
    if let Some(came) = pass::<V>(rank, &value) {
        assert_eq!(came.unwrap(), value);
    }
}

/// What arrives is `wanted`.
fn arrives_as<V>(rank: &Communicator, sent: &(impl Serialize + ?Sized), wanted: V)
where
    V: DeserializeOwned + PartialEq + Debug,
{
    if let Some(came) = pass::<V>(rank, sent) {
        assert_eq!(came.unwrap(), wanted);
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Unit;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct New(u64);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Pair(i8, String);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum External {
    Unit,
    New(Option<u32>),
    Pair(f32, char),
    Named { address: IpAddr, takes: Duration },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Untagged {
    Named { x: u32 },
    Text(String),
    Nested(Option<i64>),
    Inside(External),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Internal {
    Empty,
    Named { address: IpAddr, rate: Option<f64> },
    New(Config),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "value")]
enum Adjacent {
    Unit,
    New(u32),
    Named { y: External },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Config {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    rate: Option<f32>,
    #[serde(skip)]
    skipped: u8,
    #[serde(flatten)]
    base: Base,
    #[serde(flatten)]
    more: BTreeMap<String, serde_json::Value>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Base {
    seed: u64,
    mode: External,
}

fn externals() -> Vec<External> {
    let named = External::Named { address: "10.0.0.3".parse().unwrap(), takes: Duration::from_millis(1500) };
    vec![External::Unit, External::New(None), External::New(Some(7)), External::Pair(-0.5, 'ß'), named]
}

fn config(rate: Option<f32>) -> Config {
    let base = Base { seed: u64::MAX, mode: External::New(Some(3)) };
    let more =
        BTreeMap::from([("deep".to_string(), json!({"a": [1, -2, 0.5, null, "x"], "b": {"c": true}}))]);
    Config { name: "run".into(), rate, skipped: 0, base, more }
}

#[test]
fn every_shape_that_serde_knows_travels() {
    for wire in wires() {
        world(wire, 2, &small(), |rank| {
            travels(rank, (Unit, New(u64::MAX), Pair(i8::MIN, "\u{1f980}".into()), ()));
            travels(rank, externals());
            let address = "::1".parse().unwrap();
            travels(
                rank,
                vec![
                    Untagged::Named { x: 1 },
                    Untagged::Text("q".into()),
                    Untagged::Nested(Some(-3)),
                    Untagged::Nested(None),
                    Untagged::Inside(External::Pair(0.1, 'z')),
                ],
            );
            travels(
                rank,
                vec![
                    Internal::Empty,
                    Internal::Named { address, rate: None },
                    Internal::Named { address, rate: Some(0.1) },
                    Internal::New(config(None)),
                ],
            );
            let mut adjacent = vec![Adjacent::Unit, Adjacent::New(9)];
            adjacent.extend(externals().into_iter().map(|y| Adjacent::Named { y }));
            travels(rank, adjacent);
            travels(rank, vec![config(None), config(Some(0.25))]);
            travels(rank, json!({"lr": 0.1, "layers": [1, 2, 3], "none": null}));
            travels(rank, HashMap::from([((1u8, -2i32), "x".to_string()), ((2, 3), "y".to_string())]));
            travels(rank, BTreeMap::from([(3u8, vec![0.5f32; 3])]));
        });
    }
}

#[test]
fn values_at_the_edges_travel() {
    for wire in wires() {
        world(wire, 2, &small(), |rank| {
            travels(rank, vec![None, Some(None), Some(Some(1u8))]);
            travels(rank, vec![None, Some(())]);
            travels(rank, vec![None, Some(serde_json::Value::Null)]);
            travels(rank, (i128::MIN, i128::MAX, u128::MAX, -1i128, 5u128));
            travels(rank, (i64::MIN, u64::MAX, i32::MIN, i16::MIN, -128i8, -129i16, 127u8, 128u8, 255u8));
            travels(rank, (f32::MIN_POSITIVE, f64::MAX, -0.0f32, f32::INFINITY, f64::NEG_INFINITY, 0.1f32));
            travels(rank, ("", "\0", 'a', '\u{10ffff}', String::new()).3);
            travels(rank, vec!["x".repeat(127), "x".repeat(128), "x".repeat(70_000)]);
            travels(rank, (0..=255u8).collect::<Vec<_>>());
            let nan = f32::from_bits(0xffc0_1234);
            if let Some(came) = pass::<(f32, f64)>(rank, &(nan, f64::NAN)) {
                let (single, double) = came.unwrap();
                assert_eq!((single.to_bits(), double.to_bits()), (nan.to_bits(), f64::NAN.to_bits()));
            }
        });
    }
}

/// The types need not be the same by name: what is borrowed here is owned there, and a number is a number.
#[test]
fn types_of_the_same_shape_are_the_same() {
    for wire in wires() {
        world(wire, 2, &small(), |rank| {
            arrives_as(rank, "hello", "hello".to_string());
            arrives_as(rank, &[1u8, 2][..], vec![1u64, 2]);
            arrives_as(rank, &(&Cow::Borrowed("a"), &Box::new(1u16)), ("a".to_string(), 1u16));
            #[derive(Debug, PartialEq, Deserialize)]
            struct Plain {
                name: String,
                rate: Option<f64>,
            }
            let plain = Plain { name: "x".into(), rate: Some(1.0) };
            arrives_as(rank, &json!({"rate": 1, "name": "x", "extra": []}), plain);
        });
    }
}

/// What a rank gets that asks for a `V` where `sent` was sent.
fn refused<V: DeserializeOwned + Debug>(rank: &Communicator, sent: impl Serialize, parts: &[&str]) {
    let Some(came) = pass::<V>(rank, &sent) else { return };
    let error = came.unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::Object { .. }), "{text}");
    let begin = "recv_object (from rank 0, tag 1) failed: the object could not be deserialized: ";
    assert!(text.starts_with(begin), "{text}");
    for part in parts.iter().chain(&["give both sides the same type"]) {
        assert!(text.contains(part), "{part:?} is missing in: {text}");
    }
}

#[test]
fn another_type_is_an_error_that_says_what_came() {
    for wire in wires() {
        world(wire, 2, &small(), |rank| {
            refused::<Vec<u64>>(
                rank,
                "hello",
                &["string \"hello\"", "a sequence", "Vec<u64>", "rank 0 on host0"],
            );
            refused::<String>(rank, [1u64, 2], &["sequence", "a string"]);
            refused::<u8>(rank, 300, &["`300`", "u8"]);
            refused::<u8>(rank, -1, &["`-1`", "u8"]);
            refused::<u8>(rank, Some(1u8), &["Option", "u8"]);
            refused::<u64>(rank, 1.0, &["floating point", "u64"]);
            refused::<bool>(rank, 1, &["boolean"]);
            // Nothing is rounded in silence.
            refused::<f32>(rank, 0.1f64, &["0.1", "f32"]);
            refused::<f64>(rank, u64::MAX, &["18446744073709551615", "f64"]);
            refused::<(u8, u8)>(rank, (1, 2, 3), &["more than the 2"]);
            refused::<(u8, u8, u8)>(rank, (1, 2), &["length 2"]);
            refused::<Base>(rank, json!({"mode": "Unit"}), &["seed"]);
            // Where it is that they differ.
            refused::<HashMap<String, Vec<Base>>>(
                rank,
                json!({"runs": [{"seed": 1, "mode": "Unit"}, {"seed": "two", "mode": "Unit"}]}),
                &["runs[1].seed", "string \"two\"", "u64"],
            );
            refused::<External>(rank, "Unknown", &["Unknown", "Unit"]);
            refused::<External>(rank, 7, &["`7`", "External"]);
            // What serde itself cannot hold while it looks for the variant.
            #[derive(Debug, Serialize, Deserialize)]
            #[serde(untagged)]
            enum Wide {
                Wide(u128),
            }
            refused::<Wide>(rank, Wide::Wide(u128::MAX), &["as u128"]);
            // Long values are not quoted in full.
            if let Some(came) = pass::<u8>(rank, &"x".repeat(1 << 20)) {
                assert!(came.unwrap_err().to_string().len() < 2000);
            }
        });
    }
}

#[test]
fn bytes_that_are_no_object_say_so() {
    for wire in wires() {
        world(wire, 2, &small(), |rank| {
            for bytes in [&[][..], &[5], &[0xff; 12], b"text"] {
                if rank.rank() == 0 {
                    rank.send(bytes, 1, 1).unwrap();
                    continue;
                }
                let text = rank.recv_object::<u8>(0, 1).unwrap_err().to_string();
                assert!(text.contains("send_object"), "{text}");
            }
        });
    }
}

/// Each level in a variant of an untagged enum, which costs the reader the most stack.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Tree {
    Leaf(u8),
    Node(Vec<Tree>),
}

fn tree(depth: usize) -> Tree {
    (0..depth).fold(Tree::Leaf(1), |inner, _| Tree::Node(vec![inner]))
}

#[derive(Debug, Serialize, Deserialize)]
struct List(Option<Box<List>>);

#[test]
fn an_object_nested_too_deep_is_refused_where_it_is_sent() {
    for wire in wires() {
        world(wire, 2, &small(), |rank| {
            std::thread::scope(|scope| {
                let deepest = || match pass::<Tree>(rank, &tree(256)) {
                    None => {}
                    Some(came) => assert!(matches!(came.unwrap(), Tree::Node(_))),
                };
                // The smallest stack that threads usually have.
                std::thread::Builder::new().stack_size(2 << 20).spawn_scoped(scope, deepest).unwrap();
            });
            let text = rank.send_object(&tree(257), 1, 1).unwrap_err().to_string();
            assert!(
                text.contains("could not be serialized") && text.contains("more than 256 deep"),
                "{text}"
            );
            // What says nothing of its depth may not be followed without end either.
            if let Some(came) = pass::<List>(rank, &5) {
                let text = came.unwrap_err().to_string();
                assert!(text.contains("more than 256 deep"), "{text}");
            }
        });
    }
}
