#!/usr/bin/env bash
# Jobs on several hosts that the launcher reaches by a real ssh (tests/hosts), which skips where there is no sshd.
source "$(dirname "$0")/lib.sh"
headline "jobs over ssh"
status=0
timeout 400 tests/hosts/run || status=$?
[ "$status" != 77 ] || skip "see above"
[ "$status" = 0 ] || fail "tests/hosts/run ended with $status"
finished
