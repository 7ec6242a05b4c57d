//! User-defined operations: closures on any `Pod` type.
//!
//! The closure is compiled into the loops, so a simple one is vectorised like a built-in operation. It
//! runs inside the engine, under its lock; should it panic, the panic is caught here, at the edge of the
//! loop, and the engine ends the world with an error that names the operation.
//!
//! Neighbours: `kernel` has the loops and calls [`UserKernel`], `reduction` makes a plan of a [`UserOp`].

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytemuck::Pod;

use super::loops::{apart, into_left, into_right};

/// A user-defined operation on elements of type `T`.
///
/// The function must be associative, for the schedule decides where the parentheses go, and the same on every rank.
/// Unless it is said to be [commutative](UserOp::commutative), operands keep rank order: `x0 op x1 op … op xn`. It must
/// not call ringworld: it runs in the middle of a collective, and a call that needs the engine would wait for itself.
/// Such a call returns `Error::InsideOperation`, or panics if it returns no error, and the world ends as by a panic of
/// the function. What only says something of a communicator, such as its rank, does not need the engine, and another
/// world can be used.
///
/// Ranks tell one another a digest of the name, so that ranks that pass different operations find out;
/// give different operations different names.
///
/// A panic of the function ends the world with `Error::Panicked` on every
/// rank (in a program built with `panic = "abort"`, it ends the process).
///
/// ```
/// use ringworld::UserOp;
/// # let world = ringworld::testing::alone();
/// // Affine maps x -> a * x + b under composition: associative, and order matters.
/// let compose = UserOp::new("compose", |[a, b]: [f64; 2], [c, d]: [f64; 2]| [a * c, b * c + d]);
/// let mut map = [[2.0, 1.0]];
/// world.all_reduce(&mut map, &compose)?;
/// assert_eq!(map, [[2.0, 1.0]]);
/// # Ok::<(), ringworld::Error>(())
/// ```
pub struct UserOp<T> {
    kernel: Arc<Operation>,
    commutative: bool,
    element: PhantomData<fn(T, T) -> T>,
}

impl<T: Pod> UserOp<T> {
    /// An associative operation; operands keep rank order.
    #[must_use]
    #[doc(alias = "MPI_Op_create")]
    pub fn new<F>(name: impl Into<String>, function: F) -> Self
    where
        F: Fn(T, T) -> T + Send + Sync + 'static,
    {
        let kernel = Operation::new(Closure { name: name.into(), function, element: PhantomData });
        Self { kernel: Arc::new(kernel), commutative: false, element: PhantomData }
    }

    /// Says that the order of operands is free, which lets faster algorithms serve long vectors.
    #[must_use]
    pub fn commutative(self) -> Self {
        Self { commutative: true, ..self }
    }

    /// The name it was given.
    #[must_use]
    pub fn name(&self) -> &str {
        self.kernel.name()
    }

    /// Whether the order of operands is free.
    #[must_use]
    pub fn is_commutative(&self) -> bool {
        self.commutative
    }

    pub(crate) fn kernel(&self) -> Arc<Operation> {
        Arc::clone(&self.kernel)
    }
}

impl<T> Clone for UserOp<T> {
    fn clone(&self) -> Self {
        Self { kernel: Arc::clone(&self.kernel), commutative: self.commutative, element: PhantomData }
    }
}

impl<T> fmt::Debug for UserOp<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserOp")
            .field("name", &self.kernel.name())
            .field("commutative", &self.commutative)
            .finish()
    }
}

/// What there is to say to whoever has written an operation that calls this library.
pub const ADVICE: &str = "an operation runs in the middle of a collective, and must only combine its two operands; \
     call ringworld before or after the collective instead";

/// A user's operation panicked, or asked something of the engine that runs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panicked {
    pub(crate) op: String,
    /// `panicked` or what it called.
    pub(crate) did: String,
    pub(crate) message: String,
}

impl Panicked {
    pub(super) fn new(op: &str, payload: Box<dyn Any + Send>) -> Self {
        Self { op: op.into(), did: "panicked".into(), message: message(payload) }
    }

    /// `call`: in words, if they are known.
    pub(crate) fn by_calling(op: &str, call: Option<String>) -> Self {
        let did = format!("called {}", call.as_deref().unwrap_or("ringworld"));
        Self { op: op.into(), did, message: ADVICE.into() }
    }
}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "user op {:?} {}: {}", self.op, self.did, self.message)
    }
}

/// The three shapes of a user's kernel, whatever its type; the errors say that the closure panicked.
pub trait UserKernel: Send + Sync {
    fn name(&self) -> &str;
    fn reduce_left(&self, left: &mut [u8], right: &[u8]) -> Result<(), Panicked>;
    fn reduce_right(&self, left: &[u8], right: &mut [u8]) -> Result<(), Panicked>;
    fn reduce_apart(&self, left: &[u8], right: &[u8], into: &mut [u8]) -> Result<(), Panicked>;
}

/// A user's operation of any type. What it keeps is the user's, and what is done when that is dropped may call the
/// engine: so the last one is not dropped under the engine's lock. (Of this size whoever has the last one knows it.)
pub struct Operation(Box<dyn UserKernel>);

impl Operation {
    pub(crate) fn new(kernel: impl UserKernel + 'static) -> Self {
        Self(Box::new(kernel))
    }
}

impl Deref for Operation {
    type Target = dyn UserKernel;

    #[inline]
    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

struct Closure<T, F> {
    name: String,
    function: F,
    element: PhantomData<fn(T, T) -> T>,
}

impl<T, F> Closure<T, F> {
    /// Runs a loop. Unwind safety: the slices hold plain data, any bits of which are valid, and nobody
    /// looks at them after a panic, for the world ends; the closure may find its own state half changed,
    /// but is not called again by this world.
    fn guarded(&self, run: impl FnOnce()) -> Result<(), Panicked> {
        catch_unwind(AssertUnwindSafe(run)).map_err(|payload| Panicked::new(&self.name, payload))
    }
}

impl<T: Pod, F: Fn(T, T) -> T + Send + Sync> UserKernel for Closure<T, F> {
    fn name(&self) -> &str {
        &self.name
    }

    fn reduce_left(&self, left: &mut [u8], right: &[u8]) -> Result<(), Panicked> {
        self.guarded(|| into_left(left, right, &self.function))
    }

    fn reduce_right(&self, left: &[u8], right: &mut [u8]) -> Result<(), Panicked> {
        self.guarded(|| into_right(left, right, &self.function))
    }

    fn reduce_apart(&self, left: &[u8], right: &[u8], into: &mut [u8]) -> Result<(), Panicked> {
        self.guarded(|| apart(left, right, into, &self.function))
    }
}

fn message(payload: Box<dyn Any + Send>) -> String {
    let payload = match payload.downcast::<String>() {
        Ok(text) => return *text,
        Err(payload) => payload,
    };
    if let Some(text) = payload.downcast_ref::<&str>() {
        return (*text).to_owned();
    }
    // Dropping a value of an unknown type may panic again, this time past the edge.
    std::mem::forget(payload);
    "no message".into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_caught_and_told() {
        let op = UserOp::new("picky", |a: u32, b: u32| a.checked_sub(b).expect("a is smaller than b"));
        let mut left = [5u32, 1];
        let result =
            op.kernel().reduce_left(bytemuck::cast_slice_mut(&mut left), bytemuck::bytes_of(&[2u32, 2]));
        let (op, did) = ("picky".into(), "panicked".into());
        let expected = Panicked { op, did, message: "a is smaller than b".into() };
        assert_eq!(result, Err(expected));
        let op = UserOp::new("odd", |_: u8, _: u8| std::panic::panic_any(7));
        assert_eq!(op.kernel().reduce_right(&[1], &mut [2]).unwrap_err().message, "no message");
    }

    #[test]
    fn all_shapes_keep_the_order_of_operands() {
        let op = UserOp::new("digits", |a: u16, b: u16| a * 10 + b);
        let kernel = op.clone().kernel();
        let (a, b) = ([1u16, 2, 3], [4u16, 5, 6]);
        let expected = [14, 25, 36];
        let mut into = a;
        kernel.reduce_left(bytemuck::cast_slice_mut(&mut into), bytemuck::cast_slice(&b)).unwrap();
        assert_eq!(into, expected);
        let mut into = b;
        kernel.reduce_right(bytemuck::cast_slice(&a), bytemuck::cast_slice_mut(&mut into)).unwrap();
        assert_eq!(into, expected);
        let mut into = [0u16; 3];
        kernel
            .reduce_apart(
                bytemuck::cast_slice(&a),
                bytemuck::cast_slice(&b),
                bytemuck::cast_slice_mut(&mut into),
            )
            .unwrap();
        assert_eq!(into, expected);
        assert_eq!((op.name(), op.is_commutative()), ("digits", false));
        assert!(op.commutative().is_commutative());
    }
}
