#!/usr/bin/env bash
# Jobs under a real Slurm of three nodes on this machine (tests/slurm), which skips where Slurm is not installed.
source "$(dirname "$0")/lib.sh"
headline "jobs under Slurm"
status=0
timeout 240 tests/slurm/run || status=$?
if [ "$status" = 75 ]; then
    echo "once more, with a new cluster"
    status=0
    timeout 240 tests/slurm/run || status=$?
fi
[ "$status" != 75 ] || skip "Slurm itself failed twice, see above"
[ "$status" != 77 ] || skip "see above"
[ "$status" = 0 ] || fail "tests/slurm/run ended with $status"
finished
