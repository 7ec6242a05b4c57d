//! Writing: serde's data model into bytes.

use serde::ser::{self, Serialize, Serializer};

use super::token::*;
use super::trouble::Trouble;
use super::{DEPTH, HEAD};

type Result<T> = std::result::Result<T, Trouble>;

/// The bytes of an object.
///
/// # Errors
///
/// What its type itself says, or that it is nested too deep.
pub(crate) fn write<V: Serialize + ?Sized>(value: &V) -> Result<Vec<u8>> {
    let mut writer = Writer { bytes: HEAD.to_vec(), depth: 0 };
    value.serialize(&mut writer)?;
    Ok(writer.bytes)
}

struct Writer {
    bytes: Vec<u8>,
    depth: usize,
}

impl Writer {
    fn put(&mut self, marker: u8) {
        self.bytes.push(marker);
    }

    fn numeral(&mut self, marker: u8, number: &[u8]) {
        self.bytes.push(marker);
        self.bytes.extend_from_slice(number);
    }

    /// In as few bytes as the value needs.
    fn unsigned(&mut self, value: u64) {
        if value <= SMALL.into() {
            self.put(value as u8);
        } else if let Ok(value) = u8::try_from(value) {
            self.numeral(U8, &[value]);
        } else if let Ok(value) = u16::try_from(value) {
            self.numeral(U16, &value.to_le_bytes());
        } else if let Ok(value) = u32::try_from(value) {
            self.numeral(U32, &value.to_le_bytes());
        } else {
            self.numeral(U64, &value.to_le_bytes());
        }
    }

    fn text(&mut self, text: &str) {
        self.put(TEXT);
        self.unsigned(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// One level deeper.
    fn enter(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(Trouble::new(format!(
                "it is nested more than {DEPTH} deep; keep its parts in a list, with indices in place of links"
            )));
        }
        Ok(())
    }

    /// The beginning of a variant that holds something.
    fn variant(&mut self, name: &str) -> Result<()> {
        self.enter()?;
        self.put(MAP);
        self.unsigned(1);
        self.text(name);
        Ok(())
    }

    fn open(&mut self, closed: u8, open: u8, length: Option<usize>, levels: usize) -> Result<Parts<'_>> {
        self.enter()?;
        match length {
            Some(length) => {
                self.put(closed);
                self.unsigned(length as u64);
            }
            None => self.put(open),
        }
        Ok(Parts { writer: self, announced: length, given: 0, levels })
    }
}

/// The elements of a sequence, or the entries of a map.
struct Parts<'a> {
    writer: &'a mut Writer,
    announced: Option<usize>,
    given: usize,
    /// How many levels end with it: a variant is one more.
    levels: usize,
}

impl Parts<'_> {
    fn element<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<()> {
        self.given += 1;
        value.serialize(&mut *self.writer)
    }

    fn field<V: Serialize + ?Sized>(&mut self, name: &str, value: &V) -> Result<()> {
        self.writer.text(name);
        self.element(value)
    }

    fn close(self) -> Result<()> {
        self.writer.depth -= self.levels;
        match self.announced {
            None => self.writer.put(END),
            Some(announced) if announced == self.given => {}
            Some(announced) => {
                let given = self.given;
                return Err(Trouble::new(format!(
                    "its Serialize announced {announced} elements and gave {given}"
                )));
            }
        }
        Ok(())
    }
}

impl<'a> Serializer for &'a mut Writer {
    type Ok = ();
    type Error = Trouble;
    type SerializeSeq = Parts<'a>;
    type SerializeTuple = Parts<'a>;
    type SerializeTupleStruct = Parts<'a>;
    type SerializeTupleVariant = Parts<'a>;
    type SerializeMap = Parts<'a>;
    type SerializeStruct = Parts<'a>;
    type SerializeStructVariant = Parts<'a>;

    fn is_human_readable(&self) -> bool {
        true
    }

    fn serialize_bool(self, value: bool) -> Result<()> {
        self.put(if value { TRUE } else { FALSE });
        Ok(())
    }

    fn serialize_i8(self, value: i8) -> Result<()> {
        self.serialize_i64(value.into())
    }

    fn serialize_i16(self, value: i16) -> Result<()> {
        self.serialize_i64(value.into())
    }

    fn serialize_i32(self, value: i32) -> Result<()> {
        self.serialize_i64(value.into())
    }

    fn serialize_i64(self, value: i64) -> Result<()> {
        if let Ok(value) = u64::try_from(value) {
            self.unsigned(value);
        } else if let Ok(value) = i8::try_from(value) {
            self.numeral(I8, &value.to_le_bytes());
        } else if let Ok(value) = i16::try_from(value) {
            self.numeral(I16, &value.to_le_bytes());
        } else if let Ok(value) = i32::try_from(value) {
            self.numeral(I32, &value.to_le_bytes());
        } else {
            self.numeral(I64, &value.to_le_bytes());
        }
        Ok(())
    }

    fn serialize_i128(self, value: i128) -> Result<()> {
        if let Ok(value) = u64::try_from(value) {
            self.unsigned(value);
        } else if let Ok(value) = i64::try_from(value) {
            self.serialize_i64(value)?;
        } else {
            self.numeral(I128, &value.to_le_bytes());
        }
        Ok(())
    }

    fn serialize_u8(self, value: u8) -> Result<()> {
        self.unsigned(value.into());
        Ok(())
    }

    fn serialize_u16(self, value: u16) -> Result<()> {
        self.unsigned(value.into());
        Ok(())
    }

    fn serialize_u32(self, value: u32) -> Result<()> {
        self.unsigned(value.into());
        Ok(())
    }

    fn serialize_u64(self, value: u64) -> Result<()> {
        self.unsigned(value);
        Ok(())
    }

    fn serialize_u128(self, value: u128) -> Result<()> {
        match u64::try_from(value) {
            Ok(value) => self.unsigned(value),
            Err(_) => self.numeral(U128, &value.to_le_bytes()),
        }
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Result<()> {
        self.numeral(F32, &value.to_le_bytes());
        Ok(())
    }

    fn serialize_f64(self, value: f64) -> Result<()> {
        self.numeral(F64, &value.to_le_bytes());
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<()> {
        self.numeral(CHAR, &u32::from(value).to_le_bytes());
        Ok(())
    }

    fn serialize_str(self, value: &str) -> Result<()> {
        self.text(value);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<()> {
        self.put(BYTES);
        self.unsigned(value.len() as u64);
        self.bytes.extend_from_slice(value);
        Ok(())
    }

    fn serialize_none(self) -> Result<()> {
        self.put(NONE);
        Ok(())
    }

    fn serialize_some<V: Serialize + ?Sized>(self, value: &V) -> Result<()> {
        self.enter()?;
        self.put(SOME);
        value.serialize(&mut *self)?;
        self.depth -= 1;
        Ok(())
    }

    fn serialize_unit(self) -> Result<()> {
        self.put(UNIT);
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<()> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<()> {
        self.text(variant);
        Ok(())
    }

    fn serialize_newtype_struct<V: Serialize + ?Sized>(self, _: &'static str, value: &V) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<V: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &V,
    ) -> Result<()> {
        self.variant(variant)?;
        value.serialize(&mut *self)?;
        self.depth -= 1;
        Ok(())
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Parts<'a>> {
        self.open(SEQUENCE, OPEN_SEQUENCE, length, 1)
    }

    fn serialize_tuple(self, length: usize) -> Result<Parts<'a>> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_struct(self, _: &'static str, length: usize) -> Result<Parts<'a>> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Parts<'a>> {
        self.variant(variant)?;
        self.open(SEQUENCE, OPEN_SEQUENCE, Some(length), 2)
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Parts<'a>> {
        self.open(MAP, OPEN_MAP, length, 1)
    }

    fn serialize_struct(self, _: &'static str, length: usize) -> Result<Parts<'a>> {
        self.serialize_map(Some(length))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Parts<'a>> {
        self.variant(variant)?;
        self.open(MAP, OPEN_MAP, Some(length), 2)
    }
}

impl ser::SerializeSeq for Parts<'_> {
    type Ok = ();
    type Error = Trouble;

    fn serialize_element<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<()> {
        self.element(value)
    }

    fn end(self) -> Result<()> {
        self.close()
    }
}

impl ser::SerializeTuple for Parts<'_> {
    type Ok = ();
    type Error = Trouble;

    fn serialize_element<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<()> {
        self.element(value)
    }

    fn end(self) -> Result<()> {
        self.close()
    }
}

impl ser::SerializeTupleStruct for Parts<'_> {
    type Ok = ();
    type Error = Trouble;

    fn serialize_field<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<()> {
        self.element(value)
    }

    fn end(self) -> Result<()> {
        self.close()
    }
}

impl ser::SerializeTupleVariant for Parts<'_> {
    type Ok = ();
    type Error = Trouble;

    fn serialize_field<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<()> {
        self.element(value)
    }

    fn end(self) -> Result<()> {
        self.close()
    }
}

impl ser::SerializeMap for Parts<'_> {
    type Ok = ();
    type Error = Trouble;

    fn serialize_key<V: Serialize + ?Sized>(&mut self, key: &V) -> Result<()> {
        key.serialize(&mut *self.writer)
    }

    fn serialize_value<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<()> {
        self.element(value)
    }

    fn end(self) -> Result<()> {
        self.close()
    }
}

impl ser::SerializeStruct for Parts<'_> {
    type Ok = ();
    type Error = Trouble;

    fn serialize_field<V: Serialize + ?Sized>(&mut self, name: &'static str, value: &V) -> Result<()> {
        self.field(name, value)
    }

    fn end(self) -> Result<()> {
        self.close()
    }
}

impl ser::SerializeStructVariant for Parts<'_> {
    type Ok = ();
    type Error = Trouble;

    fn serialize_field<V: Serialize + ?Sized>(&mut self, name: &'static str, value: &V) -> Result<()> {
        self.field(name, value)
    }

    fn end(self) -> Result<()> {
        self.close()
    }
}
