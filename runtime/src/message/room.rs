//! Memory for what comes, which may be more than there is.

use bytemuck::Pod;

use crate::{Error, Result};

/// Memory of so many elements for a call.
pub(crate) fn room<T: Pod>(length: usize, operation: impl FnOnce() -> String) -> Result<Vec<T>> {
    let mut elements = Vec::new();
    elements
        .try_reserve_exact(length)
        .map_err(|error| Error::System { operation: operation(), cause: error.to_string() })?;
    elements.resize(length, T::zeroed());
    Ok(elements)
}
