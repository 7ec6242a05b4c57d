#!/usr/bin/env bash
# Hostile bytes for everything that parses, and random requests for the schedule checker: a smoke.
#
# With nightly and cargo-fuzz: every target of fuzz/ under libFuzzer. Without: the same target
# functions on seeded random input, with whatever toolchain there is. FUZZ_SECONDS is for each target.
source "$(dirname "$0")/lib.sh"
headline "fuzz"
seconds=${FUZZ_SECONDS:-10}
if cargo +nightly fuzz --version >/dev/null 2>&1; then
    cd fuzz
    for target in $(cargo +nightly fuzz list); do
        echo "libFuzzer: $target for $seconds s"
        # A target directory of its own: sanitizers change the flags of every dependency.
        cargo +nightly fuzz run --target-dir target "$target" -- \
            -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=20 -verbosity=0
    done
else
    echo "nightly or cargo-fuzz is not installed: seeded random input instead of libFuzzer"
    # From there, since its `.cargo/config.toml` counts only then.
    cd fuzz
    cargo run --locked --profile smoke --no-default-features --example smoke -- --seconds "$seconds"
fi
finished
