//! The kinds of handles.

/// The kinds of handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `MPI_Comm`
    Comm,
    /// `MPI_Group`
    Group,
    /// `MPI_Datatype`
    Datatype,
    /// `MPI_Op`
    Op,
    /// `MPI_Request`
    Request,
    /// `MPI_Message`
    Message,
    /// `MPI_Info`
    Info,
    /// `MPI_Errhandler`
    Errhandler,
    /// `MPI_Session`
    Session,
    /// `MPI_Win`
    Win,
    /// `MPI_File`
    File,
}

/// A kind of handle, as a type.
pub trait Handle: From<usize> + Into<usize> + Copy {
    /// Which.
    const KIND: Kind;
}
