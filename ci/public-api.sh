#!/usr/bin/env bash
# The public interface of the library is what runtime/public-api.txt says. A change of it is a decision: look at what is
# different, write it into the CHANGELOG, and let the file say so by `ci/public-api.sh --bless`.
source "$(dirname "$0")/lib.sh"
headline "public interface"
need_tool cargo-public-api 0.52.0 600
kept=runtime/public-api.txt
found=$(mktemp)
trap 'rm -f "$found"' EXIT

# The tool reads what rustdoc says in a form that is not stable; these are the words of rustdoc that it knows.
list() { # package
    RUSTC_BOOTSTRAP=1 cargo public-api -p "$1" -ss --target-dir "$CARGO_TARGET_DIR/public-api"
}
# What the library hands on from the engine is listed there.
handed_on='(DType|Locatable|Located|Op|Raw|Reducible|Reduction|Scaled|UserOp)'
{
    list ringworld
    list ringworld-engine | grep -E "ringworld_engine::reduce::$handed_on\\b" | grep -vE '^impl<.*> .* for (&|core::)' |
        grep -E "^(#\[[^]]*\] )*(pub|impl)( [a-z]+)* (<[^>]*> )?ringworld_engine::reduce::$handed_on\\b"
} >"$found" || skip "the tool does not understand this version of Rust"

if [ "${1:-}" = --bless ]; then
    cp "$found" "$kept"
    finished
    exit
fi
diff -u "$kept" "$found" || fail "the public interface has changed (see above); if that is meant: ci/public-api.sh --bless"
finished
