//! The bytes that say what follows, and reading one of them with its number or text.

use serde::de::{Error as _, Unexpected, Visitor};

use super::trouble::Trouble;

// Up to here, the byte itself is the number.
pub(super) const SMALL: u8 = 0x7f;
pub(super) const UNIT: u8 = 0x80;
pub(super) const FALSE: u8 = 0x81;
pub(super) const TRUE: u8 = 0x82;
pub(super) const NONE: u8 = 0x83;
pub(super) const SOME: u8 = 0x84;
pub(super) const U8: u8 = 0x85;
pub(super) const U16: u8 = 0x86;
pub(super) const U32: u8 = 0x87;
pub(super) const U64: u8 = 0x88;
pub(super) const U128: u8 = 0x89;
pub(super) const I8: u8 = 0x8a;
pub(super) const I16: u8 = 0x8b;
pub(super) const I32: u8 = 0x8c;
pub(super) const I64: u8 = 0x8d;
pub(super) const I128: u8 = 0x8e;
pub(super) const F32: u8 = 0x8f;
pub(super) const F64: u8 = 0x90;
pub(super) const CHAR: u8 = 0x91;
pub(super) const TEXT: u8 = 0x92;
pub(super) const BYTES: u8 = 0x93;
pub(super) const SEQUENCE: u8 = 0x94;
pub(super) const OPEN_SEQUENCE: u8 = 0x95;
pub(super) const MAP: u8 = 0x96;
pub(super) const OPEN_MAP: u8 = 0x97;
pub(super) const END: u8 = 0x98;

/// A value, or the beginning of one.
#[derive(Clone, Copy, Debug)]
pub(super) enum Token<'de> {
    Unit,
    Bool(bool),
    None,
    Some,
    Unsigned(u64),
    Signed(i64),
    Unsigned128(u128),
    Signed128(i128),
    Single(f32),
    Double(f64),
    Char(char),
    Text(&'de str),
    Bytes(&'de [u8]),
    /// How many, or until the end.
    Sequence(Option<u64>),
    Map(Option<u64>),
    End,
}

impl Token<'_> {
    pub(super) fn unexpected(&self) -> Unexpected<'_> {
        match *self {
            Self::Unit => Unexpected::Unit,
            Self::Bool(value) => Unexpected::Bool(value),
            Self::None | Self::Some => Unexpected::Option,
            Self::Unsigned(value) => Unexpected::Unsigned(value),
            Self::Signed(value) => Unexpected::Signed(value),
            Self::Unsigned128(_) | Self::Signed128(_) => Unexpected::Other("an integer of more than 64 bits"),
            Self::Single(value) => Unexpected::Float(value.into()),
            Self::Double(value) => Unexpected::Float(value),
            Self::Char(value) => Unexpected::Char(value),
            Self::Text(text) => Unexpected::Str(text),
            Self::Bytes(bytes) => Unexpected::Bytes(bytes),
            Self::Sequence(_) => Unexpected::Seq,
            Self::Map(_) => Unexpected::Map,
            Self::End => Unexpected::Other("the end of a sequence or map"),
        }
    }

    pub(super) fn is_no<'de, V: Visitor<'de>>(&self, visitor: &V) -> Trouble {
        Trouble::invalid_type(self.unexpected(), visitor)
    }
}

/// Takes one token off the front.
#[inline]
pub(super) fn take<'de>(bytes: &mut &'de [u8]) -> Result<Token<'de>, Trouble> {
    let [marker] = numeral(bytes)?;
    Ok(match marker {
        0..=SMALL => Token::Unsigned(marker.into()),
        UNIT => Token::Unit,
        FALSE => Token::Bool(false),
        TRUE => Token::Bool(true),
        NONE => Token::None,
        SOME => Token::Some,
        U8 => Token::Unsigned(u8::from_le_bytes(numeral(bytes)?).into()),
        U16 => Token::Unsigned(u16::from_le_bytes(numeral(bytes)?).into()),
        U32 => Token::Unsigned(u32::from_le_bytes(numeral(bytes)?).into()),
        U64 => Token::Unsigned(u64::from_le_bytes(numeral(bytes)?)),
        U128 => Token::Unsigned128(u128::from_le_bytes(numeral(bytes)?)),
        I8 => Token::Signed(i8::from_le_bytes(numeral(bytes)?).into()),
        I16 => Token::Signed(i16::from_le_bytes(numeral(bytes)?).into()),
        I32 => Token::Signed(i32::from_le_bytes(numeral(bytes)?).into()),
        I64 => Token::Signed(i64::from_le_bytes(numeral(bytes)?)),
        I128 => Token::Signed128(i128::from_le_bytes(numeral(bytes)?)),
        F32 => Token::Single(f32::from_le_bytes(numeral(bytes)?)),
        F64 => Token::Double(f64::from_le_bytes(numeral(bytes)?)),
        CHAR => {
            let code = u32::from_le_bytes(numeral(bytes)?);
            let value = char::from_u32(code);
            Token::Char(value.ok_or_else(|| Trouble::new(format!("there is no character {code:#x}")))?)
        }
        TEXT => {
            let length = number(bytes)?;
            let text = std::str::from_utf8(split(bytes, length)?).map_err(Trouble::new)?;
            Token::Text(text)
        }
        BYTES => {
            let length = number(bytes)?;
            Token::Bytes(split(bytes, length)?)
        }
        SEQUENCE => Token::Sequence(Some(number(bytes)?)),
        OPEN_SEQUENCE => Token::Sequence(None),
        MAP => Token::Map(Some(number(bytes)?)),
        OPEN_MAP => Token::Map(None),
        END => Token::End,
        other => return Err(Trouble::new(format!("no value begins with the byte {other:#x}"))),
    })
}

/// A length or a number of elements.
#[inline]
fn number(bytes: &mut &[u8]) -> Result<u64, Trouble> {
    let [marker] = numeral(bytes)?;
    Ok(match marker {
        0..=SMALL => marker.into(),
        U8 => u8::from_le_bytes(numeral(bytes)?).into(),
        U16 => u16::from_le_bytes(numeral(bytes)?).into(),
        U32 => u32::from_le_bytes(numeral(bytes)?).into(),
        U64 => u64::from_le_bytes(numeral(bytes)?),
        other => return Err(Trouble::new(format!("no length begins with the byte {other:#x}"))),
    })
}

#[inline]
fn numeral<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], Trouble> {
    let (first, rest) = bytes.split_first_chunk().ok_or_else(cut_short)?;
    *bytes = rest;
    Ok(*first)
}

fn split<'de>(bytes: &mut &'de [u8], length: u64) -> Result<&'de [u8], Trouble> {
    let length = usize::try_from(length).ok();
    let (first, rest) = length.and_then(|length| bytes.split_at_checked(length)).ok_or_else(cut_short)?;
    *bytes = rest;
    Ok(first)
}

fn cut_short() -> Trouble {
    Trouble::new("the message ends in the middle of a value")
}
