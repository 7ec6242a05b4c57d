#!/usr/bin/env bash
# Lints: no warning of rustc or clippy in any target of any crate, nor in the fuzz targets, which are a workspace of
# their own and so are forgotten by whoever changes what they call.
source "$(dirname "$0")/lib.sh"
headline "clippy"
cargo clippy --locked --workspace --all-targets --features ringworld-benches/criterion -- -D warnings
# From there, since its `.cargo/config.toml` counts only then.
(cd fuzz && cargo clippy --locked --no-default-features --all-targets -- -D warnings)
finished
