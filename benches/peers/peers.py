"""The contestants: how each is installed, how its twin is built and how it is started, over TCP or as it comes.

A peer is ready once `prepare` has returned; it raises `CommandFailed` with a sentence for the reader when
something is missing, and the comparison then goes on without it. Nothing here measures: see measure.py.
"""

import json
import os
import shutil
import sys
from pathlib import Path

from ops import OPERATIONS, SETS
from processes import CommandFailed, checked, clean_environment

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
VENVS = HERE / ".venv"
BUILD = HERE / "build"
TWIN_SOURCE = HERE / "twin.c"

OUR_PROGRAMS = (("ringworld-launcher", "ringworld"), ("ringworld-benches", "twin"))

INSTALL_TIMEOUT_S = 900
BUILD_TIMEOUT_S = 1800


class Peer:
    """What is true of a contestant unless it says otherwise."""

    ops = tuple(OPERATIONS)
    # The largest message it is asked for; None: whatever is asked of the others.
    largest = None
    # In how many rounds it takes part: a slow one would take the time of all others.
    rounds = None
    # Whether its start-up is timed, and whether it can be started on other hosts.
    starts, links = True, True
    # A sentence that the report must not leave out.
    remark = ""
    # Not kept on TCP: between ranks of one host, whatever the library thinks best.
    as_it_comes = False


class MpiPeer(Peer):
    """An MPI library from a wheel, in a virtual environment of its own because their files collide."""

    def __init__(self, name, title, package, version, compiler, launcher, options, tcp_options, oversubscribed, settings, tcp_settings):
        self.name, self.title, self.package, self.version = name, title, package, version
        self.compiler, self.launcher = compiler, launcher
        self.options, self.tcp_options, self.oversubscribed = options, tcp_options, oversubscribed
        self.settings, self.tcp_settings = settings, tcp_settings
        self.venv = VENVS / name

    def prepare(self):
        """Installs the library and builds the twin, each only when that has not been done."""
        install(self.venv, f"{self.package}=={self.version}")
        if self.compiler.name != self.name:
            install(self.compiler.venv, f"{self.compiler.package}=={self.compiler.version}")
        build_twin(self.compiler)

    def command(self, ranks, arguments):
        """What to start for so many ranks."""
        options = self.options + ([] if self.as_it_comes else self.tcp_options)
        options += self.oversubscribed if ranks > cores() else []
        return [self.venv / "bin" / self.launcher, *options, "-np", ranks, twin_path(self.compiler), *arguments]

    def environment(self):
        """The variables that the library needs, and those that keep it on TCP over loopback."""
        environment = clean_environment()
        environment["PATH"] = f"{self.venv / 'bin'}:{environment.get('PATH', '/usr/bin:/bin')}"
        settings = self.settings | ({} if self.as_it_comes else self.tcp_settings)
        environment.update({key: value.replace("{venv}", str(self.venv)) for key, value in settings.items()})
        return environment


class Ringworld(Peer):
    """Our side: the Rust twin, started by our launcher, both built from this work tree."""

    name, title, version = "ringworld", "ringworld", "work tree"

    def __init__(self):
        self.binaries = None

    def prepare(self):
        """Builds launcher and twin in release mode."""
        self.binaries = built(*OUR_PROGRAMS)

    def command(self, ranks, arguments):
        """What to start for so many ranks."""
        return [self.binaries / "ringworld", "run", "-n", ranks, "--", self.binaries / "twin", *arguments]

    def environment(self):
        """TCP only, like every other side, or what it chooses itself."""
        return clean_environment() | ({} if self.as_it_comes else {"RINGWORLD_TRANSPORT": "tcp"})


class Before(Ringworld):
    """ringworld as it was at some commit, measured by the twin of this work tree.

    The sources of that commit lie below `build`, with this tree's measuring programs put in: so both builds run
    the same operations, also those that the commit had no benchmark of.
    """

    name, title, links = "before", "ringworld before", False

    def __init__(self, revision):
        super().__init__()
        self.revision, self.version = revision, revision

    def prepare(self):
        """Unpacks the commit, unless that has been done, and builds launcher and twin."""
        command = ["git", "rev-parse", "--short=10", "--verify", f"{self.revision}^{{commit}}"]
        self.version = checked(command, f"looking for the commit {self.revision}", 60, REPOSITORY).strip()
        tree = BUILD / f"before-{self.version}"
        if not (tree / "unpacked").is_file():
            shutil.rmtree(tree, ignore_errors=True)
            tree.mkdir(parents=True)
            packed = tree / "sources.tar"
            checked(["git", "archive", f"--output={packed}", self.version], "packing the commit", 120, REPOSITORY)
            checked(["tar", "-xf", packed, "-C", tree], "unpacking the commit", 120, REPOSITORY)
            (tree / "unpacked").touch()
        # Times are kept, so that cargo builds again only what has changed.
        shutil.copytree(REPOSITORY / "benches" / "src", tree / "benches" / "src", dirs_exist_ok=True)
        self.binaries = built(*OUR_PROGRAMS, directory=tree, environment={**os.environ, "CARGO_TARGET_DIR": str(tree / "target")})


class MpiRs(Peer):
    """The crate `mpi-rs`, its twin and its launcher built apart from the workspace."""

    name, title, version = "mpi-rs", "mpi-rs", "0.1.0"
    ops = SETS["plain"]
    links, largest, rounds = False, 16 << 20, 2
    remark = ("up to 16 MiB only: at 64 MiB, when large messages go both ways between two ranks (bidir, allgather), it stops for "
              "good now and then, each rank waiting for the other.")

    def prepare(self):
        """Builds twin and launcher in release mode."""
        if not shutil.which("cargo"):
            raise CommandFailed("cargo is not on PATH; install Rust (https://rustup.rs)")
        environment = {**os.environ, "CARGO_TARGET_DIR": str(BUILD / "mpi-rs")}
        checked(["cargo", "build", "--release", "--locked"], "building the twin of mpi-rs with `cargo build --release --locked`",
                BUILD_TIMEOUT_S, HERE / "mpi-rs", environment)

    def command(self, ranks, arguments):
        """What to start for so many ranks."""
        built = BUILD / "mpi-rs" / "release"
        return [built / "mpiexec-mpi-rs", "-n", ranks, built / "twin-mpi-rs", *arguments]

    def environment(self):
        """It is on TCP unless built otherwise."""
        return clean_environment()


class Gloo(Peer):
    """Gloo as PyTorch brings it along; ranks are started by twin_gloo.py itself."""

    name, title, version = "gloo", "Gloo", "of PyTorch 2.15.0"
    ops = SETS["plain"]
    starts, links, rounds = False, False, 2
    remark = "called through torch.distributed from Python, which small messages pay for; its start-up, which is Python's, is not timed."
    venv = VENVS / "gloo"
    # There is no wheel without CUDA on the index, and it does not load without those libraries.
    needs_bytes = 8 << 30

    def prepare(self):
        """Installs PyTorch, where there is room."""
        if not (self.venv / "installed").is_file():
            free = shutil.disk_usage(HERE).free
            if free < self.needs_bytes:
                raise CommandFailed(f"PyTorch needs {self.needs_bytes >> 30} GiB of disk while it is installed, {free >> 30} GiB are free")
        install(self.venv, "torch==2.15.0 numpy")

    def command(self, ranks, arguments):
        """What to start for so many ranks."""
        return [self.venv / "bin" / "python", HERE / "twin_gloo.py", "--ranks", ranks, *arguments]

    def environment(self):
        """The transport of torch.distributed's gloo is TCP; this is the interface."""
        return {**clean_environment(), "GLOO_SOCKET_IFNAME": "lo"}


def built(*programs, directory=REPOSITORY, environment=None):
    """Builds programs of a work tree, (package, binary) each, as they are shipped; returns where they are."""
    if not shutil.which("cargo"):
        raise CommandFailed("cargo is not on PATH; install Rust (https://rustup.rs)")
    # A commit before there was that profile had the same settings in the other.
    manifest = (Path(directory) / "Cargo.toml").read_text(encoding="utf-8")
    profile = "dist" if "[profile.dist]" in manifest else "release"
    for package, binary in programs:
        command = ["cargo", "build", "--profile", profile, "-p", package, "--bin", binary]
        checked(command, f"building {binary} with `{' '.join(command)}` in {directory}", BUILD_TIMEOUT_S, directory, environment)
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--offline"]
    metadata = json.loads(checked(command, "asking cargo for its target directory", 120, directory, environment))
    return Path(metadata["target_directory"]) / profile


def cores():
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


def twin_path(compiler):
    """The C twin built with that peer's compiler."""
    return BUILD / f"twin-{compiler.name}"


def install(venv, requirement):
    """Makes the virtual environment and installs pinned packages, unless that has been done here."""
    # The stamp holds the path, because scripts inside do: a moved environment is made anew.
    stamp, wanted = venv / "installed", f"{requirement} {venv}\n"
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    shutil.rmtree(venv, ignore_errors=True)
    try:
        checked([sys.executable, "-m", "venv", venv], "making a virtual environment", INSTALL_TIMEOUT_S, REPOSITORY)
    except CommandFailed as error:
        raise CommandFailed(f"{error}; `python3 -m venv` must work (Debian: apt-get install python3-venv)") from error
    pip = [venv / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirement.split()]
    checked(pip, f"pip install {requirement}", INSTALL_TIMEOUT_S, REPOSITORY)
    stamp.write_text(wanted)


def build_twin(peer):
    """Compiles twin.c with the `mpicc` of a peer, when the source or the library is newer."""
    target = twin_path(peer)
    newest = max(TWIN_SOURCE.stat().st_mtime, (peer.venv / "installed").stat().st_mtime)
    if target.is_file() and target.stat().st_mtime > newest:
        return
    if not any(shutil.which(compiler) for compiler in ("gcc", "cc")):
        raise CommandFailed("no C compiler (gcc or cc) is on PATH; install one (Debian: apt-get install gcc libc6-dev)")
    BUILD.mkdir(exist_ok=True)
    mpicc = peer.venv / "bin" / "mpicc"
    command = [mpicc, "-O3", "-std=c11", "-pthread", "-Wall", "-Wextra", "-o", target, TWIN_SOURCE]
    checked(command, f"compiling twin.c with the mpicc of {peer.title}", BUILD_TIMEOUT_S, REPOSITORY, clean_environment())


def all_peers():
    """Every contestant by its name on the command line, ours first."""
    openmpi = MpiPeer(
        "openmpi", "Open MPI", "openmpi", "5.0.11", None, "mpirun",
        ["--allow-run-as-root"], ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo"],
        ["--oversubscribe"], {}, {})
    openmpi.compiler = openmpi
    # NOLOCAL takes away shared memory; the netmod then does everything.
    mpich = MpiPeer(
        "mpich", "MPICH", "mpich", "5.0.2", None, "mpiexec", [], [], [], {},
        {"MPIR_CVAR_CH4_NETMOD": "ofi", "MPIR_CVAR_NOLOCAL": "1", "FI_PROVIDER": "tcp", "FI_TCP_IFACE": "lo"})
    mpich.compiler = mpich
    # Same binary interface as MPICH and no compiler of its own. Without COLL_INTRANODE its small
    # collectives go through shared memory whatever the fabric is.
    intel = MpiPeer(
        "impi-rt", "Intel MPI", "impi-rt", "2021.18.1", mpich, "mpiexec.hydra", [], [], [],
        {"I_MPI_ROOT": "{venv}", "LD_LIBRARY_PATH": "{venv}/lib"},
        {"I_MPI_FABRICS": "ofi", "I_MPI_COLL_INTRANODE": "pt2pt", "FI_PROVIDER": "tcp", "FI_TCP_IFACE": "lo"})
    return {peer.name: peer for peer in (Ringworld(), openmpi, mpich, intel, Gloo(), MpiRs())}
