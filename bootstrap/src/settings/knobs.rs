//! The one table of knobs: key, names in the environment, default and reason.
//!
//! Everything else follows from it: what the environment may say, which TOML and builder keys exist,
//! which unknown name is nearest to which known one, and `docs/settings.md` (a test compares the two).
//! Neighbours: `launch` says which launcher is heard, `mod` turns the text into types.

/// How strongly a source speaks; the strongest that says anything wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    /// Nobody said anything.
    Default,
    /// The TOML file named by `RINGWORLD_CONFIG`.
    File,
    /// Variables of Open MPI, PMI, PMIx, Slurm, Kubernetes and NCCL.
    Scheduler,
    /// `MASTER_NODE`, `WORLD_SIZE` and the like, shared with other frameworks.
    Common,
    /// `RINGWORLD_*`.
    Ringworld,
    /// Set in code.
    Builder,
}

/// One setting.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Knob {
    /// Key in the TOML file and in the builder; the environment has it as `RINGWORLD_` and upper case.
    pub key: &'static str,
    /// Names in the environment that are shared with other frameworks; weaker than `RINGWORLD_*`.
    pub aliases: &'static [&'static str],
    /// Names in the environment that schedulers set; weaker still.
    pub schedulers: &'static [&'static str],
    /// What a value looks like.
    pub form: &'static str,
    /// What holds when nobody says anything.
    pub default: &'static str,
    /// What it does and why the default is what it is.
    pub why: &'static str,
}

impl Knob {
    /// Name in the environment, for example `RINGWORLD_IF_EXCLUDE`.
    #[must_use]
    pub fn env(&self) -> String {
        format!("RINGWORLD_{}", self.key.to_ascii_uppercase())
    }
}

const fn knob(key: &'static str, form: &'static str, default: &'static str, why: &'static str) -> Knob {
    Knob { key, aliases: &[], schedulers: &[], form, default, why }
}

/// Every knob there is.
pub const KNOBS: &[Knob] = &[
    Knob {
        aliases: &["MASTER_NODE", "MASTER_ADDR"],
        schedulers: &["SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"],
        ..knob(
            "master_node",
            "IPv4, IPv6 or name, optionally with `:port`; of an elastic world, several with commas",
            "none",
            "Where the processes of a job meet. Needed whenever the world is larger than one. From Slurm: the first \
             host of the node list; from `mpirun`, where all ranks are on one host: 127.0.0.1. An elastic world begins \
             at the first of several, and is found at each of them later.",
        )
    },
    Knob {
        aliases: &["MASTER_PORT"],
        ..knob(
            "master_port",
            "1 to 65535",
            "from the job, else 29500",
            "TCP port of the rendezvous. Where the launcher says which job this is, each job has one of its own; else \
             the customary one of PyTorch, so that scripts carry over.",
        )
    },
    Knob {
        aliases: &["NUM_NODES"],
        schedulers: &["SLURM_STEP_NUM_NODES"],
        ..knob(
            "num_nodes",
            "count",
            "none",
            "Number of hosts. Gives the world's size, times `local_world_size`, when `world_size` is not set.",
        )
    },
    Knob {
        aliases: &["WORLD_SIZE"],
        schedulers: &["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"],
        ..knob(
            "world_size",
            "count",
            "`num_nodes` x `local_world_size`, else 1",
            "Number of ranks. Nothing set at all means a world of one.",
        )
    },
    Knob {
        aliases: &["RANK"],
        schedulers: &[
            "OMPI_COMM_WORLD_RANK",
            "PMI_RANK",
            "PMIX_RANK",
            "SLURM_PROCID",
            "JOB_COMPLETION_INDEX",
        ],
        ..knob(
            "rank",
            "0 to `world_size` - 1",
            "given out by the master",
            "Without one the master gives ranks out by host, contiguous per host, its own host first.",
        )
    },
    Knob {
        aliases: &["LOCAL_RANK"],
        schedulers: &["OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_LOCAL_RANK", "SLURM_LOCALID"],
        ..knob(
            "local_rank",
            "0 to `local_world_size` - 1",
            "given out by the master",
            "Order of the ranks of one host.",
        )
    },
    Knob {
        aliases: &["LOCAL_WORLD_SIZE"],
        schedulers: &["OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PMI_LOCAL_SIZE"],
        ..knob(
            "local_world_size",
            "count",
            "1",
            "Ranks on this host; only used to work out the world's size from `num_nodes` where nobody states it.",
        )
    },
    knob(
        "timeout",
        "duration",
        "60s",
        "How long the rendezvous may take, and a host to answer the request for a connection: long enough for slow \
         schedulers, short enough to notice a typing error or a firewall. A rank that computes answers late, but its \
         host does not.",
    ),
    knob(
        "peer_timeout",
        "duration, or `none` or 0",
        "20s",
        "Silence after which a rank is declared dead: on the control connection, where heartbeats go four times as \
         often, and of the network on any TCP connection for data that a call waits for. A rank that computes is not \
         silent, because its host's kernel answers for it. The master's value counts for all. A process that dies is \
         noticed at once, whatever this says. `none` where a debugger stops ranks: then nobody is given up for being \
         silent.",
    ),
    knob(
        "op_timeout",
        "duration, or `none` or 0",
        "none",
        "How long one operation may wait for its peers. None: a rank may compute for hours between two operations.",
    ),
    knob(
        "stall_warning",
        "duration, or `none` or 0",
        "30s",
        "A call that waits for longer is explained by one line in the log of one rank: who is late and what that rank \
         does, or that all wait for one another (docs/observe.md). Long enough for a rank that computes or saves a \
         checkpoint; the job goes on as before.",
    ),
    knob(
        "status_signal",
        "`1` or `0`",
        "1",
        "SIGUSR1 has a rank say on its standard error what it does, as `ringworld status` would (docs/observe.md). A \
         program that has a handler of its own when its world forms, or ignores the signal, keeps that in any case; 0 \
         where the signal is to end the process, as it does by default, or a handler is set later that must not be \
         preceded by ours.",
    ),
    knob(
        "statistics",
        "`1`, `0` or path",
        "0",
        "At the end of its world a rank prints what it has counted, its `World::statistics()`, on its standard \
         error: its calls, and the eight peers that it waited for longest or moved most with. A folder: it writes \
         that to a file there, as `ringworld run --statistics` has it do, which prints one table for all ranks.",
    ),
    knob(
        "trace",
        "path",
        "none",
        "Each rank writes what it does, calls, messages, waits and reductions, to a file of its own in this \
         folder, which is made if the one around it is there; `ringworld trace` puts them together \
         (docs/observe.md). Files of different jobs do not disturb one another. A folder that cannot be written \
         is an error at the start.",
    ),
    knob(
        "trace_size",
        "bytes",
        "4M",
        "The most that such a file takes, and all that is ever written to the disk: all of it is taken at the \
         start, and when it is full the oldest goes. A message of 8 bytes takes 96 bytes on both sides together, \
         so that 4M has the last 60,000 or so calls of each rank.",
    ),
    knob(
        "elastic",
        "`1` or `0`",
        "0",
        "The world may go on after a failure, and admits newcomers: see docs/elastic.md. All processes must agree.",
    ),
    knob(
        "min_ranks",
        "count",
        "1",
        "The fewest ranks with which an elastic world goes on. With fewer, `recover` waits for newcomers, and fails \
         after `recover_timeout`.",
    ),
    knob(
        "max_ranks",
        "count",
        "none",
        "The most ranks that an elastic world takes; who comes later waits at the door.",
    ),
    knob(
        "recover_timeout",
        "duration",
        "60s",
        "How long `recover` and `regroup` may take. For half of it they wait for ranks that are alive and have not \
         called them; those are left behind then.",
    ),
    knob(
        "rejoin",
        "`1` or `0`",
        "0",
        "This process joins an elastic world that runs already, and never serves a rendezvous. Set by `ringworld run \
         --restarts` for what it starts again.",
    ),
    knob(
        "if_include",
        "list of names, `prefix*`, CIDR",
        "all usable",
        "Only these interfaces carry traffic. Excludes `if_exclude`.",
    ),
    knob(
        "if_exclude",
        "list of names, `prefix*`, CIDR",
        "bridges and link-local",
        "These interfaces carry no traffic, besides those never used by default. Excludes `if_include`.",
    ),
    Knob {
        schedulers: &["NCCL_SOCKET_IFNAME"],
        ..knob(
            "nccl_socket_ifname",
            "`[^][=]name,name`",
            "none",
            "Interfaces in NCCL's own syntax, so that tuned clusters work as they are; only heard when `if_include` \
             and `if_exclude` are not set.",
        )
    },
    knob(
        "transport",
        "`shm,tcp` or `^ibverbs`",
        "every transport that works",
        "Transports to choose from; `^` excludes. Each pair of ranks uses the best that both have: `shm` (memory of \
         one host; both in one network namespace, or with one `shm_socket_dir`), `ibverbs` (cargo feature of that \
         name, docs/verbs.md), then `tcp`.",
    ),
    Knob {
        schedulers: &["NCCL_IB_HCA"],
        ..knob(
            "ib_hca",
            "`[^][=]name[:port],…`",
            "every active port",
            "InfiniBand or RoCE devices, in NCCL's syntax: names are prefixes unless `=` is in front, `^` excludes.",
        )
    },
    Knob {
        schedulers: &["NCCL_IB_GID_INDEX"],
        ..knob(
            "ib_gid_index",
            "0 to 255, or -1",
            "found by address",
            "Entry of the GID table to use with RoCE, on every host; -1 finds one by address on each.",
        )
    },
    Knob {
        schedulers: &["NCCL_IB_QPS_PER_CONNECTION"],
        ..knob(
            "ib_queue_pairs",
            "1 to 16",
            "1",
            "Queue pairs (RC) per pair of ranks; of two ranks that are set differently the smaller number holds. Long \
             transfers go over all of them, each pulling the next piece when it has room; messages keep to the first. \
             More than one helps where the network picks one of several paths by queue pair, or where one does not \
             fill the card. Each more pins 8 KiB per connected rank.",
        )
    },
    knob(
        "secret",
        "text",
        "none",
        "Shared by all processes of a job; every connection then proves that it knows it. Never printed.",
    ),
    knob(
        "secret_file",
        "path",
        "none",
        "File that holds the secret, of any bytes; blanks and line ends around it are not part of it, here as in \
         `secret`, which it excludes. Only its owner should be able to read it.",
    ),
    knob(
        "secret_fd",
        "number",
        "none",
        "Descriptor by which `ringworld run` hands its ranks the secret that it has made; not for users. Whoever loads \
         the settings reads and closes it.",
    ),
    knob(
        "job",
        "text",
        "the launcher's, else none",
        "Name of the job. Processes of another job that reach this master are refused. Given by the launcher where \
         that has started exactly the ranks of this world.",
    ),
    knob(
        "eager_limit",
        "size",
        "256K, or less",
        "Messages up to this size are sent without asking. Less in worlds of more than 256 ranks, and of more than 8 \
         of one host.",
    ),
    knob("window", "size", "the transport's", "Unexpected bytes that one peer may have outstanding here."),
    knob("segment", "size", "by size and transport", "Segment of pipelined collectives."),
    knob(
        "algorithms",
        "list of `collective/algorithm`",
        "by size and ranks",
        "Algorithms that collectives must use, such as `all-reduce/ring,broadcast/chain`; `ringworld info --tuning` \
         lists them. One that cannot serve a call is an error of that call.",
    ),
    knob(
        "reproducible",
        "`1` or `0`",
        "0",
        "Reductions combine operands strictly from rank 0 upwards, so that results depend neither on the length of \
         the data nor on the algorithm. Costs speed.",
    ),
    knob(
        "spin_us",
        "microseconds",
        "by load",
        "How long a waiting call polls before it sleeps; with more ranks than cores it offers its core each time.",
    ),
    knob(
        "encrypt",
        "`1` or `0`",
        "0",
        "Encrypts the data of TCP connections as well, and refuses what was altered on its way; needs a secret, and \
         all processes must agree. Control connections always are. Costs speed: see docs/security.md.",
    ),
    knob(
        "tcp_lanes",
        "count",
        "2",
        "TCP connections (lanes) per pair of ranks. With two, large messages of each direction have one of their own; \
         with more, or with `tcp_spread`, each pulls the next piece of a large message when it has room.",
    ),
    knob(
        "tcp_spread",
        "`1` or `0`",
        "0",
        "The lanes take turns among the networks that both hosts are on, so that large messages use all of them, each \
         as fast as it is. Exclude networks that are not meant for data.",
    ),
    knob(
        "tcp_ports",
        "`first-last`, or one port",
        "the system's choice",
        "Ports at which this rank waits for connections of other ranks, of which it takes the first that is free: for \
         firewalls, and for ports that a container publishes. Each rank of a host needs one, and another where verbs \
         are used. The rendezvous has `master_port`.",
    ),
    knob(
        "advertise",
        "list of IP addresses",
        "those of the interfaces",
        "Addresses that the other ranks are told to connect to, instead of those of this host's interfaces: where \
         addresses are translated on the way, as by NAT or for the published ports of a container. The ports stay the \
         same (`tcp_ports`). If `MASTER_NODE` leads to one of them, the rendezvous is served here.",
    ),
    knob(
        "tcp_socket_buffer",
        "size",
        "by measurement",
        "Size of the socket buffers; larger than the cache is slower on one host.",
    ),
    knob(
        "tcp_congestion",
        "name",
        "`cubic`, else `reno`, else the system's",
        "Congestion control algorithm, such as `cubic` or `bbr`, whose pacing costs time on fast links.",
    ),
    knob(
        "shm_socket_dir",
        "path",
        "none",
        "Folder in which the sockets that ranks of one host find one another by are files, each for its user \
         alone, instead of names that hold within a network namespace: for containers or pods with networks of \
         their own into which one folder of the host is mounted, by whatever path. Give it to all ranks of a \
         host; those that do not see one another's files use the next transport. What killed ranks leave there, \
         two empty files each, the next rank of that user removes.",
    ),
    knob(
        "master_external",
        "`1` or `0`",
        "0",
        "Somebody else, such as the launcher, serves the rendezvous: never bind its port. The variables of schedulers \
         are then not read, since they describe the launcher.",
    ),
    knob(
        "parent_pid",
        "process id",
        "none",
        "End this process when that one is gone, so that no rank outlives its launcher.",
    ),
    knob(
        "config",
        "path",
        "none",
        "TOML file with these same keys; only read from the environment and the builder.",
    ),
    knob(
        "log",
        "filter",
        "warn",
        "What is logged to standard error, a level or targets with levels, such as `debug`, `off` or \
         `warn,ringworld_bootstrap=debug`. A program that installs a subscriber of its own before it makes its world \
         decides by itself; one that does so later should not be given this setting.",
    ),
];

/// Prefixes of `RINGWORLD_*` names that are no settings: harnesses may pass what they like.
pub(crate) const RESERVED: &[&str] = &["RINGWORLD_TEST_", "RINGWORLD_BENCH_"];

/// The knob of this key.
pub(crate) fn find(key: &str) -> Option<&'static Knob> {
    KNOBS.iter().find(|knob| knob.key == key)
}

/// Whether an environment variable is a setting, by its own name or another.
pub(crate) fn is_read(name: &str) -> bool {
    let of_another = |knob: &Knob| knob.aliases.contains(&name) || knob.schedulers.contains(&name);
    name.starts_with("RINGWORLD_") || KNOBS.iter().any(of_another)
}

/// The known key nearest to an unknown one, by edits.
pub(crate) fn nearest(key: &str) -> &'static str {
    KNOBS.iter().map(|knob| knob.key).min_by_key(|known| distance(key, known)).unwrap_or("master_node")
}

/// Whether an unknown key must be a slip of the pen for this known one: at most two edits, and fewer for short words.
pub(crate) fn nearly(key: &str, known: &str) -> bool {
    distance(key, known) <= (known.len() / 3).min(2)
}

/// Number of insertions, deletions and replacements between two words (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}
