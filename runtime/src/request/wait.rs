//! What can be waited for, and waiting for several at once.

use std::sync::Arc;

use crate::{Error, Result};
use ringworld_engine::{CallId, Engine};

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// Anything that can be waited for: [`Pending`](crate::Pending), [`Scoped`](crate::Scoped) inside a scope, and
/// [`Running`](crate::Running). Sealed.
///
/// It exists for [`wait_all`] and [`wait_any`], which take requests of one kind.
pub trait Request: sealed::Sealed {
    /// What the end of it gives.
    type Output;

    /// Makes progress, and says whether it has ended, so that waiting will not wait.
    #[must_use]
    fn is_done(&self) -> bool;

    /// Waits for the end.
    ///
    /// # Errors
    ///
    /// What the blocking call would have returned.
    fn wait(self) -> Result<Self::Output>;

    /// Where to wait for it.
    #[doc(hidden)]
    fn place(&self) -> Place<'_>;
}

/// An engine, and the call in it that the request stands for.
#[doc(hidden)]
#[allow(missing_debug_implementations)]
pub struct Place<'a> {
    pub(crate) engine: &'a Arc<Engine>,
    pub(crate) call: Option<CallId>,
}

/// Waits for all requests; gives their results in order.
///
/// # Errors
///
/// The first failure in order, after all of them have ended.
///
/// ```
/// # let world = ringworld::testing::alone();
/// let sends = (0..4).map(|i| world.start_send(vec![i], 0, i)).collect::<ringworld::Result<Vec<_>>>()?;
/// let receives = (0..4).map(|i| world.start_recv(vec![0u32; 1], 0, i)).collect::<ringworld::Result<Vec<_>>>()?;
/// ringworld::wait_all(sends)?;
/// let received = ringworld::wait_all(receives)?;
/// assert_eq!(received[3].0, [3]);
/// # Ok::<(), ringworld::Error>(())
/// ```
pub fn wait_all<R: Request>(requests: impl IntoIterator<Item = R>) -> Result<Vec<R::Output>> {
    let results: Vec<_> = requests.into_iter().map(Request::wait).collect();
    results.into_iter().collect()
}

/// Waits until one of the requests has ended, and takes it out: its index (the others move up, as with
/// `Vec::remove`) and its result. `None` when there are no requests.
///
/// A thread waits in one world at a time. A request of another world than the first one's is taken out at once with
/// [`Error::OtherWorld`], and goes on like one that is dropped; [`test_any`] looks at requests of any worlds.
///
/// ```
/// # let world = ringworld::testing::alone();
/// let mut receives = vec![world.start_recv(vec![0u8; 1], 0, 1)?, world.start_recv(vec![0u8; 1], 0, 2)?];
/// world.send(&[9u8], 0, 2)?;
/// let (index, result) = ringworld::wait_any(&mut receives).expect("there are two");
/// assert_eq!((index, result?.0), (1, vec![9]));
/// assert_eq!(receives.len(), 1);
/// # Ok::<(), ringworld::Error>(())
/// ```
pub fn wait_any<R: Request>(requests: &mut Vec<R>) -> Option<(usize, Result<R::Output>)> {
    let engine = Arc::clone(requests.first()?.place().engine);
    if let Some(index) = requests.iter().position(|request| !Arc::ptr_eq(request.place().engine, &engine)) {
        drop(requests.remove(index));
        return Some((index, Err(Error::OtherWorld { operation: "wait_any".into(), index })));
    }
    let calls: Vec<Option<CallId>> = requests.iter().map(|request| request.place().call).collect();
    let index = engine.wait_any(&calls)?;
    Some((index, requests.remove(index).wait()))
}

/// Takes a request out that has ended, if there is one; does not wait. See [`wait_any`].
///
/// It makes progress once, however many requests there are.
///
/// ```
/// # let world = ringworld::testing::alone();
/// let mut receives = vec![world.start_recv(vec![0u8; 1], 0, 1)?];
/// assert!(ringworld::test_any(&mut receives).is_none());
/// world.send(&[9u8], 0, 1)?;
/// assert!(ringworld::test_any(&mut receives).is_some_and(|(index, result)| index == 0 && result.is_ok()));
/// # Ok::<(), ringworld::Error>(())
/// ```
pub fn test_any<R: Request>(requests: &mut Vec<R>) -> Option<(usize, Result<R::Output>)> {
    let index = first_ended(requests)?;
    Some((index, requests.remove(index).wait()))
}

/// The first request that has ended. Polls once for all requests in a row that are of one world.
fn first_ended<R: Request>(requests: &[R]) -> Option<usize> {
    let world = |a: &R, b: &R| Arc::ptr_eq(a.place().engine, b.place().engine);
    let mut before = 0;
    for of_one_world in requests.chunk_by(world) {
        let mut core = of_one_world.first()?.place().engine.lock();
        core.progress();
        let ended = |request: &R| request.place().call.is_none_or(|call| core.is_done(call));
        if let Some(index) = of_one_world.iter().position(ended) {
            return Some(before + index);
        }
        before += of_one_world.len();
    }
    None
}
