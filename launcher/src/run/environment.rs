//! The variables the ranks see. Pure: options in, a list of changes out.
//!
//! Invariant: a rank hears one story. Whatever an outer scheduler or an outer launcher said about ranks,
//! sizes and the rendezvous is removed, because it describes the launcher and not its ranks; everything
//! else is inherited. What the launcher itself decides cannot be overridden with `--env`.

use super::restart::{Bounds, REJOIN};
use crate::cli::{Assignment, Endpoint};
use ringworld_bootstrap::KNOBS;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;

/// Settings that say who a rank is and where the job meets: the launcher's to decide.
const PLACE: [&str; 10] = [
    "master_node",
    "master_port",
    "num_nodes",
    "world_size",
    "rank",
    "local_rank",
    "local_world_size",
    "master_external",
    "parent_pid",
    "secret_fd",
];

/// Names the launcher to its ranks and to whatever they start.
pub(crate) const PARENT: &str = "RINGWORLD_PARENT_PID";

/// Families of scheduler variables, besides those in the table of settings.
const FOREIGN: [&str; 13] = [
    "OMPI_COMM_WORLD_",
    "OMPI_UNIVERSE_SIZE",
    "PMI_",
    "PMIX_",
    "PMI2_",
    "MPI_LOCAL",
    "SLURM_NTASKS",
    "SLURM_NPROCS",
    "SLURM_NNODES",
    "SLURM_JOB_NUM_NODES",
    "SLURM_NODELIST",
    "SLURM_STEP_",
    "TORCHELASTIC_",
];

/// Where the ranks of the job meet.
#[derive(Clone, Debug)]
pub(crate) enum Rendezvous {
    /// On this host, served by the launcher at this port of 127.0.0.1.
    Here { port: u16 },
    /// At a host of the job, served by the first rank there.
    There { master: Endpoint, nodes: usize },
    /// Where the launcher of the whole job serves; the ranks of this host are a part of all of them. A number of hosts
    /// is told only where each has as many ranks, as everybody takes it to say.
    Above { master: Endpoint, nodes: Option<usize>, first: usize, all: usize },
}

/// Everything that the variables depend on.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) ranks: usize,
    pub(crate) rendezvous: Rendezvous,
    /// The launcher's process.
    pub(crate) parent: u32,
    /// The descriptor that hands over the secret made for this job; `None` when the user gave one, which is inherited.
    pub(crate) secret: Option<OwnedFd>,
    /// The name made for this job; `None` when the user gave one, which is inherited.
    pub(crate) job: Option<String>,
    /// Variables of the launcher of the whole job, where that is elsewhere.
    pub(crate) passed: Vec<(OsString, OsString)>,
    /// How many threads a rank is to have, for those libraries that else have one on each processor of the host.
    pub(crate) threads: Option<usize>,
    /// The world is to go on after failures.
    pub(crate) elastic: Option<Bounds>,
}

/// What those libraries read.
const THREADS: [&str; 2] = ["OMP_NUM_THREADS", "RAYON_NUM_THREADS"];

/// Changes to the inherited environment: a value to set, or `None` to remove the variable.
pub(crate) type Changes = BTreeMap<OsString, Option<OsString>>;

impl Plan {
    /// For so many ranks of this host, which are told nothing but who they are and where they meet.
    pub(crate) fn new(ranks: usize, rendezvous: Rendezvous) -> Self {
        Self {
            ranks,
            rendezvous,
            parent: std::process::id(),
            secret: None,
            job: None,
            passed: Vec::new(),
            threads: None,
            elastic: None,
        }
    }

    /// The changes for the rank with this place among those of this host, which works in `folder` if not where the
    /// launcher does.
    pub(crate) fn changes<'n>(
        &self,
        local: usize,
        env: &[Assignment],
        folder: Option<&Path>,
        inherited: impl Iterator<Item = &'n OsStr>,
    ) -> Changes {
        let owned = owned();
        let above = matches!(self.rendezvous, Rendezvous::Above { .. });
        let mut unset = THREADS.to_vec();
        unset.retain(|name| !self.passed.iter().any(|(passed, _)| passed == name));
        let mut changes: Changes = inherited
            .inspect(|name| unset.retain(|other| *name != *other))
            .filter(|name| {
                name.to_str().is_some_and(|name| {
                    // A host has no settings of its own where the job's are passed on.
                    owned.contains(name) || is_foreign(name) || name == REJOIN || above && is_setting(name)
                })
            })
            .map(|name| (name.to_owned(), None))
            .collect();
        changes.extend(self.passed.iter().map(|(name, value)| (name.clone(), Some(value.clone()))));
        let mut set = |name: &str, value: String| changes.insert(name.into(), Some(value.into()));
        match &self.rendezvous {
            Rendezvous::Here { port } => {
                set("MASTER_NODE", "127.0.0.1".to_owned());
                set("MASTER_PORT", port.to_string());
                set("NUM_NODES", "1".to_owned());
                set("WORLD_SIZE", self.ranks.to_string());
                set("RANK", local.to_string());
                set("RINGWORLD_MASTER_EXTERNAL", "1".to_owned());
            }
            Rendezvous::There { master, nodes } => {
                set("MASTER_NODE", master.host.clone());
                set("MASTER_PORT", master.port.to_string());
                set("NUM_NODES", nodes.to_string());
                set("WORLD_SIZE", nodes.saturating_mul(self.ranks).to_string());
            }
            Rendezvous::Above { master, nodes, first, all } => {
                set("MASTER_NODE", master.host.clone());
                set("MASTER_PORT", master.port.to_string());
                if let Some(nodes) = nodes {
                    set("NUM_NODES", nodes.to_string());
                }
                set("WORLD_SIZE", all.to_string());
                set("RANK", first.saturating_add(local).to_string());
                set("RINGWORLD_MASTER_EXTERNAL", "1".to_owned());
            }
        }
        set("LOCAL_RANK", local.to_string());
        set("LOCAL_WORLD_SIZE", self.ranks.to_string());
        set(PARENT, self.parent.to_string());
        if let Some(secret) = &self.secret {
            set("RINGWORLD_SECRET_FD", secret.as_raw_fd().to_string());
        }
        if let Some(job) = &self.job {
            set("RINGWORLD_JOB", job.clone());
        }
        for (name, value) in self.elastic.iter().flat_map(|bounds| bounds.variables()) {
            set(name, value);
        }
        if let Some(threads) = self.threads {
            for name in unset {
                set(name, threads.to_string());
            }
        }
        for Assignment { key, value } in env {
            set(key, value.clone());
        }
        if let Some(folder) = folder {
            // As `cd` does; some programs believe it.
            changes.insert("PWD".into(), Some(folder.into()));
        }
        changes
    }
}

/// Refuses `--env` for a variable that the launcher decides.
///
/// # Errors
///
/// A sentence that names the variable and what to use instead.
pub(crate) fn check(env: &[Assignment]) -> Result<(), String> {
    let owned = owned();
    if env.iter().any(|assignment| assignment.key == "RINGWORLD_SECRET") {
        return Err("--env RINGWORLD_SECRET: every user of this host can read command lines; put the secret into a file \
                    that only you can read, and give --env RINGWORLD_SECRET_FILE=PATH, or set the variable in the shell"
            .to_owned());
    }
    match env.iter().find(|assignment| owned.contains(&assignment.key)) {
        Some(Assignment { key, .. }) => Err(format!(
            "--env {key}: this variable is set by the launcher; use -n, --nnodes and --master to shape the job"
        )),
        None => Ok(()),
    }
}

/// Those variables of this process that the ranks of other hosts are to have: all settings, but those that say who a
/// rank is, and secrets, which go another way; and how many threads it may have.
pub(crate) fn passed_on(env: impl Iterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let owned = owned();
    let is_passed = |name: &str| {
        let wanted = is_setting(name) || THREADS.contains(&name);
        wanted && !owned.contains(name) && !is_foreign(name) && !is_secret(name) && name != REJOIN
    };
    env.filter(|(name, _)| name.to_str().is_some_and(is_passed)).collect()
}

/// Whether the variable says what the secret is, or where.
pub(crate) fn is_secret(name: &str) -> bool {
    ["RINGWORLD_SECRET", "RINGWORLD_SECRET_FILE", "RINGWORLD_SECRET_FD"].contains(&name)
}

/// Whether it is any setting's, by whatever name.
fn is_setting(name: &str) -> bool {
    name.starts_with("RINGWORLD_")
        || KNOBS.iter().any(|knob| knob.aliases.contains(&name) || knob.schedulers.contains(&name))
}

/// Every name under which a [`PLACE`] setting can be said.
fn owned() -> BTreeSet<String> {
    let of_place = KNOBS.iter().filter(|knob| PLACE.contains(&knob.key));
    of_place
        .flat_map(|knob| {
            let names = knob.aliases.iter().chain(knob.schedulers).map(|&name| name.to_owned());
            names.chain([knob.env()])
        })
        .collect()
}

fn is_foreign(name: &str) -> bool {
    FOREIGN.iter().any(|family| name.starts_with(family))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> Plan {
        Plan {
            ranks: 4,
            rendezvous: Rendezvous::Here { port: 4000 },
            parent: 99,
            secret: None,
            job: Some("j".to_owned()),
            passed: Vec::new(),
            threads: None,
            elastic: None,
        }
    }

    fn shown(changes: &Changes) -> Vec<String> {
        let text = |text: &OsString| text.to_string_lossy().into_owned();
        changes
            .iter()
            .map(|(name, value)| format!("{}={}", text(name), value.as_ref().map_or("-".to_owned(), text)))
            .collect()
    }

    #[test]
    fn a_rank_of_one_host_is_told_everything() {
        let secret = OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
        let number = format!("RINGWORLD_SECRET_FD={}", secret.as_raw_fd());
        let plan = Plan { secret: Some(secret), ..here() };
        assert_eq!(
            shown(&plan.changes(2, &[], None, std::iter::empty())),
            [
                "LOCAL_RANK=2",
                "LOCAL_WORLD_SIZE=4",
                "MASTER_NODE=127.0.0.1",
                "MASTER_PORT=4000",
                "NUM_NODES=1",
                "RANK=2",
                "RINGWORLD_JOB=j",
                "RINGWORLD_MASTER_EXTERNAL=1",
                "RINGWORLD_PARENT_PID=99",
                &number,
                "WORLD_SIZE=4",
            ]
        );
    }

    #[test]
    fn with_several_hosts_the_master_gives_the_ranks_out() {
        let master = Endpoint { host: "n0".to_owned(), port: 29500 };
        let plan = Plan { rendezvous: Rendezvous::There { master, nodes: 3 }, job: None, ..here() };
        assert_eq!(
            shown(&plan.changes(1, &[], None, ["RANK", "RINGWORLD_RANK"].map(OsStr::new).into_iter())),
            [
                "LOCAL_RANK=1",
                "LOCAL_WORLD_SIZE=4",
                "MASTER_NODE=n0",
                "MASTER_PORT=29500",
                "NUM_NODES=3",
                "RANK=-",
                "RINGWORLD_PARENT_PID=99",
                "RINGWORLD_RANK=-",
                "WORLD_SIZE=12",
            ]
        );
    }

    #[test]
    fn what_an_outer_scheduler_said_is_not_inherited() {
        let outer = [
            "OMPI_COMM_WORLD_RANK",
            "PMI_RANK",
            "PMIX_RANK",
            "SLURM_PROCID",
            "SLURM_STEP_ID",
            "SLURM_STEP_NUM_TASKS",
            "SLURM_NTASKS",
            "TORCHELASTIC_RUN_ID",
            "JOB_COMPLETION_INDEX",
            "MASTER_ADDR",
            "RINGWORLD_SECRET_FD",
        ];
        let kept = [
            "PATH",
            "OMPI_MCA_btl",
            "SLURM_JOB_ID",
            "RINGWORLD_TIMEOUT",
            "RINGWORLD_IF_INCLUDE",
            "NCCL_IB_HCA",
            "RDMAV_DRIVERS",
            "IBV_DRIVERS",
        ];
        let changes = here().changes(0, &[], None, outer.iter().chain(&kept).map(OsStr::new));
        for name in outer {
            assert_eq!(changes.get(OsStr::new(name)), Some(&None), "{name}");
        }
        for name in kept {
            assert_eq!(changes.get(OsStr::new(name)), None, "{name}");
        }
    }

    #[test]
    fn assignments_are_given_on_and_never_contradict_the_launcher() {
        let assign = |text: &str| vec![text.parse::<Assignment>().unwrap()];
        let env = assign("A=b=c");
        let changes = here().changes(0, &env, None, std::iter::empty());
        assert_eq!(changes.get(OsStr::new("A")), Some(&Some("b=c".into())));
        for taken in ["RANK=1", "RINGWORLD_WORLD_SIZE=9", "MASTER_ADDR=x", "SLURM_PROCID=1"] {
            assert!(check(&assign(taken)).unwrap_err().contains("set by the launcher"), "{taken}");
        }
        assert_eq!(check(&assign("RINGWORLD_SECRET_FILE=x")), Ok(()));
    }

    #[test]
    fn threads_are_counted_where_nobody_has() {
        let env = vec!["OMP_NUM_THREADS=7".parse::<Assignment>().unwrap()];
        let plan = Plan { threads: Some(3), ..here() };
        let of = |changes: &Changes, name: &str| changes.get(OsStr::new(name)).cloned();
        let changes = plan.changes(0, &[], None, std::iter::empty());
        for name in THREADS {
            assert_eq!(of(&changes, name), Some(Some("3".into())), "{name}");
        }
        let changes = plan.changes(0, &env, None, std::iter::once(OsStr::new("RAYON_NUM_THREADS")));
        assert_eq!(of(&changes, "OMP_NUM_THREADS"), Some(Some("7".into())));
        assert_eq!(of(&changes, "RAYON_NUM_THREADS"), None, "what is inherited stays");
    }

    #[test]
    fn a_secret_does_not_stand_on_a_command_line() {
        let text = check(&["RINGWORLD_SECRET=hush".parse().unwrap()]).unwrap_err();
        assert!(text.contains("RINGWORLD_SECRET_FILE") && !text.contains("hush"), "{text}");
    }
}
