#!/usr/bin/env bash
# Licences, sources and known vulnerabilities of the dependencies (deny.toml), where cargo-deny is installed.
source "$(dirname "$0")/lib.sh"
headline "dependencies"
if ! cargo deny --version >/dev/null 2>&1; then
    skip "cargo-deny is not installed (cargo install --locked cargo-deny)"
fi
cargo deny --locked check
finished
