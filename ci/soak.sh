#!/usr/bin/env bash
# The soak for a minute (SOAK_MINUTES), with a new seed each time, which it prints: ranks killed, worlds ended in
# disorder, long runs.
source "$(dirname "$0")/lib.sh"
headline "soak"
status=0
tests/soak/run --minutes "${SOAK_MINUTES:-1}" || status=$?
if [ "$status" = 1 ]; then
    echo "--- $title: FINDINGS; each says how to repeat it"
    exit 78
fi
[ "$status" = 0 ] || fail "it ended with $status"
finished
