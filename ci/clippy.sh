#!/usr/bin/env bash
# Lints: no warning of rustc or clippy in any target of any crate, and the runtime without transports.
source "$(dirname "$0")/lib.sh"
headline "clippy"
cargo clippy --locked --workspace --all-targets -- -D warnings
cargo clippy --locked --package ringworld --lib --no-default-features -- -D warnings
finished
