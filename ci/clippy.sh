#!/usr/bin/env bash
# Lints: no warning of rustc or clippy in any target of any crate.
source "$(dirname "$0")/lib.sh"
headline "clippy"
cargo clippy --locked --workspace --all-targets --features ringworld-benches/criterion -- -D warnings
finished
