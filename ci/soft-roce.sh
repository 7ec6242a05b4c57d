#!/usr/bin/env bash
# The verbs transport: lints and documentation of the feature `ibverbs`, which the other scripts never build, and the
# tests on a Soft-RoCE device in a VM (tests/soft-roce), which skips where QEMU or another package is missing.
source "$(dirname "$0")/lib.sh"
headline "verbs on Soft-RoCE"
if [ ! -e /usr/include/infiniband/verbs.h ]; then
    # With CI set that is an error: .ci/run has installed it.
    [ -z "${CI:-}" ] || fail "libibverbs-dev is not installed"
    skip "libibverbs-dev is not installed; tests/soft-roce/run names all that is needed"
fi
packages=(-p ringworld-transport-ibverbs -p ringworld -p ringworld-launcher -p ringworld-tests)
features=ringworld-transport-ibverbs/verbs,ringworld/ibverbs,ringworld-launcher/ibverbs,ringworld-tests/ibverbs
cargo clippy --locked "${packages[@]}" --features "$features" --all-targets -- -D warnings
RUSTDOCFLAGS="-D warnings" cargo doc --locked -p ringworld-transport-ibverbs -p ringworld --features ringworld-transport-ibverbs/verbs,ringworld/ibverbs --no-deps --lib
status=0
tests/soft-roce/run || status=$?
[ "$status" != 77 ] || skip "see above"
[ "$status" = 0 ] || fail "tests/soft-roce/run ended with $status"
finished
