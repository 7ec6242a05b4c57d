#!/usr/bin/env bash
# The soak for a minute (SOAK_MINUTES), with a new seed each time, which it prints: ranks killed, worlds ended in
# disorder, long runs.
source "$(dirname "$0")/lib.sh"
headline "soak"
tests/soak/run --minutes "${SOAK_MINUTES:-1}" || fail "each finding says how to repeat it"
finished
