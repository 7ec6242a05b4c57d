//! From what a call is given to what the engine needs: [`Reduction`] and [`Reducer`].
//!
//! A call takes an [`Op`], an [`Op::scaled`], a [`UserOp`], or a closure; each makes a plan once per call, or says
//! that the element's type does not have it. Making, cloning and dropping a plan allocates nothing, but that of a
//! closure, which is made a [`UserOp`] by each call.
//!
//! Neighbours: `collective` asks for plans, the engine carries them out, `signature` shows them to the peers.

use std::fmt;

use bytemuck::Pod;

use super::code::OpCode;
use super::datatype::{ElementCode, Reducible};
use super::kernel::Kernel;
use super::op::{Op, Scaled};
use super::scale::Rescale;
use super::user::UserOp;

/// Scratch memory and bounced messages are aligned to this; elements that want more cannot be reduced.
const ALIGNED: usize = 64;

mod sealed {
    use bytemuck::Pod;

    pub trait Sealed<T> {}
    impl<T> Sealed<T> for super::Op {}
    impl<T> Sealed<T> for super::Scaled {}
    impl<T> Sealed<T> for super::UserOp<T> {}
    impl<T> Sealed<T> for &super::UserOp<T> {}
    impl<T, R: Sealed<T>> Sealed<T> for super::Shared<'_, R> {}
    impl<T: Pod, F: Fn(T, T) -> T + Clone + Send + Sync + 'static> Sealed<T> for F {}
}

/// What combines contributions of type `T`: an [`Op`], where the type has it, with factors
/// ([`Op::scaled`]) or without; a [`UserOp`] on that type, or a reference to one; or a function or closure
/// `Fn(T, T) -> T`, which is a [`UserOp`] without a name of its own.
///
/// A closure must be associative, as [`UserOp`] says; operands keep rank order. Ranks compare the name that the
/// compiler gives it, which two closures of one function share, as do all pointers to functions of one type, and which
/// differs between builds: where ranks may disagree, or run different builds, or where the order of operands is free,
/// say so with a [`UserOp`].
///
/// ```
/// # let world = ringworld::testing::alone();
/// let mut x = [1f32, -2.0];
/// world.all_reduce(&mut x, f32::max)?;
/// world.all_reduce(&mut x, |a: f32, b: f32| if a.abs() > b.abs() { a } else { b })?;
/// assert_eq!(x, [1.0, -2.0]);
/// # Ok::<(), ringworld::Error>(())
/// ```
///
/// Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no operation on elements of type `{T}`",
    label = "expected an `Op`, a scaled `Op`, a `UserOp<{T}>`, or a function `Fn({T}, {T}) -> {T}`",
    note = "a closure says its types, `|a: {T}, b: {T}| …`, and is `Clone + Send + Sync + 'static`",
    note = "an `Op` needs elements that have it; for others, such as structs and arrays, give a closure"
)]
pub trait Reduction<T: Pod>: sealed::Sealed<T> {
    /// What the engine needs.
    ///
    /// # Errors
    ///
    /// When elements of this type cannot be reduced that way.
    #[doc(hidden)]
    fn plan(&self) -> Result<Reducer, Unsupported>;
}

/// A reduction, ready for the engine.
#[derive(Clone)]
#[doc(hidden)]
pub struct Reducer {
    /// What combines two contributions.
    pub kernel: Kernel,
    /// The element's type, for the call signature.
    pub dtype: ElementCode,
    /// The operation, for the call signature.
    pub op: OpCode,
    /// Whether the order of operands is free.
    pub commutative: bool,
    /// Multiplies contributions before anything else.
    before: Option<(Rescale, f64)>,
    after: After,
    when: When,
}

/// When a result is completed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// As soon as all ranks have contributed to an element: by the rank that has reduced it last, before it is
    /// copied on.
    LastReduction,
    /// At the end of the call, by every rank that has (a part of) the result.
    End,
}

/// What happens to the result, once all is combined.
#[derive(Clone, Copy)]
enum After {
    Nothing,
    /// One rank alone has combined nothing, so its elements have not become 0 or 1 yet.
    TruthOfOne(fn(&mut [u8])),
    Factor(Rescale, f64),
    /// Divided by the number of ranks, then multiplied.
    Average(Rescale, f64),
}

impl Reducer {
    /// For a collective that only moves elements of this type.
    #[inline]
    pub fn moving(dtype: ElementCode) -> Self {
        let op = OpCode::NONE;
        let (before, after, when) = (None, After::Nothing, When::End);
        Self { kernel: Kernel::NONE, dtype, op, commutative: true, before, after, when }
    }

    /// The operation in words: the user's name for it, if it is the user's.
    pub(crate) fn name(&self) -> String {
        match &self.kernel {
            Kernel::User(user) => format!("user op {:?}", user.name()),
            Kernel::Functions(_) => self.op.to_string(),
        }
    }

    /// Whether the result is divided by the number of ranks.
    #[inline]
    pub fn is_average(&self) -> bool {
        matches!(self.after, After::Average(..))
    }

    /// Why not in a scan, whose results are over different numbers of ranks.
    #[must_use]
    pub fn average_of_prefix(&self) -> Unsupported {
        self.unsupported(
            "each rank's result is over another number of ranks; take the sum, and divide it by the number you mean",
        )
    }

    fn unsupported(&self, advice: &str) -> Unsupported {
        Unsupported { op: self.name(), element: self.dtype.to_string(), advice: advice.into() }
    }

    /// Whether [`Reducer::scale_before`] has anything to do.
    #[inline]
    pub fn scales_before(&self) -> bool {
        self.before.is_some()
    }

    /// Prepares this rank's contribution, once, before the first step of the schedule.
    pub(crate) fn scale_before(&self, contribution: &mut [u8]) {
        if let Some((rescale, factor)) = self.before {
            (rescale.multiply)(contribution, factor);
        }
    }

    /// Why not in a call that leaves contributions as they are, and so cannot multiply them first.
    #[must_use]
    pub fn factor_before(&self) -> Unsupported {
        self.unsupported(
            "a factor before the reduction is for all-reduce; multiply the data before the call, or give the factor as \
             the one after",
        )
    }

    /// The same, for a schedule that marks the last reduction of every element.
    #[inline]
    pub fn completing_at_last(self) -> Self {
        Self { when: When::LastReduction, ..self }
    }

    /// Whether [`Reducer::complete`] has anything to do then.
    #[inline]
    pub(crate) fn completes(&self, when: When, ranks: usize) -> bool {
        when == self.when
            && match self.after {
                After::Nothing => false,
                After::TruthOfOne(_) => ranks == 1,
                After::Factor(..) | After::Average(..) => true,
            }
    }

    /// Completes elements of the result, each once.
    pub(crate) fn complete(&self, result: &mut [u8], ranks: usize) {
        match self.after {
            After::TruthOfOne(truth) if ranks == 1 => truth(result),
            After::Nothing | After::TruthOfOne(_) => {}
            After::Factor(rescale, factor) => (rescale.multiply)(result, factor),
            After::Average(rescale, factor) => {
                (rescale.divide)(result, ranks);
                if factor != 1.0 {
                    (rescale.multiply)(result, factor);
                }
            }
        }
    }
}

impl fmt::Debug for Reducer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reducer({} of {})", self.op, self.dtype)
    }
}

impl<T: Reducible> Reduction<T> for Op {
    #[inline]
    fn plan(&self) -> Result<Reducer, Unsupported> {
        let op = *self;
        let Some(functions) = T::functions(op) else { return Err(unsupported::<T>(op)) };
        let after = match (op, T::RESCALE, T::TRUTH) {
            (Self::Average, Some(rescale), _) => After::Average(rescale, 1.0),
            (Self::Average, None, _) => return Err(unsupported::<T>(op)),
            (Self::LogicalAnd | Self::LogicalOr | Self::LogicalXor, _, Some(truth)) => {
                After::TruthOfOne(truth)
            }
            _ => After::Nothing,
        };
        Ok(Reducer {
            kernel: Kernel::Functions(functions),
            dtype: ElementCode::from(T::DTYPE),
            op: OpCode::of(op),
            commutative: op.is_commutative(),
            before: None,
            after,
            when: When::End,
        })
    }
}

impl<T: Reducible> Reduction<T> for Scaled {
    fn plan(&self) -> Result<Reducer, Unsupported> {
        let Self { op, before, after } = *self;
        let plan = Reduction::<T>::plan(&op)?;
        let refuse = |advice: &str| {
            let op = format!("{op} with factors {before} and {after}");
            Err(Unsupported { op, element: T::DTYPE.name().into(), advice: advice.into() })
        };
        let Some(rescale) = T::RESCALE else {
            return refuse("factors are for f16, bf16, f32, f64 and complex numbers");
        };
        if !before.is_finite() || !after.is_finite() {
            return refuse("both factors must be finite");
        }
        Ok(Reducer {
            op: OpCode::scaled(op, before, after),
            before: (before != 1.0).then_some((rescale, before)),
            after: match plan.after {
                After::Average(..) => After::Average(rescale, after),
                _ if after != 1.0 => After::Factor(rescale, after),
                other => other,
            },
            ..plan
        })
    }
}

impl<T: Pod> Reduction<T> for UserOp<T> {
    fn plan(&self) -> Result<Reducer, Unsupported> {
        let element = ElementCode::of::<T>();
        if align_of::<T>() > ALIGNED {
            let advice = format!(
                "its elements are aligned to {} bytes, and reductions work on alignments up to {ALIGNED}",
                align_of::<T>()
            );
            return Err(Unsupported {
                op: format!("user op {:?}", self.name()),
                element: element.to_string(),
                advice,
            });
        }
        Ok(Reducer {
            kernel: Kernel::User(self.kernel()),
            op: OpCode::user(self.name(), size_of::<T>()),
            commutative: self.is_commutative(),
            ..Reducer::moving(element)
        })
    }
}

impl<T: Pod> Reduction<T> for &UserOp<T> {
    fn plan(&self) -> Result<Reducer, Unsupported> {
        UserOp::plan(self)
    }
}

impl<T: Pod, F: Fn(T, T) -> T + Clone + Send + Sync + 'static> Reduction<T> for F {
    fn plan(&self) -> Result<Reducer, Unsupported> {
        UserOp::new(std::any::type_name::<F>(), self.clone()).plan()
    }
}

/// One operation for several calls. A reference would do, were it not that a reference to a function is a function.
pub struct Shared<'a, R>(pub &'a R);

#[doc(hidden)]
impl<T: Pod, R: Reduction<T>> Reduction<T> for Shared<'_, R> {
    fn plan(&self) -> Result<Reducer, Unsupported> {
        self.0.plan()
    }
}

/// A type does not have an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct Unsupported {
    /// The operation.
    pub op: String,
    /// The type of the elements.
    pub element: String,
    /// What the type has, or what to do.
    pub advice: String,
}

#[cold]
fn unsupported<T: Reducible>(op: Op) -> Unsupported {
    let has: Vec<_> = Op::ALL.into_iter().filter(|op| T::functions(*op).is_some()).map(Op::name).collect();
    let element = T::DTYPE.name();
    let has = format!("{element} has {}", has.join(", "));
    let advice = match op {
        Op::Average => format!("{has}; take the sum, or convert to a floating-point type first"),
        Op::MinLocation | Op::MaxLocation => format!("{has}; {op} is for ringworld::Located"),
        _ => format!("{has}; anything else is a ringworld::UserOp"),
    };
    Unsupported { op: op.name().into(), element: element.into(), advice }
}
