//! The command line: what can be asked for, parsed once into types that cannot be wrong.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::Parser as _;
use ringworld_collectives::Collective;

use crate::hosts::{Rsh, Slots};
use crate::units;

/// The whole command line.
#[derive(Debug, clap::Parser)]
#[command(name = "ringworld", version, about = "Start, explain and measure ringworld jobs")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const RUN_EXAMPLES: &str = "\
Examples:
  ringworld run -n 8 ./trainer --epochs 20                 eight ranks on this host
  ringworld run -n 4 --tag-output -- ./trainer -v          lines begin with their rank
  ringworld run -n 4 --nnodes 2 --master n0:29500 ./trainer
                                                           on both of two hosts, of which n0 is one
  ringworld run -n 4 --timeout 10m -x RUST_BACKTRACE=1 ./trainer
  ringworld run -n 4 --stdin none ./trainer                in a shell's loop that reads, too
  ringworld run -n 4 --wdir /scratch/7 ./trainer           elsewhere
  ringworld run -n 64 --output-dir logs ./trainer          logs/rank-0.log to logs/rank-63.log
  ringworld run --hosts n0:4,n1:4 ./trainer                eight ranks on two hosts, started there by ssh
  ringworld run -n 6 --hostfile nodes --rsh 'podman exec -i {host}' ./trainer
                                                           by another command, on what the file lists
  ringworld run -n 1 ./server : -n 4 ./client              ranks of two programs in one world
  ringworld run -n 4 --trace job.json ./trainer            and its timeline for ui.perfetto.dev
  ringworld run -n 8 --restarts 5 --min-ranks 6 ./trainer  goes on after failures, if it calls World::recover
Options after the program's name are the program's own.
OMP_NUM_THREADS and RAYON_NUM_THREADS are set where they are not: to the processors that may be used, divided by
the ranks of this host, at least 1; with --bind-to core they are left alone.
The exit status is that of the first rank that failed, 128 + signal when a signal ended it, and
124 after --timeout. With --restarts or --min-ranks it is 0 also after failures, if the others have ended well;
else that of the first failure that could not be mended.";

const INFO_EXAMPLES: &str = "\
Examples:
  ringworld info                                           what is set, and who is the master
  ringworld info --tuning all-reduce --ranks 8             which algorithm serves which size
  ringworld info --tuning --ranks 64 --ranks-per-host 8    the same on eight hosts, with eight ranks on each
  ringworld run -n 4 ringworld info --join                 which transport leads where";

const STATUS_EXAMPLES: &str = "\
Examples:
  ringworld status --pid 4711                              of a launcher or a rank of this host, and this user
  ringworld status --master n0:29500 --watch               from anywhere; with a secret, RINGWORLD_SECRET_FILE
  ringworld status --pid 4711 --json | jq .summary         for programs";

const TRACE_EXAMPLES: &str = "\
Examples:
  ringworld run -n 4 --trace job.json ./trainer            a job that is traced, on this host
  ringworld trace job.json                                 its summary; ui.perfetto.dev opens the file
  RINGWORLD_TRACE=/tmp/job srun -N4 ./trainer              on several hosts, each into a folder of its own
  ringworld trace n0/job n1/job -o job.json --svg job.svg  put together, wherever the folders were copied to";

const BENCH_EXAMPLES: &str = "\
Examples:
  ringworld bench                                          two ranks on this host, 8 bytes to 64 MiB
  ringworld bench -n 4 --ops all-reduce --min 1K --max 1M
  ringworld run -n 1 --nnodes 2 --master n0:29500 ringworld bench --join
                                                           between two hosts: this line on both
Comparisons with Open MPI and others are in benches/peers.";

const CHECK_EXAMPLES: &str = "\
Examples:
  ringworld run -n 1 --nnodes 4 --master n0:29500 ringworld check
                                                           on each of four hosts: every link between them
  srun -N4 --ntasks-per-node=1 ringworld check --svg links.svg
  ringworld run -n 4 ringworld check                       between the ranks of this host
The exit status is 0 when everybody is reached and the limits suffice, 1 when not; what is slow is named either way.";

const SIMULATE_EXAMPLES: &str = "\
Examples:
  ringworld simulate all-reduce -n 4096 --size 64M
  ringworld simulate broadcast -n 64 --size 1M --latency 2us --bandwidth 100Gbit/s --svg broadcast.svg";

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  ringworld explain all-reduce -n 6 --size 4K --algorithm ring --svg ring.svg
  ringworld explain broadcast -n 64 --rank 0-7             the first eight of many ranks";

const CC_EXAMPLES: &str = "\
Examples:
  ringworld mpi install                                    once: puts header and library in their place
  ringworld cc -O2 -o program program.c && ringworld run -n 4 ./program
  ringworld cc --show                                      what is told to the compiler
  make CC='ringworld cc'
Whatever is given is the compiler's: `ringworld cc --help` is its help, `ringworld help cc` is this.";

const CXX_EXAMPLES: &str = "\
Examples:
  ringworld c++ -O2 -o program program.cc && ringworld run -n 4 ./program
  ringworld c++ --show                                     what is told to the compiler
Whatever is given is the compiler's, as with `ringworld cc`; see `ringworld help cc`.";

/// What to do.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Start ranks on this host, or on several, and take them all down together
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunOptions),
    /// Show what a rank started here would use, and why: transports, interfaces, settings
    #[command(after_help = INFO_EXAMPLES)]
    Info(InfoOptions),
    /// Before a long job, as one rank of it on each host: who reaches whom, how fast, and which link is slow
    #[command(after_help = CHECK_EXAMPLES)]
    Check(crate::check::Options),
    /// Show what a running job does, also while it hangs: each rank's call, its place, since when, and who is late
    #[command(after_help = STATUS_EXAMPLES)]
    Status(StatusOptions),
    /// Show what a job has done: time by call, who waited for whom; and write a timeline for Perfetto
    #[command(after_help = TRACE_EXAMPLES)]
    Trace(crate::trace::Options),
    /// Measure messages and collectives between ranks of this host
    #[command(after_help = BENCH_EXAMPLES)]
    Bench(BenchOptions),
    /// Time a collective on any number of ranks, in virtual time: every algorithm beside its model
    #[command(after_help = SIMULATE_EXAMPLES)]
    Simulate(crate::simulate::Options),
    /// Show what an algorithm does: every message of every rank, and when
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(crate::explain::Options),
    /// Show where the libraries for programs made for MPI are, or install them
    Mpi(crate::mpi::Options),
    /// Compile a program made for MPI, in C: the system's compiler (CC, or cc) with our header and library
    #[command(after_help = CC_EXAMPLES, disable_help_flag = true)]
    Cc(crate::mpi::compiler::Options),
    /// Compile a program made for MPI, in C++: the system's compiler (CXX, or c++) with our header and library
    #[command(name = "c++", after_help = CXX_EXAMPLES, disable_help_flag = true)]
    Cxx(crate::mpi::compiler::Options),
    /// Print what completes this command line in a shell: `source <(ringworld completions bash)`
    Completions(CompletionsOptions),
}

/// `ringworld status`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct StatusOptions {
    /// Where the job meets; without, as MASTER_NODE and the other settings say. A job with a secret answers only if
    /// RINGWORLD_SECRET or RINGWORLD_SECRET_FILE is the same here
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "pid")]
    pub(crate) master: Option<Endpoint>,
    /// The job of this process of this host and this user: its launcher, or one of its ranks
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Option<u32>,
    /// Ask again and again, until the job has ended or is interrupted
    #[arg(long)]
    pub(crate) watch: bool,
    /// Seconds between two answers, with --watch
    #[arg(long, value_name = "S", value_parser = units::duration, default_value = "1s", requires = "watch")]
    pub(crate) every: Duration,
    /// One JSON object, on one line
    #[arg(long)]
    pub(crate) json: bool,
}

/// `ringworld run`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RunOptions {
    #[command(flatten)]
    pub(crate) first: Part,
    /// Parts after the first, which have other programs.
    #[arg(skip)]
    pub(crate) more: Vec<Part>,
    /// Start ranks on these hosts, so many on each at most (1 where nothing is said), as by ssh: a:4,b:4
    #[arg(long, value_name = "HOST:N,…", value_parser = Slots::of_list, conflicts_with_all = ["nnodes", "hostfile"])]
    pub(crate) hosts: Option<Slots>,
    /// The same, from a file with a host on each line: `a slots=4`; # begins a comment
    #[arg(long, value_name = "FILE", conflicts_with = "nnodes")]
    pub(crate) hostfile: Option<PathBuf>,
    /// How to start a program on another host: a command, to which host and program are added, or the program only
    /// where {host} stands in it for the host
    #[arg(long, value_name = "COMMAND", default_value = "ssh -x -o BatchMode=yes", value_parser = Rsh::parse)]
    pub(crate) rsh: Rsh,
    /// Where this program is on the other hosts, if not where it is here; without a / it is looked for there
    #[arg(long, value_name = "PATH")]
    pub(crate) remote: Option<String>,
    /// Hosts in the job; start the same line on each of them
    #[arg(long, value_name = "M", value_parser = positive, requires = "master")]
    pub(crate) nnodes: Option<usize>,
    /// Where the ranks of all hosts meet: an address or name of one of the hosts, and a free port on it; with --hosts
    /// of this one
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) master: Option<Endpoint>,
    /// Let the world go on when a rank fails, and start that rank again, with an empty standard input, to join it; so
    /// often in all, for the ranks that this launcher has started
    #[arg(long, value_name = "N")]
    pub(crate) restarts: Option<usize>,
    /// Let the world go on, also without ranks for which no restart is left, as long as so many of all ranks are (1 if
    /// nothing is said); the job ends with fewer. With --nnodes each launcher takes the ranks of the others to be well
    #[arg(long, value_name = "M", value_parser = positive)]
    pub(crate) min_ranks: Option<usize>,
    /// With --restarts or --min-ranks: how many ranks the world lets in, also of those that come by themselves
    #[arg(long, value_name = "X", value_parser = positive)]
    pub(crate) max_ranks: Option<usize>,
    /// Trace the ranks and write their timeline to this file at the end, for ui.perfetto.dev and `ringworld trace`; on
    /// several hosts of which each has a launcher use RINGWORLD_TRACE instead
    #[arg(long, value_name = "FILE", conflicts_with = "nnodes")]
    pub(crate) trace: Option<PathBuf>,
    /// Print at the end what all ranks have counted: one table for the world, and the ranks that stand out; not with
    /// --hosts, --hostfile and --nnodes, where each rank prints its own with RINGWORLD_STATISTICS=1
    #[arg(long, conflicts_with_all = ["nnodes", "hosts", "hostfile"])]
    pub(crate) statistics: bool,
    /// Begin every line of output with the rank that wrote it
    #[arg(long)]
    pub(crate) tag_output: bool,
    /// Begin every line of output with the time (UTC) at which it arrived
    #[arg(long)]
    pub(crate) timestamp_output: bool,
    /// End the job, with exit status 124, once it has run this long (90, 90s, 5m, 1h30m)
    #[arg(long, value_name = "S", value_parser = units::duration)]
    pub(crate) timeout: Option<Duration>,
    /// How long ranks told to end may take before they are killed
    #[arg(long, value_name = "S", value_parser = units::duration, default_value = "2s")]
    pub(crate) grace: Duration,
    /// Which of the ranks started here read the standard input: none, all, or this one
    #[arg(long, value_name = "RANK", default_value = "0")]
    pub(crate) stdin: Stdin,
    /// Bind each rank to a core of its own, all threads of it; cores are given out evenly and in order
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = BindTo::None)]
    pub(crate) bind_to: BindTo,
    /// Write the output of each rank, of both its streams, to a file of its own in this folder, rank-0.log and so on
    #[arg(long, value_name = "DIR", conflicts_with = "tag_output")]
    pub(crate) output_dir: Option<PathBuf>,
}

impl RunOptions {
    /// With this part alone, and everything else as if nothing were said.
    pub(crate) fn of(first: Part) -> Self {
        Self {
            first,
            more: Vec::new(),
            hosts: None,
            hostfile: None,
            rsh: Rsh::default(),
            remote: None,
            nnodes: None,
            master: None,
            restarts: None,
            min_ranks: None,
            max_ranks: None,
            trace: None,
            statistics: false,
            tag_output: false,
            timestamp_output: false,
            timeout: None,
            grace: Duration::from_secs(2),
            stdin: Stdin::Rank(0),
            bind_to: BindTo::None,
            output_dir: None,
        }
    }
}

/// A program and what belongs to it. Others may follow, each after a `:`.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Part {
    /// Ranks to start; 1 if nothing is said, or with --hosts as many as there is room for
    #[arg(short, long = "ranks", value_name = "N", value_parser = positive)]
    pub(crate) n: Option<usize>,
    /// Start the ranks in this folder; the program is still looked for from here
    #[arg(long, value_name = "DIR")]
    pub(crate) wdir: Option<PathBuf>,
    /// For programs made for MPI: have them find ringworld's libraries, by LD_LIBRARY_PATH
    #[arg(long)]
    pub(crate) mpi: bool,
    /// Set an environment variable for the ranks; may be repeated
    #[arg(short = 'x', long = "env", value_name = "KEY=VALUE")]
    pub(crate) env: Vec<Assignment>,
    /// The program and its arguments; after a `:` the options of another part and its program
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    pub(crate) program: Vec<OsString>,
}

/// A part after the first.
#[derive(Debug, clap::Parser)]
#[command(
    name = "ringworld run … :",
    override_usage = "… : [-n N] [-x KEY=VALUE] [--wdir DIR] [--mpi] <PROGRAM>..."
)]
struct Another {
    #[command(flatten)]
    part: Part,
}

/// What stands between parts.
const BETWEEN: &str = ":";

/// Parses a whole command line, of which the first word is this program.
///
/// # Errors
///
/// What clap has to say, which may be help.
pub(crate) fn parse(line: impl Iterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let words: Vec<OsString> = line.collect();
    if words.get(1).is_none_or(|word| word != "run") {
        return Cli::try_parse_from(words);
    }
    let mut parts = words.split(|word| word == BETWEEN);
    let mut cli = Cli::try_parse_from(parts.next().unwrap_or_default())?;
    if let Command::Run(options) = &mut cli.command {
        for part in parts {
            let named = [OsString::from("ringworld run … :")].into_iter().chain(part.iter().cloned());
            options.more.push(Another::try_parse_from(named)?.part);
        }
    }
    Ok(cli)
}

/// `ringworld info`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct InfoOptions {
    /// Also list the settings that are at their defaults, with the reasons
    #[arg(long)]
    pub(crate) all: bool,
    /// Show instead which algorithm serves which size of each collective
    #[arg(long, conflicts_with = "all")]
    pub(crate) tuning: bool,
    /// With --tuning: of this collective only, such as all-reduce
    #[arg(value_name = "COLLECTIVE", value_parser = crate::network::collective, requires = "tuning")]
    pub(crate) collective: Option<Collective>,
    /// With --tuning: in a world of so many ranks, with the reasons
    #[arg(long, short = 'n', value_name = "N", value_parser = crate::network::ranks, requires = "tuning")]
    pub(crate) ranks: Option<usize>,
    /// With --tuning: where so many ranks, in their order, share a host; as many as there are: all share one
    #[arg(long, value_name = "N", value_parser = crate::network::ranks, requires = "tuning")]
    pub(crate) ranks_per_host: Option<usize>,
    /// Be one rank of the world that the environment describes, and show instead by which transport each rank
    /// reaches each other, and why
    #[arg(long, conflicts_with_all = ["tuning", "all"])]
    pub(crate) join: bool,
}

/// `ringworld completions`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CompletionsOptions {
    /// For which shell
    pub(crate) shell: clap_complete::Shell,
}

/// `ringworld bench`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct BenchOptions {
    /// Ranks to start
    #[arg(short, long = "ranks", value_name = "N", default_value = "2", value_parser = positive)]
    pub(crate) n: usize,
    /// What to measure, with spaces or commas between
    #[arg(long, value_enum, value_delimiter = ',', num_args = 1.., default_values = ["ping-pong", "all-reduce"])]
    pub(crate) ops: Vec<Operation>,
    /// Smallest size (8, 64K, 1M)
    #[arg(long, value_name = "BYTES", default_value = "8", value_parser = size)]
    pub(crate) min: usize,
    /// Largest size
    #[arg(long, value_name = "BYTES", default_value = "64M", value_parser = size)]
    pub(crate) max: usize,
    /// About how long to measure each size
    #[arg(long, value_name = "S", default_value = "500ms", value_parser = units::duration)]
    pub(crate) budget: Duration,
    /// Time every call by itself instead of batches of them: the median, least and most of single calls
    #[arg(long)]
    pub(crate) each: bool,
    /// How to print
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: Format,
    /// Be one rank of the world that the environment describes, instead of starting ranks
    #[arg(long, conflicts_with = "n")]
    pub(crate) join: bool,
}

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Operation {
    /// A message to and fro between ranks 0 and 1
    PingPong,
    /// Messages from rank 0 to rank 1, several at a time; the time is that of one
    Stream,
    /// The sum of 32-bit floats over all ranks
    AllReduce,
}

impl std::fmt::Display for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::PingPong => "ping-pong",
            Self::Stream => "stream",
            Self::AllReduce => "all-reduce",
        })
    }
}

/// How measurements are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// Aligned, for people
    Table,
    /// Comma-separated, in bytes and seconds
    Csv,
    /// One JSON object per line, in bytes and seconds
    Json,
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Table => "table",
            Self::Csv => "csv",
            Self::Json => "json",
        })
    }
}

/// Bytes, optionally in units of 1024 (`K`), 1024 K (`M`) or 1024 M (`G`); whole 32-bit floats.
fn size(text: &str) -> Result<usize, String> {
    let expected = "expected a number of bytes, 4 or more, such as 8, 64K or 1M";
    let (digits, shift) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (text.get(..at), 10),
        Some((at, 'm' | 'M')) => (text.get(..at), 20),
        Some((at, 'g' | 'G')) => (text.get(..at), 30),
        _ => (Some(text), 0),
    };
    let number = digits.and_then(|digits| digits.parse::<usize>().ok()).ok_or(expected)?;
    match number.checked_mul(1 << shift) {
        Some(bytes) if bytes >= 4 && bytes % 4 == 0 => Ok(bytes),
        Some(bytes) if bytes >= 4 => {
            Err("expected a multiple of 4, since sums are of 32-bit floats".to_owned())
        }
        _ => Err(expected.to_owned()),
    }
}

fn positive(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("a job needs at least one; give 1 or more".to_owned()),
        Ok(n) => Ok(n),
        Err(_) => Err("expected a whole number, 1 or more".to_owned()),
    }
}

/// What ranks are bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize, serde::Deserialize)]
pub(crate) enum BindTo {
    /// A core for each rank
    Core,
    /// Whatever the launcher may use
    None,
}

/// Who gets the launcher's standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Stdin {
    /// Nobody; the launcher does not touch it.
    None,
    /// Every rank of this host, all of it.
    All,
    /// This local rank.
    Rank(usize),
}

impl Stdin {
    /// Whether this local rank does.
    pub(crate) fn is_for(self, local: usize) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Rank(rank) => rank == local,
        }
    }
}

impl FromStr for Stdin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::None),
            "all" => Ok(Self::All),
            rank => rank
                .parse()
                .map(Self::Rank)
                .map_err(|_| "expected none, all, or a local rank such as 0".to_owned()),
        }
    }
}

/// `HOST:PORT`; an IPv6 address stands in brackets.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Endpoint {
    /// A name, an IPv4 address, or an IPv6 address without its brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "expected HOST:PORT, such as node0:29500 or [2001:db8::1]:29500";
        let (host, port) = text.rsplit_once(':').ok_or_else(|| format!("the port is missing; {expected}"))?;
        let port = match port.parse() {
            Ok(0) => {
                return Err("all hosts must know the port, so it cannot be 0; pick a free one".to_owned());
            }
            Ok(port) => port,
            Err(_) => return Err(format!("{port:?} is no port number; {expected}")),
        };
        let host = match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some(inner) if inner.parse::<std::net::Ipv6Addr>().is_ok() => inner,
            Some(inner) => return Err(format!("{inner:?} is no IPv6 address; {expected}")),
            None if host.contains(':') => {
                return Err(format!("an IPv6 address must stand in brackets; {expected}"));
            }
            None => host,
        };
        if host.is_empty() || host.contains(char::is_whitespace) {
            return Err(format!("the host is missing; {expected}"));
        }
        Ok(Self { host: host.to_owned(), port })
    }
}

/// `KEY=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assignment {
    pub(crate) key: String,
    pub(crate) value: String,
}

impl FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((key, value)) if !key.is_empty() => {
                Ok(Self { key: key.to_owned(), value: value.to_owned() })
            }
            _ => Err("expected KEY=VALUE (ranks of this host inherit the variables of this shell anyway)"
                .to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    fn run(line: &[&str]) -> Result<RunOptions, String> {
        match parse([&["ringworld", "run"], line].concat().into_iter().map(OsString::from)) {
            Ok(Cli { command: Command::Run(options) }) => Ok(options),
            Ok(other) => Err(format!("{other:?} is no run")),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn what_to_measure_is_given_with_spaces_or_commas() {
        for line in [&["--ops", "ping-pong", "stream"][..], &["--ops", "ping-pong,stream"]] {
            let parsed = Cli::try_parse_from([&["ringworld", "bench"], line, &["--each"]].concat()).unwrap();
            let Command::Bench(options) = parsed.command else { panic!("{line:?} is no bench") };
            assert_eq!(options.ops, [Operation::PingPong, Operation::Stream], "{line:?}");
            assert!(options.each);
        }
    }

    #[test]
    fn the_examples_of_the_help_can_be_given() {
        let examples = [
            RUN_EXAMPLES,
            INFO_EXAMPLES,
            CHECK_EXAMPLES,
            BENCH_EXAMPLES,
            SIMULATE_EXAMPLES,
            EXPLAIN_EXAMPLES,
        ]
        .join("\n");
        let lines: Vec<&str> = examples.lines().filter(|line| line.starts_with("  ringworld ")).collect();
        assert!(lines.len() >= 12, "{lines:?}");
        for line in lines {
            // What comes after two blanks says what it does.
            let command = line.trim().split("  ").next().unwrap_or_default();
            let words = shell_words::split(command).unwrap();
            let parsed = parse(words.into_iter().map(OsString::from));
            assert!(parsed.is_ok(), "{command}: {}", parsed.unwrap_err());
        }
    }

    #[test]
    fn the_program_keeps_its_own_options() {
        let options = run(&["-n", "4", "--tag-output", "prog", "-n", "9", "--", "--help"]).unwrap();
        assert_eq!((options.first.n, options.tag_output), (Some(4), true));
        assert_eq!(options.first.program, ["prog", "-n", "9", "--", "--help"]);
        assert_eq!(run(&["-n", "2", "--", "prog", "-x"]).unwrap().first.program, ["prog", "-x"]);
    }

    #[test]
    fn parts_have_their_own_programs_and_options() {
        let options = run(&["-n", "1", "server", "-v", ":", "-n", "4", "-x", "A=b", "client", "::"]).unwrap();
        assert_eq!((options.first.n, options.first.program), (Some(1), vec!["server".into(), "-v".into()]));
        let [client] = &options.more[..] else { panic!("{:?}", options.more) };
        assert_eq!((client.n, client.env.len()), (Some(4), 1));
        assert_eq!(client.program, ["client", "::"]);
        assert!(run(&["server", ":"]).unwrap_err().contains("PROGRAM"));
        let told = run(&["server", ":", "-n", "x", "client"]).unwrap_err();
        assert!(told.contains("whole number"), "{told}");
        // Elsewhere it is a word like any other.
        assert!(parse(["ringworld", "cc", ":", "x"].into_iter().map(OsString::from)).is_ok());
    }

    #[test]
    fn sizes_take_binary_units() {
        for (text, bytes) in [("8", 8), ("64K", 65536), ("64m", 64 << 20), ("1G", 1 << 30)] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "K", "2", "10", "-8", "8 K", "99999999999999G", "8é"] {
            assert!(size(text).unwrap_err().starts_with("expected"), "{text}");
        }
    }

    #[test]
    fn endpoints_are_names_or_addresses_with_a_port() {
        for (text, host) in [("node0:29500", "node0"), ("10.0.0.1:29500", "10.0.0.1"), ("[::1]:29500", "::1")]
        {
            assert_eq!(text.parse(), Ok(Endpoint { host: host.to_owned(), port: 29500 }), "{text}");
        }
        for text in ["node0", "node0:", "node0:0", "node0:99999", ":29500", "::1:29500", "[x]:29500", "a b:1"]
        {
            let error = text.parse::<Endpoint>().unwrap_err();
            assert!(error.len() > 20, "{text}: {error}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_a_reason() {
        assert!(run(&["-n", "0", "p"]).unwrap_err().contains("at least one"));
        assert!(run(&["-n", "x", "p"]).unwrap_err().contains("whole number"));
        assert!(run(&["--nnodes", "2", "p"]).unwrap_err().contains("--master"));
        assert!(run(&["-x", "K", "p"]).unwrap_err().contains("KEY=VALUE"));
        assert!(run(&[]).unwrap_err().contains("PROGRAM"));
    }
}
