# Sourced by every script here: where the repository is, a headline, and the time at the end.
#
# Each script can be run alone from anywhere: `bash ci/clippy.sh`. Only msrv.sh, unused.sh and public-api.sh fetch what
# they need, the last two with CI set; what the system lacks, .ci/run installs.

set -euo pipefail
export LC_ALL=C

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

# One target directory for all of CI, also for the clone that ci/test.sh makes.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/target}"
export CARGO_NET_RETRY="${CARGO_NET_RETRY:-5}"

headline() {
    SECONDS=0
    title=$1
    printf '\n=== %s\n' "$title"
}

finished() {
    printf -- '--- %s: passed in %d s\n' "$title" "$SECONDS"
}

fail() {
    printf -- '--- %s: FAILED: %s\n' "${title:-ci}" "$*" >&2
    exit 1
}

# For what is missing on this machine and may be missing: loud, and told from success by its status.
skip() {
    printf -- '--- %s: SKIPPED: %s\n' "${title:-ci}" "$*"
    exit 77
}

# A tool of crates.io, of one version, in the target folder: fetched where it is not there, once, and only with CI set.
# Unoptimised and without debug information: to build it takes longer than it runs.
need_tool() { # crate, version, limit in seconds
    local tools=$CARGO_TARGET_DIR/tools
    PATH=$tools/bin:$PATH
    ! command -v "$1" >/dev/null || return 0
    [ -n "${CI:-}" ] || skip "$1 is not installed (cargo install --locked $1@$2)"
    CARGO_TARGET_DIR=$tools/target CARGO_PROFILE_DEV_DEBUG=0 timeout "$3" cargo install --debug --quiet --locked --root "$tools" "$1@$2" </dev/null ||
        skip "$1 could not be installed"
    rm -rf "$tools/target"
}
