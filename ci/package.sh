#!/usr/bin/env bash
# Every crate that is published can be packaged, has what must be in it and nothing that need not, and builds from its
# packages alone: each is unpacked and compiled against the packages of the others, as it would be from crates.io.
source "$(dirname "$0")/lib.sh"
headline "packages"

packages=()
while IFS= read -r manifest; do
    packages+=(--package "$(sed -n 's/^name = "\(.*\)"/\1/p' "$manifest" | head -1)")
done < <(grep -L '^publish = false' */Cargo.toml)
# What is not committed is packaged as well at a desk; CI has a clone.
dirty=()
[ -n "${CI:-}" ] || dirty=(--allow-dirty)
# A folder of its own each time: cargo keeps what it has unpacked of the packages of one place and version, and would
# build against those of an earlier run.
mkdir -p "$CARGO_TARGET_DIR"
CARGO_TARGET_DIR=$(mktemp -d "$CARGO_TARGET_DIR/package.XXXXXX")
trap 'rm -rf "$CARGO_TARGET_DIR"' EXIT
# Debug information is a fifth of the time, and nobody looks at it.
export CARGO_PROFILE_DEV_DEBUG=0
cargo package --locked "${dirty[@]}" "${packages[@]}"

version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
for ((i = 1; i < ${#packages[@]}; i += 2)); do
    name=${packages[i]}-$version
    list=$(tar -tzf "$CARGO_TARGET_DIR/package/$name.crate")
    for file in LICENSE-MIT LICENSE-APACHE README.md Cargo.toml; do
        grep -qx "$name/$file" <<<"$list" || fail "the package $name has no $file"
    done
    for file in LICENSE-MIT LICENSE-APACHE; do
        # Not a link that something on the way has turned into the name of what it led to.
        tar -xzOf "$CARGO_TARGET_DIR/package/$name.crate" "$name/$file" | cmp -s - "$file" ||
            fail "the package $name has another $file than this folder"
    done
    ! grep -E "\.(csv|svg|gz|profraw)\$|^$name/(target|runs|data)/" <<<"$list" || fail "the package $name has files that nobody needs"
    bytes=$(stat -c %s "$CARGO_TARGET_DIR/package/$name.crate")
    [ "$bytes" -lt 1000000 ] || fail "the package $name has $bytes bytes; crates.io takes 10 MB, and nobody needs one"
    printf '%-36s %4d files %7d bytes\n' "$name" "$(wc -l <<<"$list")" "$bytes"
done
finished
