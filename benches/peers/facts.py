"""What a reader needs to judge or repeat the figures, and the files that keep them.

Neighbours: stats.py has the figures, report.py the tables. benches/overlap/run uses this module too.
"""

import csv
import platform
import subprocess
from datetime import datetime, timezone
from pathlib import Path


def stem(facts):
    """The name that all files of one comparison share."""
    return f"{facts['date'].replace(':', '').replace('-', '')}-{facts['commit']}"


def write_csv(path, header, rows, facts, notes=()):
    """Writes rows, with facts and notes as comments on top; returns the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        for key, value in [*facts.items(), *(("note", note) for note in notes)]:
            file.write(f"# {key}: {value}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
    return path


def machine_facts(repository, peers, plan):
    """What a reader needs to judge or repeat the figures."""
    cpuinfo = read("/proc/cpuinfo")
    models = [line.partition(":")[2].strip() for line in cpuinfo.splitlines() if line.startswith("model name")]
    memory = [line.split()[1] for line in read("/proc/meminfo").splitlines() if line.startswith("MemTotal")]
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "commit": commit(repository),
        "machine": f"{models[0] if models else platform.machine()}, {len(models)} cores, "
                   f"{int(memory[0]) / (1 << 20) if memory else 0:.0f} GiB",
        "system": f"Linux {platform.release()}, congestion control "
                  f"{read('/proc/sys/net/ipv4/tcp_congestion_control').strip() or 'unknown'}",
        "load at start": " ".join(read("/proc/loadavg").split()[:3]),
        "versions": ", ".join(f"{peer.title} {peer.version}" for peer in peers.values()),
        "plan": plan,
    }


def read(path):
    """A file's text, or nothing when it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def commit(repository):
    """Short hash of the commit, with a mark when the work tree differs from it."""
    def git(*arguments):
        return subprocess.run(["git", *arguments], cwd=repository, capture_output=True, text=True, check=True).stdout.strip()
    try:
        changed = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "--short=10", "HEAD") + ("-changed" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
