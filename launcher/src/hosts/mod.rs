//! Hosts of a job as its user names them, and the command that leads there: what `--hosts`, `--hostfile` and `--rsh` of
//! `ringworld run` say. Pure. What happens there is in `run::hosts`.

mod list;
mod rsh;

pub(crate) use list::{Share, Slots, alike};
pub(crate) use rsh::Rsh;
