#!/usr/bin/env bash
# Everything that users build compiles with the minimum Rust version of the root Cargo.toml, which is fetched where it is
# not there; the manifests outside the workspace state the same version.
source "$(dirname "$0")/lib.sh"
headline "minimum Rust version"
version=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
[ -n "$version" ] || fail "the root Cargo.toml states no rust-version"
for manifest in fuzz/Cargo.toml benches/peers/mpi-rs/Cargo.toml; do
    grep -qx "rust-version = \"$version\"" "$manifest" || fail "$manifest states another rust-version than $version"
done
if ! cargo "+$version" --version >/dev/null 2>&1; then
    command -v rustup >/dev/null || skip "Rust $version is not installed, and there is no rustup to fetch it"
    timeout 180 rustup toolchain install "$version" --profile minimal --no-self-update </dev/null ||
        skip "Rust $version could not be fetched"
fi
# A target directory of its own, without debug information: nothing here is run.
CARGO_TARGET_DIR="$CARGO_TARGET_DIR/msrv" CARGO_PROFILE_DEV_DEBUG=0 \
    cargo "+$version" check --workspace --locked --lib --bins --examples
finished
