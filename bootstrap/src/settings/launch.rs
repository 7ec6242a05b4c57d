//! Which launcher started this process, what it may say of it, and which job that makes this one.
//!
//! Launchers nest: `mpirun` runs inside a batch script, which Slurm started, perhaps in a container of Kubernetes. The
//! innermost speaks, the others describe what started it. Slurm describes a process only where `srun` started it: its
//! variables are in batch scripts and shells of allocations too, and mean the whole allocation there.
//!
//! Pure: an environment in, answers out. Neighbour: `gather` asks.

use std::collections::BTreeMap;
use std::hash::Hasher as _;
use std::os::fd::RawFd;

use fnv::FnvHasher;

use super::error::SettingsError;
use super::parse;

/// Step numbers from here on are no steps of `srun`: batch scripts, shells of `salloc`, and the like.
const SPECIAL_STEPS: u64 = 0xffff_fff0;
/// Ports of jobs that are not told one: below those that Linux gives to outgoing connections, and not 29500.
const FIRST_PORT: u64 = 20_000;
const PORTS: u64 = 9_000;

type Env = BTreeMap<String, String>;

/// What tells this job from all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) job: String,
    pub(super) port: u16,
    /// The variables that say so.
    pub(super) source: String,
    pub(super) port_source: String,
}

/// A process manager that speaks PMI-1, as MPICH's and Intel MPI's launcher has one.
#[derive(Clone, Debug)]
pub(crate) struct Pmi {
    /// By which it is spoken to.
    pub(crate) descriptor: RawFd,
    /// What it calls this process, of how many; whatever rank this is of the world.
    pub(crate) rank: usize,
    pub(crate) size: usize,
    /// Where the rendezvous is to be served, if somebody has chosen.
    pub(crate) port: Option<u16>,
}

/// The same, as the environment has it.
#[derive(Clone, Debug)]
pub(super) struct PmiOffer {
    descriptor: String,
    rank: String,
    size: usize,
}

impl PmiOffer {
    pub(super) fn read(&self, port: Option<u16>) -> Result<Pmi, SettingsError> {
        let invalid = |name: &str, value: &str, expected: String| SettingsError::Invalid {
            origin: format!("environment {name}"),
            value: value.into(),
            expected,
        };
        let descriptor = self.descriptor.parse().ok().filter(|number| *number >= 0).ok_or_else(|| {
            let expected = "expected the descriptor of the launcher's process manager, as mpiexec sets it; set \
                            MASTER_NODE and MASTER_PORT to do without";
            invalid("PMI_FD", &self.descriptor, expected.into())
        })?;
        let rank = self.rank.parse().ok().filter(|rank| *rank < self.size);
        let last = self.size.saturating_sub(1);
        let rank =
            rank.ok_or_else(|| invalid("PMI_RANK", &self.rank, format!("expected a rank from 0 to {last}")))?;
        Ok(Pmi { descriptor, rank, size: self.size, port })
    }
}

/// What the environment says about how this process was started.
#[derive(Debug)]
pub(super) struct Launch<'a> {
    env: &'a Env,
    /// See [`super::ancestors`].
    proxy: Option<&'a str>,
    /// `mpirun` or `mpiexec` of Open MPI.
    open_mpi: bool,
    /// A launcher that speaks PMI: MPICH, Intel MPI, or `srun --mpi=pmi2`.
    pmi: bool,
    /// The same, where programs have to ask for their ranks.
    pmi_port: bool,
    /// PMIx, and not as Slurm's plug-in.
    pmix: bool,
    /// `srun`.
    step: Option<u64>,
}

impl<'a> Launch<'a> {
    pub(super) fn of(env: &'a Env, proxy: Option<&'a str>) -> Self {
        let any = |names: &[&str]| names.iter().any(|name| said(env, name).is_some());
        let number = said(env, "SLURM_STEP_ID").or_else(|| said(env, "SLURM_STEPID"));
        let step = number.and_then(|step| step.parse().ok()).filter(|step| *step < SPECIAL_STEPS);
        let described = said(env, "SLURM_JOB_ID").is_some() && said(env, "SLURM_STEP_NUM_TASKS").is_some();
        Self {
            env,
            proxy,
            open_mpi: any(&["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"]),
            pmi: any(&["PMI_RANK", "PMI_SIZE"]),
            pmi_port: said(env, "PMI_PORT").is_some() && !any(&["PMI_RANK", "PMI_SIZE"]),
            pmix: said(env, "PMIX_RANK").is_some()
                && said(env, "PMIX_NAMESPACE").is_some_and(|space| !space.starts_with("slurm.")),
            step: step.filter(|_| described),
        }
    }

    /// What a variable of a launcher says, if it describes this process.
    pub(super) fn says(&self, name: &str) -> Option<&'a str> {
        said(self.env, name).filter(|_| self.hears(name))
    }

    fn hears(&self, name: &str) -> bool {
        let mpi = self.open_mpi || self.pmi || self.pmix;
        // The launcher of MPI programs has started one rank for each task of the step, or is Slurm itself.
        let alike =
            self.pmi && !self.open_mpi && self.count("PMI_SIZE") == self.count("SLURM_STEP_NUM_TASKS");
        match name {
            "SLURM_PROCID" | "SLURM_STEP_NUM_TASKS" => self.step.is_some() && !mpi,
            "SLURM_LOCALID" | "SLURM_STEP_NUM_NODES" => self.step.is_some() && (!mpi || alike),
            // Open MPI starts ranks on its own host without a step, and those on others within one.
            "SLURM_STEP_NODELIST" => {
                self.step.is_some() && !self.open_mpi && !self.pmix && self.on_one_host().is_none()
            }
            "SLURM_JOB_NODELIST" => mpi && !self.hears("SLURM_STEP_NODELIST") && self.on_one_host().is_none(),
            // Without ranks they describe nothing.
            "MPI_LOCALRANKID" | "MPI_LOCALNRANKS" => !self.pmi_port,
            "JOB_COMPLETION_INDEX" => !mpi && self.step.is_none(),
            _ => true,
        }
    }

    /// The number of ranks that the launcher has started, if it says so.
    pub(super) fn size(&self) -> Option<usize> {
        let name = match () {
            () if self.open_mpi => "OMPI_COMM_WORLD_SIZE",
            () if self.pmi => "PMI_SIZE",
            () if self.pmix => return None,
            () if self.step.is_some() => "SLURM_STEP_NUM_TASKS",
            () => return None,
        };
        self.count(name)
    }

    /// The variable that says that all ranks are on this host, where it is known which job they are.
    pub(super) fn on_one_host(&self) -> Option<&'static str> {
        self.alone().filter(|_| self.own_identity().is_some())
    }

    /// The variable that says that all ranks are on this host.
    fn alone(&self) -> Option<&'static str> {
        let alone = |size, local: &'static str| {
            let size: Option<usize> = self.count(size);
            (size.is_some() && size == self.count(local)).then_some(local)
        };
        match () {
            () if self.open_mpi => alone("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"),
            () if self.pmi => {
                alone("PMI_SIZE", "MPI_LOCALNRANKS").or_else(|| alone("PMI_SIZE", "PMI_LOCAL_SIZE"))
            }
            () => None,
        }
    }

    /// The process manager that can tell the ranks where they meet.
    pub(super) fn pmi(&self) -> Option<PmiOffer> {
        if !self.pmi || self.open_mpi || self.pmix {
            return None;
        }
        let text = |name| said(self.env, name).map(String::from);
        Some(PmiOffer { descriptor: text("PMI_FD")?, rank: text("PMI_RANK")?, size: self.count("PMI_SIZE")? })
    }

    /// Which job a world of `size` ranks is: known only if the launcher has started exactly those. One that is put
    /// together from several, or is a part of one, is for its user to name.
    pub(super) fn identity(&self, size: usize) -> Option<Identity> {
        if let Some(run) = said(self.env, "TORCHELASTIC_RUN_ID") {
            // Its store listens at MASTER_PORT, which no other run on the same host can have.
            let place = said(self.env, "MASTER_PORT").unwrap_or("none");
            let again = said(self.env, "TORCHELASTIC_RESTART_COUNT").unwrap_or("0");
            let job = format!("torchrun-{run}-{place}-{again}");
            let source = "environment TORCHELASTIC_RUN_ID";
            return (self.count("WORLD_SIZE") == Some(size)).then(|| hashed(job, source));
        }
        (self.size() == Some(size)).then(|| self.own_identity()).flatten()
    }

    fn own_identity(&self) -> Option<Identity> {
        let names: &[&str] = match () {
            () if self.open_mpi || self.pmix => &["PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"],
            // Within a step that is Slurm's name for it, which has better ports.
            () if self.pmi && self.step.is_none() => &["PMI_JOBID"],
            () => &[],
        };
        for name in names {
            if let Some(space) = said(self.env, name) {
                return Some(hashed(format!("mpi-{space}"), &format!("environment {name}")));
            }
        }
        if let Some(proxy) = self.proxy
            && self.pmi
            && !self.open_mpi
            && self.step.is_none()
            && self.alone().is_some()
        {
            return Some(hashed(proxy.into(), "the process that mpiexec has on this host"));
        }
        let job = said(self.env, "SLURM_JOB_ID")?;
        let number: u64 = job.parse().ok()?;
        if self.open_mpi || self.pmix {
            // Not the step, which differs between hosts.
            return Some(slurm(format!("slurm-{job}"), number, 0, "environment SLURM_JOB_ID"));
        }
        let Some(step) = self.step else {
            return self.pmi.then(|| slurm(format!("slurm-{job}"), number, 0, "environment SLURM_JOB_ID"));
        };
        let source = "environment SLURM_JOB_ID and SLURM_STEP_ID";
        let mut identity = slurm(format!("slurm-{job}.{step}"), number, step, source);
        let reserved = said(self.env, "SLURM_STEP_RESV_PORTS");
        let first = reserved.map(|ports| ports.chars().take_while(char::is_ascii_digit).collect::<String>());
        if let Some(port) = first.and_then(|port| port.parse().ok()).filter(|port| *port > 0) {
            identity.port = port;
            identity.port_source = "environment SLURM_STEP_RESV_PORTS".into();
        }
        Some(identity)
    }

    /// Why Slurm does not say which rank this is, where it says that there are several.
    pub(super) fn not_started(&self) -> Option<String> {
        if self.open_mpi || self.pmi || self.pmix || self.step.is_some() {
            return None;
        }
        if self.pmi_port {
            return Some(
                "mpiexec was started with -pmi-port, by which programs are not told their rank in the environment \
                 (PMI_PORT is set, and PMI_RANK is not); start it without"
                    .into(),
            );
        }
        said(self.env, "SLURM_JOB_ID")?;
        let counted = |names: &[&str]| {
            names.iter().find_map(|name| self.count(name).map(|count: usize| (count, (*name).to_string())))
        };
        let (count, name, what) = match counted(&["SLURM_NTASKS", "SLURM_NPROCS"]) {
            Some((count, name)) => (count, name, "tasks"),
            None => {
                let (count, name) = counted(&["SLURM_JOB_NUM_NODES", "SLURM_NNODES"])?;
                (count, name, "nodes")
            }
        };
        (count > 1).then(|| {
            format!(
                "Slurm has given this job {count} {what} (environment {name}), but this process was not started by \
                 srun, so Slurm does not say which part of it this is; start the program with srun, or the ranks of \
                 this host with `ringworld run -n N`; for a world of this process alone set RINGWORLD_WORLD_SIZE=1"
            )
        })
    }

    fn count(&self, name: &str) -> Option<usize> {
        said(self.env, name).and_then(|text| parse::count(text).ok())
    }
}

/// Whether `MASTER_PORT` belongs to the store of `torchrun`, which listens there.
pub(super) fn port_is_torchs(env: &Env) -> bool {
    said(env, "TORCHELASTIC_RUN_ID").is_some()
}

fn said<'a>(env: &'a Env, name: &str) -> Option<&'a str> {
    env.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
}

/// Jobs and steps count up, so that those that run at once get ports of their own: see `docs/settings.md`.
fn slurm(job: String, number: u64, step: u64, source: &str) -> Identity {
    let place = number.wrapping_mul(16).wrapping_add(step) % PORTS;
    identity(job, FIRST_PORT + place, source.into())
}

fn hashed(job: String, source: &str) -> Identity {
    let mut hash = FnvHasher::default();
    hash.write(job.as_bytes());
    let place = hash.finish() % PORTS;
    identity(job, FIRST_PORT + place, source.into())
}

fn identity(job: String, port: u64, source: String) -> Identity {
    let port = u16::try_from(port).unwrap_or(29_500);
    let port_source = format!("from the job, {source}");
    Identity { job, port, source, port_source }
}
