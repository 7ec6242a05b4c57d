#!/usr/bin/env bash
# Formatting: `cargo fmt` would change nothing.
source "$(dirname "$0")/lib.sh"
headline "format"
cargo fmt --all --check || fail "run 'cargo fmt --all'"
(cd fuzz && cargo fmt --check) || fail "run 'cargo fmt' in fuzz/"
# What rustfmt leaves as it is: comments, strings and macros. Rows of tables cannot be broken, nor can SVG and JSON.
long=$({
    git ls-files '*.rs' ':!launcher/src/explain/svg.rs' ':!launcher/src/trace/picture.rs' ':!trace/src/chrome.rs'
    git ls-files '*.md' ':!benches/runs'
} | LC_ALL=C.UTF-8 xargs grep -nHE '^.{121}' | grep -vE ':[0-9]+:(//[/!] )?\|' || true)
[ -z "$long" ] || fail "lines of more than 120 columns:
$long"
finished
