#!/usr/bin/env bash
# Worlds that the launchers of MPICH, Intel MPI and Open MPI start, on one host and on two (tests/mpiexec).
source "$(dirname "$0")/lib.sh"
headline "worlds under mpiexec"
status=0
timeout 400 tests/mpiexec/run || status=$?
[ "$status" != 77 ] || skip "see above"
[ "$status" = 0 ] || fail "tests/mpiexec/run ended with $status"
finished
