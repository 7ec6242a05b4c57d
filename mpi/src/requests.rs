//! Requests: handles of operations under way, and of those that can be started again.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

use crate::bare::{self, Bare, Look};
use crate::comms::{self, Comm, Held};
use crate::error::{Result, fail};
use crate::generalized::Generalized;
use crate::inside;
use crate::objects::Table;
use crate::partitioned::Partitioned;
use crate::standard::{self, ERR_REQUEST};
use crate::status::Status;
use crate::work::{Names, Pause, Work, wait_for_news};

/// How an operation is begun, again and again.
pub(crate) type Again = Box<dyn Fn() -> Result<Work> + Send + Sync>;

/// A request.
pub(crate) struct Request {
    /// Whose error handler is called.
    pub(crate) comm: Option<Held>,
    phase: Mutex<Phase>,
    /// What a thread waits for, which has locked the phase meanwhile.
    awaited: Mutex<Option<Names>>,
    /// It stands for many, and has ended: it is never taken away.
    stays: bool,
    again: Option<Again>,
    pub(crate) generalized: Option<Arc<Generalized>>,
    pub(crate) partitioned: Option<Arc<Partitioned>>,
}

enum Phase {
    Inactive,
    Active(Work),
    /// Its end has been seen and not been taken.
    Ended(Result<Status>),
}

impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Request")
    }
}

static MADE: Table<Request> = Table::new();

/// The request of an operation under way.
pub(crate) fn active(comm: Option<Held>, work: Work) -> standard::Request {
    insert(Request::active(comm, work))
}

/// One that is started by `MPI_Start`.
pub(crate) fn persistent(comm: Option<Arc<Comm>>, again: Again) -> standard::Request {
    insert(Request { again: Some(again), ..Request::new(comm.map(Held::Counted), Phase::Inactive) })
}

pub(crate) fn partitioned(comm: Arc<Comm>, again: Again, partitioned: Arc<Partitioned>) -> standard::Request {
    let (again, partitioned) = (Some(again), Some(partitioned));
    insert(Request { again, partitioned, ..Request::new(Some(Held::Counted(comm)), Phase::Inactive) })
}

pub(crate) fn generalized(work: Work, generalized: Arc<Generalized>) -> standard::Request {
    insert(Request { generalized: Some(generalized), ..Request::active(None, work) })
}

/// The request of every message that has left at once. It stays: taken or freed, only the caller's handle changes.
#[inline]
pub(crate) fn sent() -> standard::Request {
    static SENT: OnceLock<standard::Request> = OnceLock::new();
    *SENT.get_or_init(|| insert(Request::ended()))
}

fn insert(request: Request) -> standard::Request {
    standard::Request(MADE.insert(Arc::new(request)))
}

/// What a handle stands for that is waited for.
pub(crate) type Awaited = bare::Awaited<Arc<Request>>;

/// The handle of a bare receive.
///
/// # Errors
///
/// Those of [`bare::insert`].
#[inline]
pub(crate) fn bare(receive: Bare) -> Result<standard::Request> {
    bare::insert(receive, || standard::Request(MADE.reserve()))
}

/// What each of many handles stands for that are waited for; see [`bare::take_each`].
pub(crate) fn awaited(handles: &[standard::Request]) -> Result<Vec<Awaited>> {
    let sent = sent();
    bare::take_each(handles, |handle| match handle {
        standard::Request::NULL => Ok(Awaited::Nothing),
        handle if handle == sent => Ok(Awaited::Nothing),
        handle => {
            let request = find(handle)?;
            inside::refuse("wait for the requests")?;
            Ok(Awaited::Request(request))
        }
    })
}

/// What a handle stands for; `None`: the null handle.
pub(crate) fn get(handle: standard::Request) -> Result<Option<Arc<Request>>> {
    if handle == standard::Request::NULL {
        return Ok(None);
    }
    if let Some(request) = MADE.get(handle.0) {
        return Ok(Some(request));
    }
    let make = |receive: Bare| {
        let comm = Some(receive.comm().clone());
        MADE.fill(handle.0, Arc::new(Request::active(comm, Work::One(receive.0.into_owned(), 0))));
    };
    match bare::dress(handle, make) {
        Look::Nothing | Look::Dressed => find(handle).map(Some),
        Look::Refused => Err(inside::refused("look at the request")),
        // Whoever looks at it finds it under way, and can withdraw it, but not take its end.
        Look::WaitedFor(id) => {
            let ended = move || (!bare::is_waited_for(handle)).then_some(Ok(Status::EMPTY));
            let awaited = Mutex::new(Some(Names::from_iter([id])));
            let request = Request::active(None, Work::Poll(Box::new(ended)));
            Ok(Some(Arc::new(Request { awaited, ..request })))
        }
    }
}

/// What a handle stands for that is neither null nor a bare receive.
pub(crate) fn find(handle: standard::Request) -> Result<Arc<Request>> {
    match MADE.get(handle.0) {
        Some(request) => Ok(request),
        None => fail(ERR_REQUEST, format!("{:#x} is no request, or one that has ended", handle.0)),
    }
}

/// What each of many handles stands for, as [`get`] says.
pub(crate) fn get_all(handles: &[standard::Request]) -> Result<Vec<Option<Arc<Request>>>> {
    let mut found = MADE.get_each(handles.iter().map(|handle| handle.0));
    for (handle, request) in handles.iter().zip(&mut found) {
        if request.is_none() {
            *request = get(*handle)?;
        }
    }
    Ok(found)
}

/// All on a communicator for which the program has handles.
pub(crate) fn on(comm: &Arc<Comm>) -> Vec<Arc<Request>> {
    for handle in bare::on(comm) {
        // They become requests like any other, which can be waited for without taking their ends; but for what another
        // thread has taken meanwhile.
        let _taken = get(handle);
    }
    MADE.find_all(|request| request.is_on(comm))
}

/// One that is not null.
pub(crate) fn existing(handle: standard::Request) -> Result<Arc<Request>> {
    get(handle)?.map_or_else(|| fail(ERR_REQUEST, "MPI_REQUEST_NULL was given"), Ok)
}

impl Request {
    fn new(comm: Option<Held>, phase: Phase) -> Self {
        let (phase, awaited) = (Mutex::new(phase), Mutex::default());
        Self { comm, phase, awaited, stays: false, again: None, generalized: None, partitioned: None }
    }

    /// One that has ended, and is never taken away.
    fn ended() -> Self {
        Self { stays: true, ..Self::new(None, Phase::Ended(Ok(Status::EMPTY))) }
    }

    fn active(comm: Option<Held>, work: Work) -> Self {
        Self::new(comm, Phase::Active(work))
    }

    fn try_phase(&self) -> Option<MutexGuard<'_, Phase>> {
        match self.phase.try_lock() {
            Ok(phase) => Some(phase),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn phase(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The phase, for whoever is not to wait for its end. `None`: a thread does, so that it is active.
    fn phase_unless_awaited(&self) -> Option<MutexGuard<'_, Phase>> {
        loop {
            if let Some(phase) = self.try_phase() {
                return Some(phase);
            }
            if self.awaited().is_some() {
                return None;
            }
            // A thread looks at it, or is about to wait, or has just waited.
            std::thread::yield_now();
        }
    }

    /// Refuses to look at it, or to wait for it, within an operation of the program's: this thread may have locked the
    /// phase, and has locked the engine. Of one that stays nothing is locked.
    pub(crate) fn refuse_inside(&self, what: &str) -> Result<()> {
        if self.stays { Ok(()) } else { inside::refuse(what) }
    }

    pub(crate) fn is_on(&self, comm: &Arc<Comm>) -> bool {
        self.comm.as_ref().is_some_and(|own| Arc::ptr_eq(own, comm))
    }

    pub(crate) fn is_persistent(&self) -> bool {
        self.again.is_some()
    }

    /// Whether it has been started and its end has not been taken.
    pub(crate) fn is_active(&self) -> bool {
        self.phase_unless_awaited().is_none_or(|phase| !matches!(*phase, Phase::Inactive))
    }

    pub(crate) fn start(&self) -> Result<()> {
        let Some(again) = &self.again else {
            return fail(ERR_REQUEST, "the request is not persistent, and cannot be started");
        };
        inside::refuse("start the request")?;
        match self.phase_unless_awaited() {
            Some(mut phase) if matches!(*phase, Phase::Inactive) => {
                *phase = Phase::Active(again()?);
                Ok(())
            }
            _ => fail(ERR_REQUEST, "the request is active already"),
        }
    }

    /// Makes progress, and says whether it has ended or is inactive.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended_by(Work::poll)
    }

    /// The same of one that the program has freed, so that it asks for no end of it.
    pub(crate) fn has_ended_unasked(&self) -> bool {
        self.has_ended_by(Work::poll_unasked)
    }

    fn has_ended_by(&self, poll: impl FnOnce(&mut Work) -> Option<Result<Status>>) -> bool {
        if self.stays {
            // A program that looks at nothing but its sends still expects other messages to come.
            if let Some(comm) = comms::of_all() {
                comm.all.make_progress();
            }
            return true;
        }
        // Whoever waits makes progress.
        let Some(mut phase) = self.phase_unless_awaited() else { return false };
        if let Phase::Active(work) = &mut *phase {
            match poll(work) {
                None => return false,
                Some(ended) => *phase = Phase::Ended(ended),
            }
        }
        true
    }

    /// Whether it is under way, and its end brings something that somebody has to look for.
    pub(crate) fn brings(&self) -> bool {
        match self.phase_unless_awaited().as_deref() {
            Some(Phase::Active(work)) => work.brings(),
            Some(Phase::Inactive | Phase::Ended(_)) => false,
            None => true,
        }
    }

    /// Waits until it has ended; its end is not taken.
    pub(crate) fn wait(&self) {
        let mut phase = self.phase();
        if let Phase::Active(work) = &mut *phase {
            let ended = self.wait_for(work);
            *phase = Phase::Ended(ended);
        }
    }

    fn wait_for(&self, work: &mut Work) -> Result<Status> {
        let _told = self.tell(work);
        work.wait()
    }

    /// Says what is waited for, until what is returned is dropped, which is to be before the phase is given back.
    fn tell(&self, work: &Work) -> Told<'_> {
        *self.awaited() = Some(work.names());
        Told(self)
    }

    fn awaited(&self) -> MutexGuard<'_, Option<Names>> {
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The end, which stays; `None` when it is under way.
    pub(crate) fn end(&self) -> Option<Result<Status>> {
        match self.phase_unless_awaited().as_deref() {
            Some(Phase::Inactive) => Some(Ok(Status::EMPTY)),
            Some(Phase::Ended(ended)) => Some(ended.clone()),
            Some(Phase::Active(_)) | None => None,
        }
    }

    /// Takes its end, and waits for it first where it is under way. Its handle stays; see [`remove_each`].
    pub(crate) fn take_end(&self) -> Result<Status> {
        if self.stays {
            return Ok(Status::EMPTY);
        }
        let ended = {
            let mut phase = self.phase();
            if let Phase::Active(work) = &mut *phase {
                let ended = self.wait_for(work);
                *phase = Phase::Inactive;
                ended
            } else {
                match std::mem::replace(&mut *phase, Phase::Inactive) {
                    Phase::Ended(ended) => ended,
                    Phase::Inactive | Phase::Active(_) => return Ok(Status::EMPTY),
                }
            }
        };
        match &self.generalized {
            // What the program says of it, asked after the phase has been given back.
            Some(generalized) => generalized.finish(),
            None => ended,
        }
    }

    /// What the handle of one whose end has been taken is to be.
    pub(crate) fn afterwards(&self, handle: standard::Request) -> standard::Request {
        if self.is_persistent() { handle } else { standard::Request::NULL }
    }

    /// Withdraws receives that nothing has matched, also those that a thread waits for.
    ///
    /// # Errors
    ///
    /// Those of a generalized request's function. Within an operation of the program's: this thread may have locked the
    /// phase, and has locked the engine.
    pub(crate) fn cancel(&self) -> Result<()> {
        inside::refuse("cancel the request")?;
        let names = loop {
            if let Some(names) = &*self.awaited() {
                break names.clone();
            }
            match self.try_phase().as_deref() {
                Some(Phase::Active(work)) => break work.names(),
                Some(Phase::Inactive | Phase::Ended(_)) => break Names::new(),
                // A thread looks at it, or is about to wait, or has just waited.
                None => std::thread::yield_now(),
            }
        };
        if let Some(comm) = comms::of_all() {
            for id in names {
                let _withdrawn = comm.all.cancel_foreign(id);
            }
        }
        self.generalized.as_ref().map_or(Ok(()), |generalized| generalized.cancel())
    }
}

/// Another thread can withdraw what is waited for.
struct Told<'a>(&'a Request);

impl Drop for Told<'_> {
    fn drop(&mut self) {
        *self.0.awaited() = None;
    }
}

/// Takes the end of a request, and waits for it first where it is under way: a persistent one is inactive then, any
/// other is no more, and its handle is to be the null handle.
pub(crate) fn take(handle: standard::Request, request: &Request) -> (Result<Status>, standard::Request) {
    let ended = request.take_end();
    remove_each([(handle, request)].into_iter());
    (ended, request.afterwards(handle))
}

/// Requests whose ends have been taken are no more, but for those that can be used again.
pub(crate) fn remove_each<'a>(taken: impl Iterator<Item = (standard::Request, &'a Request)>) {
    let mut gone = taken.filter(|(_, request)| !request.is_persistent() && !request.stays).peekable();
    if gone.peek().is_some() {
        MADE.remove_each(gone.map(|(handle, _)| handle.0));
    }
}

/// Takes a request from its handle, which the program frees; `None`: there is nothing more to be done about it.
pub(crate) fn let_go(handle: standard::Request) -> Result<Option<Arc<Request>>> {
    let request = existing(handle)?;
    if request.stays {
        return Ok(None);
    }
    if let Some(generalized) = &request.generalized {
        if generalized.leave() {
            end_of_freed(handle, generalized)?;
        }
        return Ok(None);
    }
    MADE.remove(handle.0);
    Ok(Some(request))
}

/// The program says that the operation of a generalized request is complete.
pub(crate) fn complete(handle: standard::Request) -> Result<()> {
    match &existing(handle)?.generalized {
        Some(generalized) if generalized.complete() => end_of_freed(handle, generalized),
        Some(_) => Ok(()),
        None => fail(ERR_REQUEST, "the request is not a generalized one"),
    }
}

/// A generalized request is both complete and freed: until then its handle is the one that the program completes.
fn end_of_freed(handle: standard::Request, generalized: &Generalized) -> Result<()> {
    MADE.remove(handle.0);
    generalized.free()
}

/// The phases of all, each once; `None` while another thread looks at one. Without that one they must not be waited
/// for: if it ended, nobody would wake.
fn lock_each<'a>(
    requests: impl Iterator<Item = &'a Request>,
) -> Option<Vec<(&'a Request, MutexGuard<'a, Phase>)>> {
    let mut locked: Vec<(&Request, _)> = Vec::new();
    for request in requests {
        match request.try_phase() {
            Some(phase) => locked.push((request, phase)),
            None if locked.iter().any(|(other, _)| std::ptr::eq(*other, request)) => {}
            None => return None,
        }
    }
    Some(locked)
}

/// Waits until one of them has ended; its place.
pub(crate) fn wait_for_one(requests: &[Option<Arc<Request>>]) -> Option<usize> {
    let live = |request: &&Option<Arc<Request>>| request.as_ref().is_some_and(|request| request.is_active());
    if !requests.iter().any(|request| live(&request)) {
        return None;
    }
    let mut pause = Pause::default();
    loop {
        let ended = requests.iter().position(|request| {
            request.as_ref().is_some_and(|request| request.is_active() && request.has_ended())
        });
        if ended.is_some() {
            return ended;
        }
        // Nothing of these is taken by anybody else: the program waits for a request in one thread at a time.
        let Some(phases) = lock_each(requests.iter().flatten().map(|request| &**request)) else {
            std::thread::yield_now();
            continue;
        };
        let active = phases.iter().filter_map(|(request, phase)| match &**phase {
            Phase::Active(work) => Some((request.tell(work), work)),
            Phase::Inactive | Phase::Ended(_) => None,
        });
        let (_told, works): (Vec<Told<'_>>, Vec<&Work>) = active.unzip();
        wait_for_news(&works, &mut pause);
    }
}
