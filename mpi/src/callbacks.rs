//! Calls of functions of the program, for the libraries: in each the arguments are of its own ABI.

/// Defines `call_errhandler`, `call_copy`, `call_delete`, `call_op`, `call_query`, `call_free` and `call_cancel` of a
/// [`Host`](crate::host::Host). Beside it there are the type `MPI_Status`, `HOST`, `error_in` and `keyval_out`;
/// `$handle` is the type of handles.
#[macro_export]
macro_rules! callbacks {
    ($handle:ty) => {
        /// A handle as programs see it.
        fn told(kind: Kind, object: usize) -> $handle {
            (HOST.handle_out)(kind, object) as $handle
        }

        unsafe fn call_errhandler(function: Function, kind: Kind, object: usize, code: i32) {
            let (mut object, mut code) = (told(kind, object), (HOST.error_out)(code));
            type Handler = unsafe extern "C" fn(*mut $handle, *mut c_int);
            let pointer: *const () = std::ptr::with_exposed_provenance(function.0);
            // SAFETY: the caller says that it is an error handler. It may take more arguments, none of which it looks
            // at.
            let handler: Handler = unsafe { std::mem::transmute(pointer) };
            // SAFETY: as above.
            unsafe { handler(&mut object, &mut code) }
        }

        unsafe fn call_copy(
            function: Function,
            kind: Kind,
            object: usize,
            key: i32,
            extra: usize,
            value: usize,
        ) -> Result<Option<usize>, i32> {
            type Copy = unsafe extern "C" fn($handle, c_int, usize, usize, *mut usize, *mut c_int) -> c_int;
            let pointer: *const () = std::ptr::with_exposed_provenance(function.0);
            // SAFETY: the caller says that it copies attributes; pointers and `usize` are passed alike.
            let copy: Copy = unsafe { std::mem::transmute(pointer) };
            let (mut made, mut flag) = (0, 0);
            // SAFETY: as above.
            match unsafe { copy(told(kind, object), keyval_out(key), extra, value, &mut made, &mut flag) } {
                0 => Ok((flag != 0).then_some(made)),
                code => Err(error_in(code)),
            }
        }

        unsafe fn call_delete(
            function: Function,
            kind: Kind,
            object: usize,
            key: i32,
            value: usize,
            extra: usize,
        ) -> i32 {
            type Delete = unsafe extern "C" fn($handle, c_int, usize, usize) -> c_int;
            let pointer: *const () = std::ptr::with_exposed_provenance(function.0);
            // SAFETY: the caller says that it deletes attributes.
            let delete: Delete = unsafe { std::mem::transmute(pointer) };
            // SAFETY: as above.
            error_in(unsafe { delete(told(kind, object), keyval_out(key), value, extra) })
        }

        unsafe fn call_op(
            function: Function,
            left: *mut c_void,
            right: *mut c_void,
            count: i64,
            datatype: Datatype,
            wide: bool,
        ) {
            type Narrow = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut $handle);
            type Wide = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut i64, *mut $handle);
            let mut datatype = told(Kind::Datatype, datatype.0);
            let pointer: *const () = std::ptr::with_exposed_provenance(function.0);
            if wide {
                // SAFETY: the caller says that it is an operation with large counts.
                let operation: Wide = unsafe { std::mem::transmute(pointer) };
                let mut count = count;
                // SAFETY: as above.
                unsafe { operation(left, right, &mut count, &mut datatype) }
            } else {
                // SAFETY: the caller says that it is an operation, and gives no more elements than it can take.
                let operation: Narrow = unsafe { std::mem::transmute(pointer) };
                let mut count = count as c_int;
                // SAFETY: as above.
                unsafe { operation(left, right, &mut count, &mut datatype) }
            }
        }

        unsafe fn call_query(function: Function, extra: usize, status: &mut Status) -> i32 {
            type Query = unsafe extern "C" fn(usize, *mut MPI_Status) -> c_int;
            let pointer: *const () = std::ptr::with_exposed_provenance(function.0);
            // SAFETY: the caller says that it fills in a status.
            let query: Query = unsafe { std::mem::transmute(pointer) };
            let mut written = MPI_Status::default();
            let place: *mut MPI_Status = &mut written;
            // SAFETY: it is a status.
            unsafe { write_status(place.cast(), status) };
            // SAFETY: as above.
            let code = unsafe { query(extra, place) };
            // SAFETY: it still is a status.
            *status = unsafe { read_status(place.cast()) };
            error_in(code)
        }

        unsafe fn call_free(function: Function, extra: usize) -> i32 {
            type Free = unsafe extern "C" fn(usize) -> c_int;
            let pointer: *const () = std::ptr::with_exposed_provenance(function.0);
            // SAFETY: the caller says that it frees a request.
            let free: Free = unsafe { std::mem::transmute(pointer) };
            // SAFETY: as above.
            error_in(unsafe { free(extra) })
        }

        unsafe fn call_cancel(function: Function, extra: usize, complete: bool) -> i32 {
            type Cancel = unsafe extern "C" fn(usize, c_int) -> c_int;
            let pointer: *const () = std::ptr::with_exposed_provenance(function.0);
            // SAFETY: the caller says that it cancels a request.
            let cancel: Cancel = unsafe { std::mem::transmute(pointer) };
            // SAFETY: as above.
            error_in(unsafe { cancel(extra, complete.into()) })
        }
    };
}
