#!/usr/bin/env bash
# Instructions per message and per step of an all-reduce, in release mode: no more than the ceilings allow.
source "$(dirname "$0")/lib.sh"
headline "instructions"
if [ -z "${CI:-}" ] && ! command -v valgrind >/dev/null; then
    skip "valgrind is not installed (Debian: apt-get install valgrind)"
fi
cargo test --locked --release -p ringworld-benches --test instructions -- --nocapture
finished
