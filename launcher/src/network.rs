//! What `simulate` and `explain` have in common: which collective, on how many ranks, over what network.

use ringworld_collectives::{Algorithm, Collective, Counts, Order, Placement, Request, Tuning};
use ringworld_simulate::{Fabric, Inside, Time};

use crate::exit::Failure;
use crate::units::{self, Rate};

/// Beyond, one rank's schedule alone may fill a memory.
const MOST_RANKS: usize = 1 << 20;

/// What is asked for.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Question {
    /// Which collective: all-reduce, broadcast, all-to-all, …
    #[arg(value_parser = collective)]
    pub(crate) collective: Collective,
    /// Bytes of the whole vector, or of one rank's block for gathers, scatters and all-to-all (8, 64K, 1M)
    #[arg(long, value_name = "BYTES", default_value = "1M", value_parser = units::bytes)]
    pub(crate) size: u64,
    /// The root of broadcast, reduce, gather and scatter [default: 0]
    #[arg(long, value_name = "RANK")]
    pub(crate) root: Option<usize>,
    /// Bytes of one element
    #[arg(long, value_name = "BYTES", default_value = "4", value_parser = units::bytes)]
    pub(crate) element: u64,
    /// What a reduction may do with the order of operands
    #[arg(long, value_enum, default_value = "free")]
    pub(crate) order: Operands,
}

/// See [`Order`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Operands {
    /// Any order: the operation commutes
    Free,
    /// Operands in rank order, parentheses anywhere
    Rank,
    /// Exactly from the left, whatever the size
    Left,
}

/// Where the ranks are.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Place {
    /// Hosts with --ranks-per-host ranks each, instead of a number of ranks
    #[arg(long, value_name = "N", value_parser = ranks, conflicts_with = "ranks")]
    pub(crate) hosts: Option<usize>,
    /// How many ranks, in their order, share a host and its wire
    #[arg(long, value_name = "N", default_value = "1", value_parser = ranks)]
    pub(crate) ranks_per_host: usize,
    /// From one rank to another of the same host
    #[arg(long, value_name = "TIME", default_value = "300ns", value_parser = units::time)]
    #[arg(requires = "ranks_per_host")]
    pub(crate) inside_latency: Time,
    /// How long each message inside a host occupies a rank apart from its bytes
    #[arg(long, value_name = "TIME", default_value = "200ns", value_parser = units::time)]
    #[arg(requires = "ranks_per_host")]
    pub(crate) inside_overhead: Time,
    /// Of each rank to others of its host, in each direction
    #[arg(long, value_name = "RATE", default_value = "10GB/s", value_parser = units::rate)]
    #[arg(requires = "ranks_per_host")]
    pub(crate) inside_bandwidth: Rate,
}

impl Place {
    /// How many ranks there are; `given` unless the hosts are.
    pub(crate) fn ranks(&self, given: usize) -> Result<usize, Failure> {
        let Some(hosts) = self.hosts else { return Ok(given) };
        hosts.checked_mul(self.ranks_per_host).filter(|ranks| *ranks <= MOST_RANKS).ok_or_else(|| {
            let each = self.ranks_per_host;
            Failure::usage(format!("{hosts} hosts with {each} ranks each are more than {MOST_RANKS} ranks"))
        })
    }

    /// The host of each of so many ranks.
    pub(crate) fn placement(&self, ranks: usize) -> Placement {
        Placement::new((0..ranks).map(|rank| rank / self.ranks_per_host))
    }

    /// The numbers that a world so placed goes by.
    pub(crate) fn tuning(&self, ranks: usize) -> Tuning {
        // Where each has a host of its own, all the numbers stay as they are.
        if self.ranks_per_host == 1 {
            Tuning::default()
        } else {
            let placement = self.placement(ranks);
            Tuning::default().on_hosts(&placement).in_shared_memory(placement.hosts() == 1)
        }
    }
}

/// What the messages travel over.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Network {
    /// From one rank to another; between hosts, where ranks share them
    #[arg(long, value_name = "TIME", default_value = "20us", value_parser = units::time)]
    pub(crate) latency: Time,
    /// How long each message occupies a port apart from its bytes
    #[arg(long, value_name = "TIME", default_value = "1us", value_parser = units::time)]
    pub(crate) overhead: Time,
    /// Of each host's port, in each direction (10Gbit/s, 1.25GB/s, none)
    #[arg(long, value_name = "RATE", default_value = "10Gbit/s", value_parser = units::rate)]
    pub(crate) bandwidth: Rate,
    /// Bytes of result per second of a reduction; none: it takes no time
    #[arg(long, value_name = "RATE", default_value = "10GB/s", value_parser = units::rate)]
    pub(crate) reduce_bandwidth: Rate,
    /// Bytes per second of a copy; none: it takes no time
    #[arg(long, value_name = "RATE", default_value = "10GB/s", value_parser = units::rate)]
    pub(crate) copy_bandwidth: Rate,
    /// Longest message that is sent without asking [default: what a world of this size would use]
    #[arg(long, value_name = "BYTES", value_parser = units::bytes)]
    pub(crate) eager: Option<u64>,
    #[command(flatten)]
    pub(crate) place: Place,
}

impl Question {
    /// The request of rank 0 of `ranks`.
    pub(crate) fn request(&self, ranks: usize) -> Result<Request, Failure> {
        let Self { size, element, .. } = *self;
        let collective = match (self.collective, self.root) {
            (Collective::Broadcast { .. }, Some(root)) => Collective::Broadcast { root },
            (Collective::Reduce { .. }, Some(root)) => Collective::Reduce { root },
            (Collective::Gather { .. }, Some(root)) => Collective::Gather { root },
            (Collective::Scatter { .. }, Some(root)) => Collective::Scatter { root },
            (collective, Some(_)) => {
                return Err(Failure::usage(format!("{collective} has no root; leave --root out")));
            }
            (collective, None) => collective,
        };
        if element == 0 || size % element != 0 {
            let whole = "give a --size that is a multiple of --element";
            return Err(Failure::usage(format!(
                "{size} bytes are not a whole number of elements of {element} bytes; {whole}"
            )));
        }
        let narrow = |number: u64| usize::try_from(number).map_err(|error| Failure::usage(error.to_string()));
        let count = if collective == Collective::Barrier { 0 } else { narrow(size / element)? };
        let request = Request {
            collective,
            rank: 0,
            size: ranks,
            counts: Counts::Same(count),
            element: narrow(element)?,
            order: match self.order {
                Operands::Free => Order::Free,
                Operands::Rank => Order::Rank,
                Operands::Left => Order::Left,
            },
            // As the plain call of each does it.
            in_place: matches!(
                collective,
                Collective::Broadcast { .. } | Collective::Reduce { .. } | Collective::AllReduce
            ),
        };
        request.validate().map_err(|error| Failure::usage(error.to_string()))?;
        Ok(request)
    }
}

impl Network {
    /// The fabric for a world of `ranks`.
    pub(crate) fn fabric(&self, ranks: usize) -> Fabric {
        Fabric {
            latency: self.latency,
            overhead: self.overhead,
            bandwidth: self.bandwidth.0,
            reduce: self.reduce_bandwidth.0,
            copy: self.copy_bandwidth.0,
            eager: self.eager.unwrap_or_else(|| {
                ringworld::eager_limit(ranks, self.place.ranks_per_host.min(ranks)) as u64
            }),
            inside: (self.place.ranks_per_host > 1).then(|| Inside {
                placement: self.place.placement(ranks),
                latency: self.place.inside_latency,
                overhead: self.place.inside_overhead,
                bandwidth: self.place.inside_bandwidth.0,
            }),
        }
    }
}

/// The numbers of a fabric on one line, and those of its hosts on another.
pub(crate) fn describe(fabric: &Fabric) -> String {
    let network = format!(
        "latency {}, overhead {}, ports {}, reductions {}, copies {}, up to {} without asking",
        fabric.latency,
        fabric.overhead,
        Rate(fabric.bandwidth),
        Rate(fabric.reduce),
        Rate(fabric.copy),
        units::short(fabric.eager),
    );
    let Some(Inside { placement, latency, overhead, bandwidth }) = &fabric.inside else { return network };
    let bandwidth = Rate(*bandwidth);
    format!("{network}\n{placement}: inside latency {latency}, overhead {overhead}, ports {bandwidth}")
}

/// The algorithms that were named, by path or by the name alone, or all that can serve the request.
pub(crate) fn algorithms(names: &[String], request: &Request) -> Result<Vec<Algorithm>, Failure> {
    let able: Vec<Algorithm> = request.algorithms().collect();
    if names.is_empty() {
        return Ok(able);
    }
    let find = |name: &String| {
        let found = able.iter().find(|able| able.path() == name || able.to_string() == *name);
        found.copied().ok_or_else(|| {
            let list: Vec<_> = able.iter().map(ToString::to_string).collect();
            let (collective, size, order) = (request.collective, request.size, request.order);
            Failure::usage(format!(
                "no algorithm {name:?} can do {collective} on {size} ranks in {order}; there are {}",
                list.join(", ")
            ))
        })
    };
    names.iter().map(find).collect()
}

/// A collective by its name.
pub(crate) fn collective(text: &str) -> Result<Collective, String> {
    let found =
        Collective::family(0).into_iter().find(|collective| collective.name() == text.replace('_', "-"));
    found.ok_or_else(|| {
        let names: Vec<_> = Collective::family(0).iter().map(Collective::name).collect();
        format!("expected one of {}", names.join(", "))
    })
}

/// A number of ranks.
pub(crate) fn ranks(text: &str) -> Result<usize, String> {
    let expected = format!("expected a number of ranks from 1 to {MOST_RANKS}");
    text.parse().ok().filter(|ranks| (1..=MOST_RANKS).contains(ranks)).ok_or(expected)
}
