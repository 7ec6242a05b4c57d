#!/usr/bin/env bash
# No manifest asks for a crate that its package does not use.
source "$(dirname "$0")/lib.sh"
headline "unused dependencies"
need_tool cargo-machete 0.9.2 400
cargo machete --skip-target-dir || fail "a manifest asks for what its package does not use"
finished
