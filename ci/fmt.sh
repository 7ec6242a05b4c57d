#!/usr/bin/env bash
# Formatting: `cargo fmt` would change nothing.
source "$(dirname "$0")/lib.sh"
headline "format"
cargo fmt --all --check || fail "run 'cargo fmt --all'"
(cd fuzz && cargo fmt --check) || fail "run 'cargo fmt' in fuzz/"
finished
