"""The scene `links`: four hosts on a switch, every cable held to a rate; how near to it do collectives come?

Hosts are network namespaces, cables veth pairs into a bridge; `tc tbf` holds both ends of each to the rate, so that sending and
receiving are limited apart. Plain sockets measure in the same minute what a cable can carry (rawlink.py). Needs root and
iproute2; namespaces are gone at the end, also after Ctrl-C. Neighbours: measure.py runs the twins, stats.py has the figures.
"""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from statistics import median

import stats
from measure import Run, execute, RunFailed
from peers import HERE, REPOSITORY, twin_path
from processes import CommandFailed, checked, clean_environment, end_descendants, reap
from stats import size_text
from tools import Progress

HOSTS = 4
# Rate as `tc` writes it: the largest size, because a vector of 64 MiB takes seconds on the slower one.
RATES = {"1gbit": 64 << 20, "200mbit": 16 << 20}
OPS = ("allreduce", "allgather")
SMALLEST = 1 << 20
# Several segments as large as the kernel makes them, and a queue that loses little.
BURST, QUEUE = "128kb", "20ms"
RAW_S = 1.5
PORT = 29500
NAMED = 'echo "$1" > /proc/sys/kernel/hostname; shift; exec "$@"'
AGENT = HERE / "netns-agent"


@dataclass
class LinkSample:
    """One collective of one peer at one rate, beside what plain sockets carried then."""

    round: int
    rate: str
    peer: str
    op: str
    bytes: int
    seconds: float
    # Bytes per second, one way, while the other way is as busy.
    limit: float

    @property
    def share(self):
        """The part of the wire's limit that was reached."""
        return least_seconds(self.op, HOSTS, self.bytes, self.limit) / self.seconds


def least_seconds(op, hosts, size, limit):
    """The time that no algorithm can beat: every host has to send, and to receive, so much over its one cable."""
    share = (hosts - 1) / hosts * (2 if op == "allreduce" else 1)
    return share * size / limit


class Network:
    """The hosts; gone when the block ends."""

    def __init__(self, rate):
        self.rate, self.prefix = rate, f"rwl{os.getpid()}"
        self.hosts = [f"{self.prefix}h{i}" for i in range(HOSTS)]
        self.addresses = [f"10.78.0.{i + 1}" for i in range(HOSTS)]

    def __enter__(self):
        switch = f"{self.prefix}s"
        try:
            ip("netns", "add", switch)
            ip("-n", switch, "link", "add", "br0", "type", "bridge")
            ip("-n", switch, "link", "set", "br0", "up")
            for i, (host, address) in enumerate(zip(self.hosts, self.addresses)):
                ip("netns", "add", host)
                ip("-n", host, "link", "set", "lo", "up")
                ip("-n", host, "link", "add", "eth0", "type", "veth", "peer", "name", f"port{i}", "netns", switch)
                ip("-n", switch, "link", "set", f"port{i}", "master", "br0", "up")
                ip("-n", host, "addr", "add", f"{address}/24", "dev", "eth0")
                ip("-n", host, "link", "set", "eth0", "up")
                for namespace, device in ((host, "eth0"), (switch, f"port{i}")):
                    checked(["tc", "-n", namespace, "qdisc", "add", "dev", device, "root", "tbf", "rate", self.rate, "burst", BURST,
                             "latency", QUEUE], f"limiting a cable to {self.rate}", 20, REPOSITORY)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for namespace in [*self.hosts, f"{self.prefix}s"]:
            subprocess.run(["ip", "netns", "del", namespace], capture_output=True, check=False)

    def within(self, i):
        """What runs a command on that host, under the host's own name."""
        return ["ip", "netns", "exec", self.hosts[i], "unshare", "--uts", "sh", "-c", NAMED, "sh", f"node{i}"]

    def raw(self):
        """Bytes per second of plain sockets between two hosts: the lower of both directions."""
        command = [sys.executable, HERE / "rawlink.py"]
        words = [self.addresses[0], str(PORT), str(RAW_S)]
        ends = [subprocess.Popen([*self.within(i), *map(str, command), role, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                for i, role in enumerate(("listen", "connect"))]
        texts = [end.communicate(timeout=60) for end in ends]
        for end, (_, errors) in zip(ends, texts):
            if end.returncode != 0:
                raise CommandFailed(f"measuring the cable with plain sockets failed: {errors.strip()[-200:]}")
        return min(float(output) for output, _ in texts)


def ip(*words):
    """Runs `ip`."""
    checked(["ip", *words], f"`ip {' '.join(words)}`", 20, REPOSITORY)


def starter(peer, network, arguments):
    """The command that starts a peer's twin on all hosts, and its environment; None for a peer that has no way."""
    environment = peer.environment() | {"PEERS_NAMESPACES": network.prefix, "FI_TCP_IFACE": "eth0"}
    hosts = ",".join(network.addresses)
    if peer.name == stats.OURS:
        # No launcher at all: the same program on every host, joined at the first.
        ranks = "\n".join(" ".join(["RANK=" + str(i), *quoted(network.within(i)), *quoted([peer.binaries / "twin", *arguments]), "& ranks+=($!)"])
                          for i in range(HOSTS))
        environment |= {"MASTER_NODE": network.addresses[0], "MASTER_PORT": str(PORT), "WORLD_SIZE": str(HOSTS)}
        # One that fails takes the others along, so their order does not matter.
        return ["bash", "-c", ranks + '\nfor rank in "${ranks[@]}"; do wait "$rank" || exit 1; done'], environment
    if peer.name in ("mpich", "impi-rt"):
        command = [peer.venv / "bin" / peer.launcher, "-launcher", "ssh", "-launcher-exec", AGENT, "-iface", "eth0", "-hosts", hosts,
                   "-np", HOSTS, "-ppn", 1, twin_path(peer.compiler), *arguments]
        return [*network.within(0), *command], environment
    if peer.name == "openmpi":
        slots = ",".join(f"{address}:1" for address in network.addresses)
        command = [peer.venv / "bin" / "mpirun", "--allow-run-as-root", "--prtemca", "plm_ssh_agent", AGENT, "--prtemca", "prte_if_include",
                   "eth0", "--host", slots, "--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "eth0",
                   "-np", HOSTS, twin_path(peer.compiler), *arguments]
        return [*network.within(0), *command], environment
    return None


def quoted(words):
    """Words for a shell."""
    return ["'" + str(word).replace("'", "'\\''") + "'" for word in words]


def measure_links(options, peers, notes):
    """Every peer at every rate; what cannot be done is noted. Returns the samples."""
    samples = []
    if os.geteuid() != 0:
        notes.append("The scene `links` is left out: network namespaces need root.")
        return samples
    able = [peer for peer in peers.values() if peer.links]
    unable = [peer.title for peer in peers.values() if not peer.links]
    if unable:
        notes.append(f"Not on limited links, for want of a launcher that can be sent to other hosts: {', '.join(unable)}.")
    progress = Progress(len(options.rates) * (len(able) + 1))
    for rate in options.rates:
        try:
            with Network(rate) as network:
                progress.step(f"links, {rate}, plain sockets")
                limits, found = [network.raw()], []
                for peer in able:
                    progress.step(f"links, {rate}, {peer.title}")
                    found += one(peer, network, options, notes)
                # The better of two: something else that ran meanwhile must not make the limit easier to reach.
                limits.append(network.raw())
                samples += [LinkSample(1, rate, name, line.op, line.bytes, line.median_s, max(limits)) for name, line in found]
        except CommandFailed as error:
            notes.append(f"The scene `links` at {rate} is left out: {error}.")
    progress.end("links done")
    return samples


def one(peer, network, options, notes):
    """One peer at one rate: its name with every line."""
    arguments = [",".join(OPS), max(SMALLEST, options.min), min(RATES[network.rate], options.max), options.budget]
    command, environment = starter(peer, network, arguments)
    run = Run()
    try:
        execute(run, [str(part) for part in command], environment, OPS, time.monotonic(), options.timeout)
        if not run.lines:
            raise RunFailed("printed no measurement")
    except RunFailed as error:
        notes.append(f"{peer.title} on links of {network.rate} is incomplete: it {error}.")
    finally:
        end_descendants()
        reap()
    return [(peer.name, line) for line in run.lines]


def links_report(samples, peers):
    """Markdown lines: percentages of the limit."""
    if not samples:
        return []
    lines = ["", "### Four hosts on limited links, part of the wire's limit", "",
             f"Of *b* bytes on {HOSTS} hosts each has to send and receive 2·{HOSTS - 1}/{HOSTS}·*b* for an all-reduce and {HOSTS - 1}/{HOSTS}·*b* for an all-gather; the limit is "
             "the time that takes at the payload rate of plain sockets over the same cable, both ways at once, in the same run. "
             f"A cable lets {BURST} through at once, which small sizes gain from: they can come out above 100 %."]
    present = [peer for peer in peers.values() if any(sample.peer == peer.name for sample in samples)]
    for rate in dict.fromkeys(sample.rate for sample in samples):
        here = [sample for sample in samples if sample.rate == rate]
        lines += ["", f"{rate}, plain sockets {median(sample.limit for sample in here) * 8 / 1e6:.0f} Mbit/s:", "",
                  "| operation | size | " + " | ".join(peer.title for peer in present) + " |", "|---" * (len(present) + 2) + "|"]
        for op in OPS:
            for size in sorted({sample.bytes for sample in here if sample.op == op}):
                shares = {sample.peer: sample.share for sample in here if (sample.op, sample.bytes) == (op, size)}
                texts = [f"{100 * shares[peer.name]:.1f} %" if peer.name in shares else "–" for peer in present]
                lines.append(f"| {op} | {size_text(size)} | " + " | ".join(texts) + " |")
    return lines
