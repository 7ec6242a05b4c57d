//! Reading: bytes into what the asked type wants, if they are that.
//!
//! Whatever the bytes are, reading ends, takes no more memory than they have length (for types that take no more by
//! themselves), and recurses no deeper than [`DEPTH`]. A number arrives as it is or not at all.

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::token::{self, Token};
use super::trouble::Trouble;
use super::{DEPTH, HEAD};

type Result<T> = std::result::Result<T, Trouble>;

/// The value that the bytes hold.
///
/// # Errors
///
/// When they are no object, or one of another shape.
pub(crate) fn read<V: DeserializeOwned>(bytes: &[u8]) -> Result<V> {
    let Some(left) = bytes.strip_prefix(&HEAD) else {
        return Err(Trouble::new("the message is no object of this version, as send_object sends it"));
    };
    let mut reader = Reader { left, depth: 0 };
    let value = V::deserialize(&mut reader)?;
    match reader.left.len() {
        0 => Ok(value),
        more => Err(Trouble::new(format!("{more} bytes follow after its end"))),
    }
}

struct Reader<'de> {
    left: &'de [u8],
    depth: usize,
}

impl<'de> Reader<'de> {
    #[inline]
    fn take(&mut self) -> Result<Token<'de>> {
        token::take(&mut self.left)
    }

    /// The next byte, which says what comes; `None` at the end.
    fn peek(&self) -> Option<u8> {
        self.left.first().copied()
    }

    /// Does something one level deeper.
    fn nested<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == DEPTH {
            return Err(Trouble::new(format!("it is nested more than {DEPTH} deep")));
        }
        self.depth += 1;
        let done = run(self);
        self.depth -= 1;
        done
    }

    fn parts<T>(
        &mut self,
        left: Option<u64>,
        run: impl FnOnce(&mut Parts<'_, 'de>) -> Result<T>,
    ) -> Result<T> {
        self.nested(|reader| {
            let mut parts = Parts { reader, left, given: 0, key: None };
            let value = run(&mut parts)?;
            parts.finish()?;
            Ok(value)
        })
    }

    #[inline]
    fn visit<V: Visitor<'de>>(&mut self, token: Token<'de>, visitor: V) -> Result<V::Value> {
        match token {
            Token::Unit => visitor.visit_unit(),
            Token::Bool(value) => visitor.visit_bool(value),
            Token::None => visitor.visit_none(),
            Token::Some => self.nested(|reader| visitor.visit_some(reader)),
            Token::Unsigned(value) => visitor.visit_u64(value),
            Token::Signed(value) => visitor.visit_i64(value),
            Token::Unsigned128(value) => visitor.visit_u128(value),
            Token::Signed128(value) => visitor.visit_i128(value),
            Token::Single(value) => visitor.visit_f32(value),
            Token::Double(value) => visitor.visit_f64(value),
            Token::Char(value) => visitor.visit_char(value),
            Token::Text(text) => visitor.visit_borrowed_str(text),
            Token::Bytes(bytes) => visitor.visit_borrowed_bytes(bytes),
            Token::Sequence(length) => self.parts(length, |parts| visitor.visit_seq(parts)),
            Token::Map(length) => self.parts(length, |parts| visitor.visit_map(parts)),
            Token::End => Err(token.is_no(&visitor)),
        }
    }
}

/// The number as a double, if it is one.
fn double(token: Token<'_>) -> Option<f64> {
    // A cast rounds; what it changed is seen when it is taken back. The largest integers round up to what no longer
    // fits, which the cast back would hide.
    match token {
        Token::Single(value) => Some(value.into()),
        Token::Double(value) => Some(value),
        Token::Unsigned(value) => {
            Some(value as f64).filter(|double| *double < 2f64.powi(64) && *double as u64 == value)
        }
        Token::Signed(value) => Some(value as f64).filter(|double| *double as i64 == value),
        _ => None,
    }
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = Trouble;

    fn is_human_readable(&self) -> bool {
        true
    }

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let token = self.take()?;
        self.visit(token, visitor)
    }

    #[inline]
    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let token = self.take()?;
        match token {
            Token::Single(value) => visitor.visit_f32(value),
            Token::Double(_) | Token::Unsigned(_) | Token::Signed(_) => {
                let single = double(token).map(|double| (double, double as f32));
                match single.filter(|(double, single)| f64::from(*single) == *double || double.is_nan()) {
                    Some((_, single)) => visitor.visit_f32(single),
                    None => {
                        Err(Trouble::invalid_value(token.unexpected(), &"a number that an f32 holds exactly"))
                    }
                }
            }
            other => self.visit(other, visitor),
        }
    }

    #[inline]
    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let token = self.take()?;
        match token {
            Token::Single(_) | Token::Double(_) | Token::Unsigned(_) | Token::Signed(_) => {
                match double(token) {
                    Some(double) => visitor.visit_f64(double),
                    None => {
                        Err(Trouble::invalid_value(token.unexpected(), &"a number that an f64 holds exactly"))
                    }
                }
            }
            other => self.visit(other, visitor),
        }
    }

    /// A value that was no option where it was sent is one that is there.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if matches!(self.peek(), Some(token::NONE | token::SOME | token::UNIT)) {
            return self.deserialize_any(visitor);
        }
        // A level as well: a type may ask for options without end, and takes nothing off the message by that.
        self.nested(|reader| visitor.visit_some(reader))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match self.take()? {
            Token::Text(name) => {
                visitor.visit_enum(BorrowedStrDeserializer::new(name)).map_err(|error: Trouble| error)
            }
            Token::Map(length) => self.parts(length, |parts| {
                if !parts.more()? {
                    return Err(Trouble::invalid_type(de::Unexpected::Map, &visitor));
                }
                visitor.visit_enum(Variant { reader: parts.reader })
            }),
            other => Err(other.is_no(&visitor)),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

/// The elements of a sequence, or the entries of a map.
struct Parts<'a, 'de> {
    reader: &'a mut Reader<'de>,
    /// How many are to come; without a number, until the end is read.
    left: Option<u64>,
    given: usize,
    /// Where the last key begins, to say in which field it is that something is wrong.
    key: Option<&'de [u8]>,
}

impl<'de> Parts<'_, 'de> {
    /// Whether there is one more, which is then to be read.
    #[inline]
    fn more(&mut self) -> Result<bool> {
        match &mut self.left {
            Some(0) => return Ok(false),
            Some(left) => *left -= 1,
            None if self.reader.peek() == Some(token::END) => {
                self.reader.take()?;
                self.left = Some(0);
                return Ok(false);
            }
            None => {}
        }
        self.given += 1;
        Ok(true)
    }

    /// Each takes a byte at least, whatever has been announced.
    fn hint(&self) -> Option<usize> {
        let announced = self.left.map(|left| usize::try_from(left).unwrap_or(usize::MAX));
        announced.map(|announced| announced.min(self.reader.left.len()))
    }

    fn finish(&mut self) -> Result<()> {
        let taken = self.given;
        if self.more()? {
            return Err(Trouble::new(format!("there are more than the {taken} elements that were expected")));
        }
        Ok(())
    }
}

impl<'de> SeqAccess<'de> for &mut Parts<'_, 'de> {
    type Error = Trouble;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        if !self.more()? {
            return Ok(None);
        }
        let index = self.given - 1;
        seed.deserialize(&mut *self.reader).map(Some).map_err(|error| error.inside(format_args!("[{index}]")))
    }

    fn size_hint(&self) -> Option<usize> {
        self.hint()
    }
}

impl<'de> MapAccess<'de> for &mut Parts<'_, 'de> {
    type Error = Trouble;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        if !self.more()? {
            return Ok(None);
        }
        self.key = Some(self.reader.left);
        seed.deserialize(&mut *self.reader).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value> {
        let key = self.key.take();
        seed.deserialize(&mut *self.reader).map_err(|error| {
            let mut key = key.unwrap_or_default();
            match token::take(&mut key) {
                Ok(Token::Text(name)) => error.inside(format_args!(".{name}")),
                _ => error,
            }
        })
    }

    fn size_hint(&self) -> Option<usize> {
        self.hint()
    }
}

/// A variant that holds something: its name, then what it holds.
struct Variant<'a, 'de> {
    reader: &'a mut Reader<'de>,
}

impl<'de> EnumAccess<'de> for Variant<'_, 'de> {
    type Error = Trouble;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self)> {
        Ok((seed.deserialize(&mut *self.reader)?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, 'de> {
    type Error = Trouble;

    fn unit_variant(self) -> Result<()> {
        de::Deserialize::deserialize(self.reader)
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value> {
        seed.deserialize(self.reader)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value> {
        self.reader.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value> {
        self.reader.deserialize_any(visitor)
    }
}
