"""Processes of our own: started, bounded, adopted, ended.

Invariant: only descendants of this process are ever signalled, and none outlives the call that started
it. What escapes from its process group is adopted by this process (child subreaper) and found through
its parent's id. Neighbours: peers.py installs and builds through `checked`; measure.py runs twins.
"""

import ctypes
import os
import signal
import subprocess
import time
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
GRACE_S = 2.0

# A setting of the caller's shell would change what is measured, so none of these is passed on.
FOREIGN_PREFIXES = ("OMPI_", "PMIX_", "PRTE_", "PMI_", "I_MPI_", "MPICH_", "MPIR_", "HYDRA_", "FI_", "UCX_", "SLURM_",
                    "RINGWORLD_", "NCCL_", "MASTER_", "MPI_", "GLOO_", "TORCH_", "OMP_")
FOREIGN_NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NUM_NODES", "LD_LIBRARY_PATH", "LD_PRELOAD")


class CommandFailed(Exception):
    """A command that did not do its work; the text says which and why."""


def clean_environment():
    """The caller's environment without any setting of any peer or scheduler."""
    return {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(FOREIGN_PREFIXES) and key not in FOREIGN_NAMES
    }


def checked(command, doing, timeout, directory, environment=None):
    """Runs a command to its end and returns what it printed; otherwise `CommandFailed`, in one sentence."""
    try:
        # A session of its own, so that a compiler started by cargo or pip ends together with it.
        process = subprocess.Popen(
            [str(part) for part in command], cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=environment, text=True, errors="replace", start_new_session=True)
    except OSError as error:
        raise CommandFailed(f"{doing} failed: {command[0]} cannot be started ({error.strerror})") from error
    try:
        output, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired as error:
        raise CommandFailed(f"{doing} took more than {timeout} s") from error
    finally:
        if process.poll() is None:
            os.killpg(process.pid, 9)
            process.communicate()
    if process.returncode != 0:
        raise CommandFailed(f"{doing} failed: {gist(errors) or gist(output) or f'exit code {process.returncode}'}")
    return output


def gist(text):
    """The line of an error output that most likely tells the cause."""
    lines = [line.strip() for line in text.splitlines() if any(c.isalnum() for c in line)]
    for line in lines:
        if line.lower().startswith(("error", "twin:", "fatal")) or " error" in line.lower():
            return line[:240]
    return lines[-1][:240] if lines else ""


def adopt_orphans():
    """Makes this process the parent of any descendant that loses its own, so that none can get away."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER) failed")


def descendants():
    """Ids of all living processes below this one."""
    children = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                # The name, in parentheses, may itself hold spaces and parentheses.
                fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
            except (OSError, UnicodeDecodeError):
                continue
            if fields[0] != "Z":
                children.setdefault(int(fields[1]), []).append(int(entry))
    found, queue = [], [os.getpid()]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found


def leftovers():
    """How many descendants are still there after a moment to end by themselves."""
    wait_for_end(GRACE_S)
    return len(descendants())


def end_descendants():
    """Ends every descendant: first asked, then made to."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in descendants():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        wait_for_end(GRACE_S)


def wait_for_end(seconds):
    """Waits until no descendant is left, at most so long."""
    deadline = time.monotonic() + seconds
    while descendants() and time.monotonic() < deadline:
        time.sleep(0.01)


def reap():
    """Collects adopted processes that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def status(code):
    """An exit status in words."""
    if code < 0:
        try:
            return f"signal {-code} ({signal.Signals(-code).name})"
        except ValueError:
            return f"signal {-code}"
    return f"exit code {code}"
