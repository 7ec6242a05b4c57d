#!/usr/bin/env bash
# Everything with `unsafe` that can run under Miri, where Miri is installed (rustup component add miri --toolchain nightly);
# in any case the tests of memory of the engine and of shared memory under AddressSanitizer, over the simulator, scripted
# transports, TCP and shared memory.
source "$(dirname "$0")/lib.sh"
headline "memory"
if cargo +nightly miri --version >/dev/null 2>&1; then
    # Spans and leases; the table of buffers. What opens descriptors or threads of the system's is left to the sanitizer.
    MIRIFLAGS="-Zmiri-disable-isolation" cargo +nightly miri test --locked -p ringworld-transport --lib memory
    MIRIFLAGS="-Zmiri-disable-isolation" cargo +nightly miri test --locked -p ringworld-engine --lib buffer
    # All that is done with shared memory but to map it, which is the system's: the heap is in its place.
    MIRIFLAGS="-Zmiri-disable-isolation" cargo +nightly miri test --locked -p ringworld-transport-shm --lib memory::
else
    echo "Miri is not installed here: AddressSanitizer only"
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
