#!/usr/bin/env bash
# The tests of the comparison program in benches/peers. They need no MPI: measuring is not part of CI.
source "$(dirname "$0")/lib.sh"
headline "comparison program"
if ! command -v python3 >/dev/null; then
    skip "python3 is not installed; nothing else needs it"
fi
python3 -m unittest discover benches/peers
finished
