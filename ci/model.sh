#!/usr/bin/env bash
# The threads of the engine, played through by a model checker: RINGWORLD_MODEL_SCHEDULES schedules of each kind for each
# scenario of engine/src/model. And the ring of shared memory, by one that knows what memory may do: transport-shm/src/model.rs.
#
# Where RINGWORLD_MODEL_SCHEDULES is set, as many schedules of membership/src/model as well, from seed RINGWORLD_MODEL_FIRST
# on, and its larger worlds, some minutes each: `cargo test` has played ten thousand, and explored the small ones.
source "$(dirname "$0")/lib.sh"
headline "model"
# A target directory of its own: the flag changes every crate.
export CARGO_TARGET_DIR="$CARGO_TARGET_DIR/model"
RUSTFLAGS="--cfg ringworld_model" cargo test --locked --profile unoptimised -p ringworld-engine -p ringworld-transport-shm \
    --lib model
if [ -n "${RINGWORLD_MODEL_SCHEDULES:-}" ]; then
    cargo test -p ringworld-membership --lib model -- --nocapture --include-ignored
fi
finished
