# Sourced by every script here: where the repository is, a headline, and the time at the end.
#
# Each script can be run alone from anywhere: `bash ci/clippy.sh`. Nothing here installs anything;
# only .ci/run does.

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
