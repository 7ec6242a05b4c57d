//! Info objects: keys and values, both of them text.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Result, fail};
use crate::objects::Table;
use crate::standard::{
    self, ERR_INFO, ERR_INFO_KEY, ERR_INFO_NOKEY, ERR_INFO_VALUE, MAX_INFO_KEY, MAX_INFO_VAL,
};

/// Keys and values, in the order in which they were set.
#[derive(Debug, Default)]
pub(crate) struct Info {
    pairs: Mutex<Vec<(String, String)>>,
}

static MADE: Table<Info> = Table::new();

pub(crate) fn insert(info: Info) -> standard::Info {
    standard::Info(MADE.insert(Arc::new(info)))
}

pub(crate) fn get(handle: standard::Info) -> Result<Arc<Info>> {
    if handle == standard::Info::ENV {
        return Ok(Arc::new(Info::environment()));
    }
    MADE.get(handle.0).map_or_else(|| fail(ERR_INFO, format!("{:#x} is no info", handle.0)), Ok)
}

/// Of an argument that may be none.
pub(crate) fn optional(handle: standard::Info) -> Result<Option<Arc<Info>>> {
    if handle == standard::Info::NULL { Ok(None) } else { get(handle).map(Some) }
}

pub(crate) fn remove(handle: standard::Info) -> Result<()> {
    match MADE.remove(handle.0) {
        Some(_) => Ok(()),
        None => fail(ERR_INFO, format!("{:#x} is no info that can be freed", handle.0)),
    }
}

impl Info {
    /// What is known of how this process was started.
    pub(crate) fn environment() -> Self {
        let info = Self::default();
        let arguments: Vec<String> =
            std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect();
        if let Some((command, rest)) = arguments.split_first() {
            let _ = info.set(command_key(), command.clone());
            let _ = info.set("argv".into(), rest.join(" "));
        }
        let _ = info.set("thread_level".into(), "MPI_THREAD_MULTIPLE".into());
        info
    }

    fn pairs(&self) -> MutexGuard<'_, Vec<(String, String)>> {
        self.pairs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self, key: String, value: String) -> Result<()> {
        check_key(&key)?;
        if value.len() > MAX_INFO_VAL {
            return fail(
                ERR_INFO_VALUE,
                format!("the value has {} bytes; {MAX_INFO_VAL} are allowed", value.len()),
            );
        }
        let mut pairs = self.pairs();
        match pairs.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) => *known = value,
            None => pairs.push((key, value)),
        }
        Ok(())
    }

    pub(crate) fn get(&self, key: &str) -> Result<Option<String>> {
        check_key(key)?;
        Ok(self.pairs().iter().find(|(known, _)| known == key).map(|(_, value)| value.clone()))
    }

    pub(crate) fn delete(&self, key: &str) -> Result<()> {
        check_key(key)?;
        let mut pairs = self.pairs();
        match pairs.iter().position(|(known, _)| known == key) {
            Some(place) => {
                pairs.remove(place);
                Ok(())
            }
            None => fail(ERR_INFO_NOKEY, format!("there is no key {key:?}")),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.pairs().len()
    }

    pub(crate) fn key(&self, place: i64) -> Result<String> {
        let pairs = self.pairs();
        match usize::try_from(place).ok().and_then(|place| pairs.get(place)) {
            Some((key, _)) => Ok(key.clone()),
            None => fail(standard::ERR_ARG, format!("there is no key {place} of {}", pairs.len())),
        }
    }

    /// Takes from another one what a communicator keeps of its hints: what the program promises. There is no other hint
    /// that anything depends on, and those that are ignored must not be given back.
    pub(crate) fn take_promises(&self, of: &Self) {
        for (key, value) in of.pairs().iter().filter(|(key, _)| key.starts_with("mpi_assert_")) {
            // It has been set before, so it can be.
            let _ = self.set(key.clone(), value.clone());
        }
    }

    pub(crate) fn copy(&self) -> Self {
        Self { pairs: Mutex::new(self.pairs().clone()) }
    }
}

fn command_key() -> String {
    "command".into()
}

/// The longest key: the standard's room for one has the byte at the end, too.
const LONGEST_KEY: usize = MAX_INFO_KEY - 1;

fn check_key(key: &str) -> Result<()> {
    if key.is_empty() || key.len() > LONGEST_KEY {
        return fail(
            ERR_INFO_KEY,
            format!("the key has {} bytes; it must have 1 to {LONGEST_KEY}", key.len()),
        );
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn promises_are_kept_beside_those_of_before_and_nothing_else_is() {
        let given = |pairs: &[(&str, &str)]| {
            let info = Info::default();
            pairs.iter().for_each(|(key, value)| info.set((*key).into(), (*value).into()).unwrap());
            info
        };
        let kept = Info::default();
        kept.take_promises(&given(&[("mpi_assert_no_any_tag", "true"), ("color", "red")]));
        kept.take_promises(&given(&[("mpi_assert_exact_length", "true")]));
        assert_eq!(kept.get("mpi_assert_no_any_tag").unwrap().as_deref(), Some("true"));
        assert_eq!(kept.get("mpi_assert_exact_length").unwrap().as_deref(), Some("true"));
        assert_eq!(kept.len(), 2);
    }
}
