#!/usr/bin/env bash
# The README's test command, as a newcomer would type it, in a clean clone: `cargo test`.
#
# Only what is committed is tested; changes that are not are named, so that nobody is surprised.
source "$(dirname "$0")/lib.sh"
headline "test"

work=$(mktemp -d "${TMPDIR:-/tmp}/ringworld-ci.XXXXXX")
trap 'rm -rf "$work"' EXIT

if [ -n "$(git status --porcelain 2>/dev/null || true)" ]; then
    echo "note: this tree has changes that are not committed; the clone does not contain them"
fi
git clone --quiet "$root" "$work/ringworld"
cd "$work/ringworld"
echo "testing commit $(git rev-parse --short HEAD) in a clean clone"

# Most of these tests wait, for peers and for time to pass: a core each would be idle for half of it.
export RUST_TEST_THREADS="${RUST_TEST_THREADS:-$((2 * $(nproc)))}"
# All of it, whatever fails first: one run then shows everything that is wrong.
status=0
cargo test --no-fail-fast 2>&1 | tee "$work/log" || status=$?

# The closing lines once more, so that nobody has to scroll.
printf '\nsummary of the test runner:\n'
grep -E '^ *(Running|Doc-tests) |^test result:' "$work/log" || true
grep -E 'SKIPPED' "$work/log" | sort -u || true
awk '/^test result:/ { passed += $4; failed += $6; ignored += $8 }
     END { printf "total: %d passed, %d failed, %d ignored\n", passed, failed, ignored }' "$work/log"

# What failed, with its output, as the last lines: whoever keeps only the end of a log must not have to guess.
if [ "$status" != 0 ]; then
    printf '\nwhat failed:\n'
    awk '/^failures:$/ { on = 1 } /^test result:/ { on = 0 } /^error(\[|:)/ { more = 12 } on || more-- > 0' "$work/log" |
        tail -n 120 | cut -c 1-400
    fail "cargo test returned $status"
fi
grep -q '^test layers::.* ok$' "$work/log" || fail "the check of the layers (tests/tests/it/layers) did not run"
# The sweep that plain `cargo test` shortens. All tests of this name, so that nothing is built again.
RINGWORLD_TEST_WIDE=1 cargo test --quiet --test it every_algorithm:: || fail "an algorithm is wrong for some number of ranks"
# What plain `cargo test` leaves out, of what it has built: another package or feature would build it again.
if [ -n "${CI:-}" ] || command -v valgrind >/dev/null; then
    cargo test --test instructions -- --nocapture || fail "messages cost more instructions than they may with debug assertions"
else
    echo "SKIPPED: counting instructions: valgrind is not installed (Debian: apt-get install valgrind)"
fi
git diff --exit-code Cargo.lock || fail "Cargo.lock does not match the manifests; commit the lock file that cargo wrote"
finished
