#!/usr/bin/env bash
# The manifests for Kubernetes, validated and run as containers (tests/kubernetes); skips what cannot run here.
source "$(dirname "$0")/lib.sh"
headline "Kubernetes"
status=0
timeout 400 tests/kubernetes/run || status=$?
[ "$status" != 77 ] || skip "see above"
[ "$status" = 0 ] || fail "tests/kubernetes/run ended with $status"
finished
