//! Vectors of any plain elements, side by side.

use std::any::Any;

use bytemuck::{Pod, cast_slice};

use self::private::Vector;
use crate::Result;
use crate::communicator::Communicator;
use ringworld_engine::ElementCode;

/// A vector of plain data that is part of a state: `Vec<T>` of any [`Pod`]. See [`Communicator::share_state`].
///
/// ```
/// # let world = ringworld::testing::alone();
/// let (mut weights, mut order) = (vec![0.5f32; 100], vec![3u32, 1, 2]);
/// world.share_state(&mut Some(1), &mut (), &mut [&mut weights, &mut order])?;
/// # Ok::<(), ringworld::Error>(())
/// ```
pub trait StateVector: Vector {}

impl<T: Pod> StateVector for Vec<T> {}

pub(super) mod private {
    use super::{Any, Communicator, Result};

    /// What nobody else implements or calls.
    pub trait Vector {
        /// Of what elements: their code among ranks, and their size.
        fn element(&self) -> (u8, u64);
        /// In elements.
        fn length(&self) -> usize;
        fn bytes(&self) -> &[u8];
        /// So many elements, or why not.
        fn make_room(&mut self, length: u64) -> Result<(), String>;
        /// From rank 0 of `group`.
        fn broadcast(&mut self, group: &Communicator) -> Result<()>;
        /// What it holds; nothing is left.
        fn set_aside(&mut self) -> Box<dyn Any>;
        /// What it held when it was set aside.
        fn put_back(&mut self, held: Box<dyn Any>);
    }
}

impl<T: Pod> Vector for Vec<T> {
    fn element(&self) -> (u8, u64) {
        (ringworld_protocol::Element::from(ElementCode::of::<T>()).number(), size_of::<T>() as u64)
    }

    fn length(&self) -> usize {
        self.len()
    }

    fn bytes(&self) -> &[u8] {
        cast_slice(self)
    }

    fn make_room(&mut self, length: u64) -> Result<(), String> {
        let size = size_of::<T>();
        let refused = |why: &dyn std::fmt::Display| format!("{length} elements of {size} bytes: {why}");
        let length = usize::try_from(length).map_err(|error| refused(&error))?;
        self.try_reserve_exact(length.saturating_sub(self.len())).map_err(|error| refused(&error))?;
        self.resize(length, T::zeroed());
        Ok(())
    }

    fn broadcast(&mut self, group: &Communicator) -> Result<()> {
        // All know the length; of nothing nothing is sent.
        if self.bytes().is_empty() { Ok(()) } else { group.broadcast(self, 0) }
    }

    fn set_aside(&mut self) -> Box<dyn Any> {
        Box::new(std::mem::take(self))
    }

    fn put_back(&mut self, held: Box<dyn Any>) {
        if let Ok(held) = held.downcast::<Self>() {
            *self = *held;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_that_no_memory_has_is_refused_in_words_and_nothing_is_lost() {
        let mut vector = vec![1u64, 2];
        let why = vector.make_room(u64::MAX / 2).unwrap_err();
        assert!(why.starts_with("9223372036854775807 elements of 8 bytes: "), "{why}");
        assert_eq!(vector, [1, 2]);
        vector.make_room(3).unwrap();
        assert_eq!(vector, [1, 2, 0]);
        vector.make_room(1).unwrap();
        assert_eq!(vector, [1]);
    }

    #[test]
    fn what_was_set_aside_comes_back() {
        let mut vector = vec![1u8, 2];
        let held = vector.set_aside();
        assert!(vector.is_empty());
        vector.make_room(4).unwrap();
        vector.put_back(held);
        assert_eq!(vector, [1, 2]);
    }
}
