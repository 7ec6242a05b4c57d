#!/usr/bin/env bash
# Jobs under a real Slurm of three nodes on this machine (tests/slurm), which skips where Slurm is not installed.
source "$(dirname "$0")/lib.sh"
headline "jobs under Slurm"
status=0
timeout 480 tests/slurm/run || status=$?
[ "$status" != 77 ] || skip "see above"
[ "$status" = 0 ] || fail "tests/slurm/run ended with $status"
finished
