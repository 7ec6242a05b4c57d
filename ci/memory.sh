#!/usr/bin/env bash
# Everything with `unsafe` that can run under Miri, where Miri is installed, as .ci/run does it (rustup component add miri
# rust-src --toolchain nightly); in any case the tests of memory of the engine and of shared memory under
# AddressSanitizer, over the simulator, scripted transports, TCP and shared memory.
source "$(dirname "$0")/lib.sh"
headline "memory"
interpreted() { # package, tests: under Miri, for so long at most
    MIRIFLAGS="-Zmiri-disable-isolation" timeout --kill-after=10 "${MIRI_SECONDS:-400}" \
        cargo +nightly miri test --locked --profile unoptimised -p "$1" --lib "$2" ||
        fail "the tests $2 of $1 under Miri (status $?; 124: out of time)"
}
without="Miri DID NOT RUN: it is not installed (rustup component add miri rust-src --toolchain nightly)"
if cargo +nightly miri --version >/dev/null 2>&1; then
    without=""
    # Spans and leases; the table of buffers. What opens descriptors or threads of the system's is left to the sanitizer.
    interpreted ringworld-transport memory
    interpreted ringworld-engine buffer
    # All that is done with shared memory but to map it, which is the system's: the heap is in its place.
    interpreted ringworld-transport-shm memory::
fi
target=$(rustc -vV | sed -n 's/^host: //p')
# A target directory of its own: the flags change every crate. The sanitizer is an unstable option of a stable compiler.
export CARGO_TARGET_DIR="$CARGO_TARGET_DIR/memory"
export RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=address" ASAN_OPTIONS="detect_leaks=0"
tests=(cargo test --locked --profile unoptimised --target "$target" -p ringworld -p ringworld-engine -p ringworld-transport-shm)
# All at once, on every processor; then those of libraries, and those of worlds that have to do with memory.
"${tests[@]}" --no-run --lib --test it
"${tests[@]}" --lib
"${tests[@]}" --test it -- refusals:: requests:: registered:: tasks:: waiting:: messages:: failure:: collectives::
finished
[ -z "$without" ] || echo "--- memory: $without"
