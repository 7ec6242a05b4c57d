#!/usr/bin/env bash
# Instructions per message and per step of an all-reduce: no more than the ceilings allow, as the project ships its
# programs; and what MPI's functions cost more than Rust's. With debug assertions they are counted by ci/test.sh, which
# has built them. `ci/instructions.sh release` counts them as dependents build them, which is two minutes more and moves
# with the others.
source "$(dirname "$0")/lib.sh"
headline "instructions"
if [ -z "${CI:-}" ] && ! command -v valgrind >/dev/null; then
    skip "valgrind is not installed (Debian: apt-get install valgrind)"
fi
[ $# -gt 0 ] || set -- dist
for profile; do
    cargo test --locked --profile "$profile" -p ringworld-benches --no-default-features --test instructions -- --nocapture
done
status=0
tests/mpi/instructions || status=$?
[ "$status" = 0 ] || fail "MPI's functions cost more than they may, see above"
finished
