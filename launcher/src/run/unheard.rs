//! What the launcher's caller has said about ranks, sizes and the rendezvous and no rank will hear: told in one line.
//! Pure.
//!
//! With `--env` the same is an error, because it was said of this job. A variable of the launcher's may have been said
//! of another one that is legal around it: that which a rank belongs to that starts a launcher, or that of a scheduler.
//! So it is a warning; and what describes a rank of somebody else's, or a scheduler sets, is taken for just that.

use super::environment::{PARENT, Rendezvous};
use crate::cli::RunOptions;
use crate::units;
use ringworld_bootstrap::KNOBS;
use std::collections::BTreeMap;

/// The shape of a job, as its ranks are told it.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) ranks: usize,
    /// `None`: not told.
    pub(crate) hosts: Option<usize>,
    /// Ranks of each host, if all have as many.
    pub(crate) each: Option<usize>,
    /// Where they meet: host, and port if that is not of the launcher's choice.
    pub(crate) place: Option<(String, Option<u16>)>,
}

impl Shape {
    /// That of a job of which this launcher starts `ranks`, on this host.
    pub(crate) fn here(rendezvous: &Rendezvous, ranks: usize) -> Self {
        let (hosts, place) = match rendezvous {
            Rendezvous::There { master, nodes } => (*nodes, (master.host.clone(), Some(master.port))),
            Rendezvous::Here { .. } | Rendezvous::Above { .. } => (1, ("127.0.0.1".to_owned(), None)),
        };
        Self { ranks: ranks.saturating_mul(hosts), hosts: Some(hosts), each: Some(ranks), place: Some(place) }
    }

    /// That of a job of `ranks` on `hosts` if all have as many.
    pub(crate) fn on_hosts(options: &RunOptions, ranks: usize, hosts: Option<usize>) -> Self {
        let place = options.master.as_ref().map(|master| (master.host.clone(), Some(master.port)));
        Self { ranks, hosts, each: hosts.map(|hosts| ranks / hosts.max(1)), place }
    }

    /// Whether the ranks are told that, too.
    fn agrees(&self, key: &str, value: &str) -> bool {
        let is = |number: Option<usize>| number.is_some() && value.parse().ok() == number;
        match key {
            "world_size" => is(Some(self.ranks)),
            "num_nodes" => is(self.hosts),
            "local_world_size" => is(self.each),
            "master_node" => self.place.as_ref().is_some_and(|(host, port)| {
                value == host || port.is_some_and(|port| value == format!("{host}:{port}"))
            }),
            "master_port" => is(self.place.as_ref().and_then(|(_, port)| port.map(usize::from))),
            // Each has its own.
            _ => false,
        }
    }
}

/// What one says of a job; who the launcher is, and what it hands over, is nobody else's to say.
const SAID: [&str; 7] =
    ["master_node", "master_port", "num_nodes", "world_size", "rank", "local_rank", "local_world_size"];

/// By these names launchers tell a rank who it is.
const RANKS: [&str; 3] = [PARENT, "RANK", "LOCAL_RANK"];

/// A sentence about those variables of the launcher's that its ranks would hear if they were started as they are, and
/// that say something else than the launcher does.
pub(crate) fn unheard(env: &BTreeMap<String, String>, shape: &Shape) -> Option<String> {
    // An empty one counts as not set, as it does for a rank.
    let value = |name: &str| env.get(name).map(|value| value.trim()).filter(|value| !value.is_empty());
    let of_a_rank = RANKS.iter().any(|name| value(name).is_some());
    let mut said = Vec::new();
    for knob in KNOBS.iter().filter(|knob| SAID.contains(&knob.key)) {
        let own = knob.env();
        let names = match value(&own) {
            // The weaker ones count for nothing beside it.
            Some(_) => vec![&*own],
            None if of_a_rank => Vec::new(),
            None => knob.aliases.to_vec(),
        };
        for name in names {
            // Kubernetes says `MASTER_PORT=tcp://10.0.0.1:80` of a service, which nobody reads.
            if let Some(value) = value(name).filter(|value| !value.contains("://"))
                && !shape.agrees(knob.key, value)
            {
                said.push(format!("{name}={}", value.escape_debug()));
            }
        }
    }
    let are = if said.len() == 1 { "is" } else { "are" };
    let them = if said.len() == 1 { "it" } else { "them" };
    let last = said.pop()?;
    let said = if said.is_empty() { last } else { format!("{} and {last}", said.join(", ")) };
    Some(format!(
        "{said} {are} not heard: -n, --nnodes, --hosts and --master shape the job, which has {}{}; unset {them}, or \
         change those",
        units::counted(shape.ranks, "rank"),
        match &shape.place {
            Some((host, Some(port))) => format!(" that meet at {host}:{port}"),
            Some((host, None)) => format!(" that meet at {host}"),
            None => String::new(),
        }
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Endpoint;

    fn told(env: &[(&str, &str)], shape: &Shape) -> Option<String> {
        let env = env.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
        unheard(&env.collect(), shape)
    }

    fn here() -> Shape {
        Shape::here(&Rendezvous::Here { port: 4000 }, 3)
    }

    fn there() -> Shape {
        let master = Endpoint { host: "n0".to_owned(), port: 29500 };
        Shape::here(&Rendezvous::There { master, nodes: 2 }, 3)
    }

    #[test]
    fn what_says_something_else_is_named() {
        let text = told(&[("RINGWORLD_WORLD_SIZE", "7")], &here()).unwrap();
        for part in
            ["RINGWORLD_WORLD_SIZE=7 is not heard", "-n,", "3 ranks that meet at 127.0.0.1", "unset it"]
        {
            assert!(text.contains(part), "{text}");
        }
        // A line that is meant for a program, in front of a launcher on each host.
        let env = [("MASTER_NODE", "n1"), ("MASTER_PORT", "29500"), ("NUM_NODES", "4"), ("WORLD_SIZE", "x")];
        let text = told(&env, &here()).unwrap();
        assert!(
            text.starts_with("MASTER_NODE=n1, MASTER_PORT=29500, NUM_NODES=4 and WORLD_SIZE=x are not"),
            "{text}"
        );
        let text = told(&env, &there()).unwrap();
        assert!(text.starts_with("MASTER_NODE=n1, NUM_NODES=4 and WORLD_SIZE=x are not"), "{text}");
        assert!(text.contains("6 ranks that meet at n0:29500"), "{text}");
        let uneven = Shape { ranks: 5, hosts: None, each: None, place: None };
        for name in ["NUM_NODES", "RINGWORLD_LOCAL_WORLD_SIZE", "MASTER_ADDR", "RINGWORLD_RANK"] {
            assert!(told(&[(name, "2")], &uneven).unwrap().contains("has 5 ranks; unset it"), "{name}");
        }
    }

    #[test]
    fn what_says_the_same_is_not() {
        let env = [("RINGWORLD_WORLD_SIZE", "3"), ("MASTER_ADDR", "127.0.0.1"), ("NUM_NODES", "1")];
        assert_eq!(told(&env, &here()), None);
        let env =
            [("MASTER_NODE", "n0:29500"), ("MASTER_PORT", "29500"), ("WORLD_SIZE", " 6"), ("NUM_NODES", "2")];
        assert_eq!(told(&env, &there()), None);
        assert_eq!(told(&[("LOCAL_WORLD_SIZE", "3"), ("RINGWORLD_MASTER_NODE", "n0")], &there()), None);
        // What a rank would not hear either.
        let env = [("WORLD_SIZE", ""), ("MASTER_PORT", "tcp://10.0.0.1:80"), ("RINGWORLD_TIMEOUT", "9")];
        assert_eq!(told(&env, &here()), None);
        assert_eq!(told(&[("RINGWORLD_WORLD_SIZE", "3"), ("WORLD_SIZE", "7")], &here()), None);
    }

    #[test]
    fn what_was_said_of_another_job_is_not() {
        let schedulers =
            [("SLURM_STEP_NUM_TASKS", "7"), ("SLURM_PROCID", "1"), ("OMPI_COMM_WORLD_SIZE", "7")];
        assert_eq!(told(&schedulers, &here()), None);
        // A rank of another world starts a launcher: by torchrun, by us on one host, by us on several.
        let torchs = [("RANK", "1"), ("WORLD_SIZE", "7"), ("MASTER_ADDR", "n1"), ("LOCAL_RANK", "1")];
        assert_eq!(told(&torchs, &here()), None);
        let ours = [(PARENT, "99"), ("MASTER_NODE", "n1"), ("WORLD_SIZE", "7")];
        assert_eq!(told(&ours, &here()), None);
        // But nobody's launcher says it so.
        let own = [(PARENT, "99"), ("RANK", "1"), ("WORLD_SIZE", "5"), ("RINGWORLD_WORLD_SIZE", "7")];
        assert!(told(&own, &here()).unwrap().starts_with("RINGWORLD_WORLD_SIZE=7 is not heard"));
    }
}
