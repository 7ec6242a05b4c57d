//! The layout, byte by byte, and that nothing else is accepted.

use super::*;
use proptest::prelude::*;

const ENVELOPE: Envelope = Envelope {
    context: 0x0605_0403_0201,
    element: Element::new(0x0b),
    tag: 0x1817_1615_1413_1211,
    signature: *b"0123456789abcdefghijklmn",
};

fn header(packet: Packet) -> Header {
    Header { credit: 0x0807_0605_0403_0201, packet }
}

/// Hexadecimal digits, spaces ignored.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        text.chars().filter_map(|c| c.to_digit(16)).map(|d| u8::try_from(d).unwrap()).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

#[test]
fn the_layout_of_every_kind_is_fixed() {
    let credit = "01020304 05060708";
    let envelope = "11121314 15161718 30313233 34353637 38396162 63646566 6768696a 6b6c6d6e";
    let golden = [
        (Packet::Eager { envelope: ENVELOPE }, format!("010b0102 03040506 {credit} {envelope}")),
        (
            Packet::Eager { envelope: Envelope { signature: [0; 24], ..ENVELOPE } },
            format!("080b0102 03040506 {credit} 11121314 15161718"),
        ),
        (
            Packet::Rts { envelope: ENVELOPE, id: 5, len: 0x1_0000_0000, probes: false },
            format!("020b0102 03040506 {credit} {envelope} 05000000 00000000 00000000 01000000"),
        ),
        (
            Packet::Rts { envelope: ENVELOPE, id: 5, len: 9, probes: true },
            format!("090b0102 03040506 {credit} {envelope} 05000000 00000000 09000000 00000000"),
        ),
        (
            Packet::Cts { id: 5, accepted: 9, key: Key::new(&[0xaa, 0xbb, 0xcc]).unwrap() },
            format!("03030000 00000000 {credit} 05000000 00000000 09000000 00000000 aabbcc"),
        ),
        (Packet::Ack { id: 6 }, format!("04000000 00000000 {credit} 06000000 00000000")),
        (Packet::Nack { id: 7 }, format!("05000000 00000000 {credit} 07000000 00000000")),
        (Packet::Credit, format!("06000000 00000000 {credit}")),
        (Packet::ProbeAck, format!("07000000 00000000 {credit}")),
    ];
    for (packet, bytes) in golden {
        let bytes = hex(&bytes);
        assert_eq!(header(packet).encode(&mut [0; 96]), bytes, "{packet:?}");
        assert_eq!(Header::decode(&bytes), Ok(header(packet)));
        for cut in 0..bytes.len() {
            assert!(Header::decode(&bytes[..cut]).is_err(), "{packet:?} cut to {cut} bytes");
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(Header::decode(&longer).is_err(), "{packet:?} with a byte too many");
    }
}

#[test]
fn the_longest_header_fits() {
    let key = Key::new(&[1; Key::MAX]).unwrap();
    let header = header(Packet::Cts { id: u64::MAX, accepted: u64::MAX, key });
    assert_eq!(header.encode(&mut [0; Header::MAX]).len(), Header::MAX);
}

#[test]
fn fields_that_a_kind_has_not_are_refused() {
    let ack = hex("04000000 00000000 0000000000000000 0600000000000000");
    assert!(Header::decode(&ack).is_ok());
    for offset in 1..8 {
        let mut bad = ack.clone();
        bad[offset] = 1;
        assert!(Header::decode(&bad).is_err(), "byte {offset} set");
    }
    let mut signed = hex("01000000 01020304 0000000000000000 1112131415161718");
    signed.extend([0; 24]);
    assert!(Header::decode(&signed).is_err(), "a signature of zeros is not sent");
    signed[47] = 1;
    assert!(Header::decode(&signed).is_ok());
    let mut key_too_long = hex("03210000 00000000 0000000000000000 0600000000000000 0100000000000000");
    key_too_long.extend([0; 33]);
    assert!(Header::decode(&key_too_long).is_err());
}

proptest! {
    #[test]
    fn what_decodes_encodes_to_the_same_bytes(
        kind in 0u8..11,
        detail in prop_oneof![Just(0u8), 0u8..40],
        rest in proptest::collection::vec(prop_oneof![Just(0u8), any::<u8>()], 0..80),
    ) {
        let mut bytes = vec![kind, detail];
        bytes.extend(rest);
        for length in [0, 4, 16, 24, 32 + usize::from(detail), 48, 64, bytes.len()] {
            let cut = &bytes[..length.min(bytes.len())];
            if let Ok(header) = Header::decode(cut) {
                let mut room = [0xff; Header::MAX];
                prop_assert_eq!(header.encode(&mut room), cut);
            }
        }
    }
}
