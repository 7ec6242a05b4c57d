//! Where the ranks meet: opened here for all ranks that this launcher starts, on whatever host; only described where
//! several launchers start them.
//!
//! Invariant: what the ranks will read is read first by the launcher, with the same rules, so that a wrong
//! setting is said once and before anything starts; and the master and the ranks share one view.

use super::complain::complain;
use super::environment::{Plan, Rendezvous};
use super::processes::hand_to_ranks;
use super::restart::{Bounds, Limits};
use super::supervisor::Account;
use super::unheard::{Shape, unheard};
use crate::cli::{Assignment, Endpoint, RunOptions};
use crate::exit::Failure;
use ringworld_auth::Secret;
use ringworld_bootstrap::{Elastic, Master, MasterConfig, MasterHandle, Settings, serve_hosts};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::net::{IpAddr, Ipv4Addr, TcpListener, ToSocketAddrs as _};
use std::time::Duration;

/// How long to wait for the master's account once all ranks have ended; it needs a moment to see it.
const ACCOUNT: Duration = Duration::from_millis(50);

/// The master served here, asked which rank failed first: it is told in that order.
#[derive(Debug, Default)]
pub(crate) struct Witness {
    master: Option<MasterHandle>,
    /// Where the world is elastic: decides on its later generations, and serves them.
    arbiter: Option<Elastic>,
}

impl Witness {
    /// What the master has seen. When `all_ended`, it is given a moment to see the end as well.
    pub(crate) fn account(&self, all_ended: bool) -> Account {
        let later = self.arbiter.as_ref().and_then(Elastic::serving);
        let Some(master) = later.as_ref().or(self.master.as_ref()) else { return Account::default() };
        if all_ended {
            let _ = master.wait(Some(ACCOUNT));
        }
        let departures = master.departures().iter().map(|left| (left.rank, left.finished)).collect();
        Account { aborted: master.aborted(), departures }
    }
}

/// Opens or describes the place for the ranks of this host, makes a secret for a job that has none, and returns what to
/// tell the ranks.
///
/// A master served here runs in its own thread until its world has ended or this process does; how the job
/// went is seen from its processes, which also works for programs that never join.
///
/// # Errors
///
/// When a setting cannot be meant, or the system gives no port, thread or random numbers.
pub(crate) fn open(options: &RunOptions, ranks: usize) -> Result<(Plan, Witness), Failure> {
    let refused = |error: std::io::Error| Failure::system("cannot open a port on 127.0.0.1", error);
    let (rendezvous, listener) = match &options.master {
        Some(master) => {
            let nodes = options.nnodes.unwrap_or(1);
            (Rendezvous::There { master: master.clone(), nodes }, None)
        }
        None => {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(refused)?;
            let port = listener.local_addr().map_err(refused)?.port();
            (Rendezvous::Here { port }, Some(listener))
        }
    };
    let parent = std::process::id();
    let all = ranks.saturating_mul(options.nnodes.unwrap_or(1));
    let elastic = Bounds::of(options, all).map_err(Failure::usage)?;
    let mut plan = Plan { elastic, ..Plan::new(ranks, rendezvous) };
    let given = checked(&plan, &options.first.env)?;
    warn_of_unheard(&Shape::here(&plan.rendezvous, ranks));
    let Some(listener) = listener else {
        if given.job.is_none() {
            // Launchers of one step are one job; the variables that say so are not for their ranks.
            plan.job = Settings::job_of_launcher(&variables(), options.nnodes.unwrap_or(1));
        }
        // That there is no secret is said by the rank that serves: once per job, and not once per host.
        return Ok((plan, Witness::default()));
    };
    if given.secret.is_empty() {
        plan.secret = Some(hand_to_ranks(&new_secret()?, ranks)?);
    }
    if given.job.is_none() {
        plan.job = Some(format!("run-{parent}"));
    }
    let settings = settings(&plan, &options.first.env)?;
    let serving = |error| Failure::system("cannot serve the rendezvous", error);
    let master = Master::serve(listener, MasterConfig::new(ranks, &settings)).map_err(serving)?;
    let here = [Ipv4Addr::LOCALHOST.into()];
    let arbiter = settings.elastic.then(|| Elastic::arbitrate(&settings, &here, &master));
    let arbiter = arbiter.transpose().map_err(serving)?;
    Ok((plan, Witness { master: Some(master), arbiter }))
}

/// A rendezvous for the ranks of several hosts.
pub(crate) struct ForHosts {
    /// Where other hosts may find it; best first, as far as this one knows.
    pub(crate) places: Vec<Endpoint>,
    /// How many hosts there are, if all have as many ranks.
    pub(crate) nodes: Option<usize>,
    pub(crate) secret: Secret,
    pub(crate) job: String,
    /// How long hosts may take to answer, and be silent.
    pub(crate) timeout: Duration,
    pub(crate) peer_timeout: Option<Duration>,
    /// The world is to go on after failures, and what this launcher does about them.
    pub(crate) elastic: Option<Bounds>,
    pub(crate) mending: Option<Limits>,
}

/// Opens it, for `ranks` in all on `nodes` hosts if all have as many. There is a secret always:
/// it reaches the other hosts by what starts the ranks there.
///
/// # Errors
///
/// As for [`open`].
pub(crate) fn open_for_hosts(
    options: &RunOptions,
    ranks: usize,
    nodes: Option<usize>,
) -> Result<(ForHosts, Witness), Failure> {
    let parent = std::process::id();
    // Only to read the settings as a rank will: where it meets the others plays no part in them.
    let port = options.master.as_ref().map_or(29_500, |master| master.port);
    let rendezvous = Rendezvous::Here { port };
    let elastic = Bounds::of(options, ranks).map_err(Failure::usage)?;
    let plan = Plan { elastic, ..Plan::new(ranks, rendezvous) };
    let mut given = checked(&plan, &options.first.env)?;
    warn_of_unheard(&Shape::on_hosts(options, ranks, nodes));
    given.num_nodes = nodes;
    if given.secret.is_empty() {
        given.secret = new_secret()?;
    }
    let job = given.job.get_or_insert_with(|| format!("run-{parent}")).clone();
    let port = options.master.as_ref().map_or(0, |master| master.port);
    let serving = |error| Failure::system("cannot serve the rendezvous", error);
    let (master, addresses) = serve_hosts(&given, ranks, port).map_err(serving)?;
    let arbiter = given.elastic.then(|| {
        // Where the user has said that others find this host, before what it thinks itself.
        let named = options.master.as_ref().map(|place| (place.host.as_str(), place.port).to_socket_addrs());
        let named = named.and_then(Result::ok).into_iter().flatten().map(|address| address.ip());
        let all: Vec<IpAddr> = named.chain(addresses.iter().copied()).collect();
        Elastic::arbitrate(&given, &all, &master)
    });
    let arbiter = arbiter.transpose().map_err(serving)?;
    let mending = elastic.map(|_| Limits::new(options, ranks, &given));
    let port = master.local_addr().port();
    let places = match &options.master {
        Some(place) => vec![place.clone()],
        None => addresses.iter().map(|address| Endpoint { host: address.to_string(), port }).collect(),
    };
    let (timeout, peer_timeout) = (given.timeout, given.peer_timeout);
    Ok((
        ForHosts { places, nodes, secret: given.secret, job, timeout, peer_timeout, elastic, mending },
        Witness { master: Some(master), arbiter },
    ))
}

fn new_secret() -> Result<Secret, Failure> {
    Secret::random().map_err(|error| Failure::system("cannot make a secret", error))
}

/// The settings, once they are known to be sound; what they warn of is said, and logging begins.
fn checked(plan: &Plan, env: &[Assignment]) -> Result<Settings, Failure> {
    let given = settings(plan, env)?;
    // The master's warnings (unauthenticated connections, ranks of another job) belong beside the launcher's own words.
    ringworld::logging::install(given.log.as_deref().unwrap_or("warn")).map_err(Failure::usage)?;
    for warning in given.warnings() {
        complain(warning);
    }
    Ok(given)
}

/// Says which words of its caller's the launcher does not pass on, since no rank will be told of them.
fn warn_of_unheard(shape: &Shape) {
    if let Some(sentence) = unheard(&variables(), shape) {
        complain(&sentence);
    }
}

/// The settings exactly as the first rank will see them, for which `env` is set.
pub(super) fn settings(plan: &Plan, env: &[Assignment]) -> Result<Settings, Failure> {
    let inherited: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let changes = plan.changes(0, env, None, inherited.iter().map(|(name, _)| name.as_os_str()));
    let kept = inherited.iter().filter(|(name, _)| !changes.contains_key(name));
    let set = changes.iter().filter_map(|(name, value)| Some((name.clone(), value.clone()?)));
    let environment = kept.cloned().chain(set);
    Settings::load_os(&[], environment).map_err(|error| Failure::usage(error.to_string()))
}

/// This process's variables, as far as they are text.
fn variables() -> BTreeMap<String, String> {
    std::env::vars_os().filter_map(|(name, value)| Some((text(&name)?, text(&value)?))).collect()
}

fn text(text: &OsStr) -> Option<String> {
    text.to_str().map(str::to_owned)
}
