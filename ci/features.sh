#!/usr/bin/env bash
# Each meaningful combination of features is free of warnings on its own: what one feature brings along for another hides
# what the other forgot to ask for, and the whole workspace is always built with all of them together.
source "$(dirname "$0")/lib.sh"
headline "features"
lint() {
    echo "$*"
    cargo clippy --quiet --locked "$@" -- -D warnings
}
lint --package ringworld --lib --no-default-features
lint --package ringworld --lib
lint --package ringworld --lib --no-default-features --features tcp
lint --package ringworld --lib --no-default-features --features shm
lint --package ringworld-transport --lib
lint --package ringworld-transport --lib --features conformance
lint --package ringworld-transport-ibverbs --lib
if [ -e /usr/include/infiniband/verbs.h ]; then
    lint --package ringworld --lib --no-default-features --features ibverbs
    lint --package ringworld-launcher --lib --bins --features ibverbs
else
    echo "SKIPPED: features ibverbs: libibverbs-dev is not installed"
fi
finished
