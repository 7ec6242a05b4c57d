//! Waiting for requests, and what else is done with them.

use std::sync::Arc;
use std::sync::atomic::AtomicU8;

use crate::arguments::{Address, Handles, IntOut, StatusOut};
use crate::bare::{self, Bare, Found};
use crate::comms::Held;
use crate::datatypes;
use crate::error::{Error, Result, error, fail};
use crate::freed;
use crate::generalized::Generalized;
use crate::guard::{nowhere, of_failed, of_request, on_none, on_request, tell_failed};
use crate::inside;
use crate::requests::{self, Awaited, Request as Object, get, take};
use crate::standard::{Datatype, ERR_ARG, ERR_IN_STATUS, Request, UNDEFINED};
use crate::status::Status;
use crate::work::Work;

/// Takes the end of a request, for which it waits.
fn finish(call: &str, requests: Handles<Request>, place: usize, request: &Object, status: StatusOut) -> i32 {
    if request.is_persistent() && !request.is_active() {
        // Nothing has ended: the empty status has no error, either.
        status.put(0, &Status::EMPTY);
        return 0;
    }
    let (ended, handle) = take(requests.get(place), request);
    requests.put(place, handle);
    say(call, request.comm.as_ref(), ended, status)
}

/// The same of a bare receive that was taken.
#[inline]
fn finish_bare(
    call: &str,
    requests: Handles<Request>,
    place: usize,
    mut receive: Bare,
    status: StatusOut,
) -> i32 {
    let ended = receive.wait();
    bare::free([requests.get(place)].into_iter());
    requests.put(place, Request::NULL);
    say(call, Some(receive.comm()), ended, status)
}

/// Says how something has ended.
#[inline]
fn say(call: &str, comm: Option<&Held>, ended: Result<Status>, status: StatusOut) -> i32 {
    match ended {
        Ok(ended) => {
            status.set(&ended);
            0
        }
        Err(why) => {
            tell_failed(&why, status);
            of_request(call, comm.map(|comm| &**comm), &why)
        }
    }
}

pub fn wait(request: Handles<Request>, status: StatusOut) -> i32 {
    let handle = request.get(0);
    if let Some(receive) = bare::take(handle) {
        return finish_bare("MPI_Wait", request, 0, receive, status);
    }
    match get(handle) {
        Err(why) => nowhere("MPI_Wait", &why),
        Ok(None) => {
            status.put(0, &Status::EMPTY);
            0
        }
        Ok(Some(object)) => match object.refuse_inside("wait for the request") {
            Ok(()) => finish("MPI_Wait", request, 0, &object, status),
            Err(why) => of_request("MPI_Wait", object.comm.as_deref(), &why),
        },
    }
}

pub fn test(request: Handles<Request>, flag: IntOut, status: StatusOut) -> i32 {
    let handle = request.get(0);
    match bare::take_ended([handle].into_iter()) {
        Found::Others => {}
        Found::UnderWay => {
            flag.flag(false);
            return 0;
        }
        Found::Ended(_, receive) => {
            flag.flag(true);
            return finish_bare("MPI_Test", request, 0, receive, status);
        }
    }
    match get(handle) {
        Err(why) => nowhere("MPI_Test", &why),
        Ok(None) => {
            flag.flag(true);
            status.put(0, &Status::EMPTY);
            0
        }
        Ok(Some(object)) => {
            if let Err(why) = object.refuse_inside("test the request") {
                return of_request("MPI_Test", object.comm.as_deref(), &why);
            }
            let ended = object.has_ended();
            flag.flag(ended);
            if ended { finish("MPI_Test", request, 0, &object, status) } else { 0 }
        }
    }
}

/// How many looks at bare receives a wait for one of several takes before it sleeps: some 50 us, beside which requests
/// cost little.
const LOOKS: usize = 200;

/// As many handles as were given.
fn vec(count: i32, handles: Handles<Request>) -> Result<Vec<Request>> {
    let count = usize::try_from(count).or_else(|_| fail(ERR_ARG, format!("{count} requests cannot be")))?;
    Ok(handles.vec(count))
}

/// All of them, `None` for null handles.
fn all(count: i32, handles: Handles<Request>) -> Result<Vec<Option<Arc<Object>>>> {
    let handles = vec(count, handles)?;
    inside::refuse("look at the requests")?;
    requests::get_all(&handles)
}

/// Waits for the ends of all, takes them, and gives each its status; what is wrong with one is in its status.
fn finish_all(
    call: &str,
    (given, mut awaited): (Vec<Request>, Vec<Awaited>),
    handles: Handles<Request>,
    statuses: StatusOut,
) -> i32 {
    // The program's own functions, which generalized requests call, are called when all have ended.
    let ends = awaited.iter_mut().map(|awaited| match awaited {
        Awaited::Nothing => Ok(Status::EMPTY),
        Awaited::Bare(receive) => receive.wait(),
        Awaited::Request(object) if object.generalized.is_none() => object.take_end(),
        Awaited::Request(object) => {
            object.wait();
            Ok(Status::EMPTY)
        }
    });
    let mut ends: Vec<_> = ends.collect();
    let mut failed: Option<(Option<Held>, Error)> = None;
    for (ended, awaited) in ends.iter_mut().zip(&awaited) {
        let comm = match awaited {
            Awaited::Nothing => continue,
            Awaited::Bare(receive) => Some(receive.comm()),
            Awaited::Request(object) => {
                if object.generalized.is_some() {
                    *ended = object.take_end();
                }
                object.comm.as_ref()
            }
        };
        if let Err(why) = ended {
            failed.get_or_insert_with(|| (comm.cloned(), error(ERR_IN_STATUS, &*why.text)));
        }
    }
    let each = || given.iter().copied().zip(&awaited);
    requests::remove_each(each().filter_map(|(handle, awaited)| match awaited {
        Awaited::Request(object) => Some((handle, &**object)),
        Awaited::Nothing | Awaited::Bare(_) => None,
    }));
    bare::free(each().filter(|(_, awaited)| matches!(awaited, Awaited::Bare(_))).map(|(handle, _)| handle));
    for (place, (handle, awaited)) in each().enumerate() {
        let afterwards = match awaited {
            Awaited::Nothing | Awaited::Bare(_) => Request::NULL,
            Awaited::Request(object) => object.afterwards(handle),
        };
        handles.put(place, afterwards);
    }
    for (place, ended) in ends.into_iter().enumerate() {
        match ended {
            // Errors are written only when there are some.
            Ok(status) if failed.is_none() => {
                let error = statuses.get(place).error;
                statuses.put(place, &Status { error, ..status });
            }
            Ok(status) => statuses.put(place, &status),
            Err(why) => statuses.put(place, &of_failed(&why)),
        }
    }
    failed.map_or(0, |(comm, why)| of_request(call, comm.as_deref(), &why))
}

/// What is waited for, and by which handles.
fn awaited(count: i32, handles: Handles<Request>) -> Result<(Vec<Request>, Vec<Awaited>)> {
    let given = vec(count, handles)?;
    let awaited = requests::awaited(&given)?;
    Ok((given, awaited))
}

pub fn waitall(count: i32, array_of_requests: Handles<Request>, array_of_statuses: StatusOut) -> i32 {
    match awaited(count, array_of_requests) {
        Err(why) => nowhere("MPI_Waitall", &why),
        Ok(awaited) => finish_all("MPI_Waitall", awaited, array_of_requests, array_of_statuses),
    }
}

pub fn testall(
    count: i32,
    array_of_requests: Handles<Request>,
    flag: IntOut,
    array_of_statuses: StatusOut,
) -> i32 {
    match all(count, array_of_requests) {
        Err(why) => nowhere("MPI_Testall", &why),
        Ok(objects) => {
            // Each makes progress, whatever the others have come to.
            let ended = objects.iter().flatten().filter(|object| object.has_ended()).count();
            let all = ended == objects.iter().flatten().count();
            flag.flag(all);
            if !all {
                return 0;
            }
            let given = array_of_requests.vec(objects.len());
            let awaited = objects.into_iter().map(|object| object.map_or(Awaited::Nothing, Awaited::Request));
            finish_all("MPI_Testall", (given, awaited.collect()), array_of_requests, array_of_statuses)
        }
    }
}

pub fn waitany(count: i32, array_of_requests: Handles<Request>, indx: IntOut, status: StatusOut) -> i32 {
    // A while, in which nothing is made of bare receives but what they are. A negative count is for `all` to refuse.
    let number = usize::try_from(count).unwrap_or(0);
    for _ in 0..(LOOKS / number.max(1)).max(1) {
        match bare::take_ended((0..number).map(|place| array_of_requests.get(place))) {
            Found::Others => break,
            Found::UnderWay => std::thread::yield_now(),
            Found::Ended(place, receive) => {
                indx.set(place as i64);
                return finish_bare("MPI_Waitany", array_of_requests, place, receive, status);
            }
        }
    }
    match all(count, array_of_requests) {
        Err(why) => nowhere("MPI_Waitany", &why),
        Ok(objects) => {
            match requests::wait_for_one(&objects).and_then(|place| Some((place, objects[place].as_ref()?))) {
                None => {
                    indx.set(UNDEFINED.into());
                    status.put(0, &Status::EMPTY);
                    0
                }
                Some((place, object)) => {
                    indx.set(place as i64);
                    finish("MPI_Waitany", array_of_requests, place, object, status)
                }
            }
        }
    }
}

pub fn testany(
    count: i32,
    array_of_requests: Handles<Request>,
    indx: IntOut,
    flag: IntOut,
    status: StatusOut,
) -> i32 {
    match all(count, array_of_requests) {
        Err(why) => nowhere("MPI_Testany", &why),
        Ok(objects) => {
            let active = |object: &&Arc<Object>| object.is_active();
            if objects.iter().flatten().filter(active).count() == 0 {
                indx.set(UNDEFINED.into());
                flag.flag(true);
                status.put(0, &Status::EMPTY);
                return 0;
            }
            for (place, object) in objects.iter().enumerate() {
                let Some(object) = object.as_ref().filter(|object| object.is_active() && object.has_ended())
                else {
                    continue;
                };
                indx.set(place as i64);
                flag.flag(true);
                return finish("MPI_Testany", array_of_requests, place, object, status);
            }
            indx.set(UNDEFINED.into());
            flag.flag(false);
            0
        }
    }
}

/// Takes the ends of those that have ended.
fn finish_some(
    call: &str,
    objects: &[Option<Arc<Object>>],
    requests: Handles<Request>,
    (outcount, indices): (IntOut, IntOut),
    statuses: StatusOut,
) -> i32 {
    let is_active = |object: &&Arc<Object>| object.is_active();
    if objects.iter().flatten().filter(is_active).count() == 0 {
        outcount.set(UNDEFINED.into());
        return 0;
    }
    let mut ends = Vec::new();
    let mut failed: Option<(Arc<Object>, Error)> = None;
    for (place, object) in objects.iter().enumerate() {
        let Some(object) = object.as_ref().filter(|object| object.is_active() && object.has_ended()) else {
            continue;
        };
        let (ended, handle) = take(requests.get(place), object);
        requests.put(place, handle);
        indices.put(ends.len(), place as i64);
        if let Err(why) = &ended {
            failed.get_or_insert_with(|| (Arc::clone(object), why.clone()));
        }
        ends.push(ended);
    }
    outcount.set(ends.len() as i64);
    let failed = failed.map(|(object, why)| (object.comm.clone(), error(ERR_IN_STATUS, why.text)));
    for (place, ended) in ends.into_iter().enumerate() {
        match ended {
            Ok(status) if failed.is_none() => {
                let error = statuses.get(place).error;
                statuses.put(place, &Status { error, ..status });
            }
            Ok(status) => statuses.put(place, &status),
            Err(why) => statuses.put(place, &of_failed(&why)),
        }
    }
    failed.map_or(0, |(comm, why)| of_request(call, comm.as_deref(), &why))
}

pub fn waitsome(
    incount: i32,
    array_of_requests: Handles<Request>,
    outcount: IntOut,
    array_of_indices: IntOut,
    array_of_statuses: StatusOut,
) -> i32 {
    match all(incount, array_of_requests) {
        Err(why) => nowhere("MPI_Waitsome", &why),
        Ok(objects) => {
            let _first = requests::wait_for_one(&objects);
            let places = (outcount, array_of_indices);
            finish_some("MPI_Waitsome", &objects, array_of_requests, places, array_of_statuses)
        }
    }
}

pub fn testsome(
    incount: i32,
    array_of_requests: Handles<Request>,
    outcount: IntOut,
    array_of_indices: IntOut,
    array_of_statuses: StatusOut,
) -> i32 {
    match all(incount, array_of_requests) {
        Err(why) => nowhere("MPI_Testsome", &why),
        Ok(objects) => {
            let places = (outcount, array_of_indices);
            finish_some("MPI_Testsome", &objects, array_of_requests, places, array_of_statuses)
        }
    }
}

/// What a look finds at a request, which stays as it is.
enum Seen {
    /// It is not active, or there is none.
    Inactive,
    UnderWay,
    Ended(Result<Status>),
}

fn look(request: Option<&Object>) -> Seen {
    let Some(request) = request.filter(|request| request.is_active()) else { return Seen::Inactive };
    if !request.has_ended() {
        return Seen::UnderWay;
    }
    match &request.generalized {
        Some(generalized) => Seen::Ended(generalized.query()),
        None => request.end().map_or(Seen::UnderWay, Seen::Ended),
    }
}

/// Whose error handler is called.
fn comm_of(request: Option<&Arc<Object>>) -> Option<&Held> {
    request?.comm.as_ref()
}

/// Gives each its status. What is wrong with one is there, and the communicator of the first such one is told.
fn show_each(call: &str, seen: Vec<(Option<Held>, Result<Status>)>, statuses: StatusOut) -> i32 {
    let mut failed = None;
    for (place, (comm, ended)) in seen.into_iter().enumerate() {
        match ended {
            Ok(status) => statuses.put(place, &status),
            Err(why) => {
                statuses.put(place, &of_failed(&why));
                failed.get_or_insert((comm, error(ERR_IN_STATUS, why.text)));
            }
        }
    }
    failed.map_or(0, |(comm, why)| of_request(call, comm.as_deref(), &why))
}

pub fn request_get_status(request: Request, flag: IntOut, status: StatusOut) -> i32 {
    let call = "MPI_Request_get_status";
    let object = match get(request) {
        Err(why) => return nowhere(call, &why),
        Ok(object) => object,
    };
    if let Some(Err(why)) = object.as_ref().map(|object| object.refuse_inside("look at the request")) {
        return of_request(call, comm_of(object.as_ref()).map(|comm| &**comm), &why);
    }
    let seen = look(object.as_deref());
    flag.flag(!matches!(seen, Seen::UnderWay));
    match seen {
        Seen::Inactive => {
            status.put(0, &Status::EMPTY);
            0
        }
        Seen::UnderWay => 0,
        Seen::Ended(ended) => say(call, comm_of(object.as_ref()), ended, status),
    }
}

pub fn request_get_status_all(
    count: i32,
    array_of_requests: Handles<Request>,
    flag: IntOut,
    array_of_statuses: StatusOut,
) -> i32 {
    let call = "MPI_Request_get_status_all";
    let objects = match all(count, array_of_requests) {
        Err(why) => return nowhere(call, &why),
        Ok(objects) => objects,
    };
    // Each makes progress, whatever the others have come to.
    let found = objects.iter().map(|object| match look(object.as_deref()) {
        Seen::Inactive => Some((None, Ok(Status::EMPTY))),
        Seen::UnderWay => None,
        Seen::Ended(ended) => Some((comm_of(object.as_ref()).cloned(), ended)),
    });
    let found: Vec<_> = found.collect();
    let have_ended = found.iter().all(Option::is_some);
    flag.flag(have_ended);
    if have_ended { show_each(call, found.into_iter().flatten().collect(), array_of_statuses) } else { 0 }
}

pub fn request_get_status_any(
    count: i32,
    array_of_requests: Handles<Request>,
    indx: IntOut,
    flag: IntOut,
    status: StatusOut,
) -> i32 {
    let call = "MPI_Request_get_status_any";
    let objects = match all(count, array_of_requests) {
        Err(why) => return nowhere(call, &why),
        Ok(objects) => objects,
    };
    let mut live = false;
    for (place, object) in objects.iter().enumerate() {
        match look(object.as_deref()) {
            Seen::Inactive => {}
            Seen::UnderWay => live = true,
            Seen::Ended(ended) => {
                indx.set(place as i64);
                flag.flag(true);
                return say(call, comm_of(object.as_ref()), ended, status);
            }
        }
    }
    indx.set(UNDEFINED.into());
    flag.flag(!live);
    if !live {
        status.put(0, &Status::EMPTY);
    }
    0
}

pub fn request_get_status_some(
    incount: i32,
    array_of_requests: Handles<Request>,
    outcount: IntOut,
    array_of_indices: IntOut,
    array_of_statuses: StatusOut,
) -> i32 {
    let call = "MPI_Request_get_status_some";
    let objects = match all(incount, array_of_requests) {
        Err(why) => return nowhere(call, &why),
        Ok(objects) => objects,
    };
    let (mut live, mut found) = (false, Vec::new());
    for (place, object) in objects.iter().enumerate() {
        match look(object.as_deref()) {
            Seen::Inactive => continue,
            Seen::UnderWay => {}
            Seen::Ended(ended) => {
                array_of_indices.put(found.len(), place as i64);
                found.push((comm_of(object.as_ref()).cloned(), ended));
            }
        }
        live = true;
    }
    outcount.set(if live { found.len() as i64 } else { UNDEFINED.into() });
    show_each(call, found, array_of_statuses)
}

pub fn request_free(request: Handles<Request>) -> i32 {
    on_none("MPI_Request_free", || {
        freed::free(request.get(0))?;
        request.set(Request::NULL);
        Ok(())
    })
}

pub fn cancel(request: Handles<Request>) -> i32 {
    on_request("MPI_Cancel", request.get(0), |request| request.cancel())
}

pub fn start(request: Handles<Request>) -> i32 {
    on_request("MPI_Start", request.get(0), |request| request.start())
}

pub fn startall(count: i32, array_of_requests: Handles<Request>) -> i32 {
    let call = "MPI_Startall";
    match vec(count, array_of_requests) {
        Err(why) => nowhere(call, &why),
        Ok(handles) => {
            let mut codes =
                handles.into_iter().map(|handle| on_request(call, handle, |request| request.start()));
            codes.find(|code| *code != 0).unwrap_or(0)
        }
    }
}

pub fn test_cancelled(status: StatusOut, flag: IntOut) -> i32 {
    flag.flag(status.get(0).cancelled);
    0
}

pub fn status_set_cancelled(status: StatusOut, flag: i32) -> i32 {
    let known = status.get(0);
    status.put(0, &Status { cancelled: flag != 0, ..known });
    0
}

pub fn status_set_elements(status: StatusOut, datatype: Datatype, count: i64) -> i32 {
    on_none("MPI_Status_set_elements", || {
        let bytes = match count {
            count if count == i64::from(UNDEFINED) => -1,
            count => count.saturating_mul(datatypes::get(datatype)?.size as i64),
        };
        status.put(0, &Status { bytes, ..status.get(0) });
        Ok(())
    })
}

pub fn status_set_elements_x(status: StatusOut, datatype: Datatype, count: i64) -> i32 {
    status_set_elements(status, datatype, count)
}

pub fn status_set_source(status: StatusOut, source: i32) -> i32 {
    status.put(0, &Status { source, ..status.get(0) });
    0
}

pub fn status_set_tag(status: StatusOut, tag: i32) -> i32 {
    status.put(0, &Status { tag, ..status.get(0) });
    0
}

pub fn status_set_error(status: StatusOut, error: i32) -> i32 {
    status.put(0, &Status { error, ..status.get(0) });
    0
}

pub fn status_get_source(status: StatusOut, source: IntOut) -> i32 {
    source.set(status.get(0).source.into());
    0
}

pub fn status_get_tag(status: StatusOut, tag: IntOut) -> i32 {
    tag.set(status.get(0).tag.into());
    0
}

pub fn status_get_error(status: StatusOut, error: IntOut) -> i32 {
    error.set(status.get(0).error.into());
    0
}

pub fn grequest_start(
    query_fn: Address,
    free_fn: Address,
    cancel_fn: Address,
    extra_state: Address,
    request: Handles<Request>,
) -> i32 {
    let generalized = Arc::new(Generalized {
        query: query_fn.into(),
        free: free_fn.into(),
        cancel: cancel_fn.into(),
        extra: extra_state.exposed(),
        state: AtomicU8::new(0),
    });
    let of = Arc::clone(&generalized);
    // What its status is, whoever takes its end asks the program.
    let work = Work::Poll(Box::new(move || of.is_complete().then_some(Ok(Status::EMPTY))));
    request.set(requests::generalized(work, generalized));
    0
}

pub fn grequest_complete(request: Request) -> i32 {
    on_request("MPI_Grequest_complete", request, |_| requests::complete(request))
}
