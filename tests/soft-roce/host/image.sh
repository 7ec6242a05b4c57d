# Sourced by ../run: builds the programs, and makes for each machine a folder with all it needs:
#
#   initrd      busybox, the rdma tool, the rxe provider, shared objects, modules, guest/init
#   share/      mounted read-only at /mnt: env, suites in their order, programs (bin/), where they lie here (paths)
#
# Programs appear in the guest under the path that they have on this machine, so that whatever a test was compiled
# with (CARGO_BIN_EXE_probe) is true there too.

modules=(crc32_generic crc32-pclmul rdma_rxe ib_uverbs dummy virtio_pci virtio_net 9p 9pnet_virtio)

# Builds everything that the suites need, with the same features for all; fills $work/programs with lines
# `name path`. Tests have the names of their targets (`it` that of its folder), unit tests begin with `unit-`, builds of the profile `dist` with `release-`.
build() {
    local packages=(-p ringworld-transport-ibverbs -p ringworld -p ringworld-tests -p ringworld-launcher -p ringworld-trainer)
    local features=ringworld/ibverbs,ringworld-transport-ibverbs/verbs,ringworld-launcher/ibverbs,ringworld-trainer/ibverbs
    cd "$root"
    : >"$work/programs"
    if wanted peers; then
        cargo_build build --profile dist -p ringworld-launcher -p ringworld-benches --bin ringworld --bin twin --features "ringworld-launcher/ibverbs"
        [ ${#suites[@]} -gt 1 ] || return 0
    elif wanted perf; then
        cargo_build build --profile dist -p ringworld-launcher --bin ringworld --features "ringworld-launcher/ibverbs"
        [ ${#suites[@]} -gt 1 ] || return 0
    fi
    cargo_build build "${packages[@]}" --features "$features,ringworld-tests/ibverbs" --bins --example pingpong
    features=$features,ringworld-tests/ibverbs
    if [ -n "$full" ]; then
        cargo_build test --no-run "${packages[@]}" --features "$features" --lib --bins --test '*'
        return 0
    fi
    # Only what the suites run then: linking the rest takes longer than running these.
    cargo_build test --no-run "${packages[@]}" --features "$features" \
        --test conformance --test device --test it --test verbs
    cargo_build test --no-run -p ringworld-transport-ibverbs --features ringworld-transport-ibverbs/verbs --lib
}

cargo_build() { # arguments of cargo
    local log folder kind name path
    log=$work/build.json
    cargo "$@" --locked --message-format=json-render-diagnostics >"$log" || fail "the programs cannot be built"
    # One line per product; those with an executable are ours.
    sed -n 's|.*/\([^/"]*\)/Cargo.toml","target":{"kind":\["\([a-z-]*\)"\].*"name":"\([^"]*\)".*"executable":"\([^"]*\)".*|\1 \2 \3 \4|p' "$log" |
        while read -r folder kind name path; do
            # Several crates have a test of this name.
            [ "$name" != it ] || name=$folder
            case $path in
                */dist/*) name=release-$name ;;
                # Of the tests of libraries and programs; those of a file in tests/ have its name to themselves.
                */deps/*) [ "$kind" = test ] || name=unit-$name ;;
            esac
            echo "$name $path"
        done >>"$work/programs"
}

# Copies the shared objects that a program needs to where the guest looks for them.
objects() { # program
    local object place
    { ldd "$1" 2>/dev/null | grep -oE '/[^ ]+' || true; } | while read -r object; do
        place=usr/lib/x86_64-linux-gnu
        case $(basename "$object") in ld-linux*) place=lib64 ;; esac
        [ -e "$tree/$place/$(basename "$object")" ] || cp -L "$object" "$tree/$place/"
    done
}

image() { # folder, suites…
    local folder=$1 version source module file needed name path applet
    shift
    local tree=$folder/tree
    version=$(ls "$cache/k/lib/modules")
    source=$cache/k/lib/modules/$version
    mkdir -p "$folder/share/bin" "$tree"/{bin,dev,proc,sys,tmp,mnt,etc/libibverbs.d,lib64,usr/bin,usr/lib/x86_64-linux-gnu/libibverbs}
    ln -s usr/lib "$tree/lib"
    cp -L "$(command -v busybox)" "$tree/bin/busybox"
    for applet in $("$tree/bin/busybox" --list); do [ -e "$tree/bin/$applet" ] || ln -s busybox "$tree/bin/$applet"; done
    cp -L "$(command -v rdma)" "$tree/bin/"
    objects "$tree/bin/rdma"
    for file in /usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav*.so; do
        cp -L "$file" "$tree/usr/lib/x86_64-linux-gnu/libibverbs/"
        objects "$file"
    done
    cp /etc/libibverbs.d/rxe.driver "$tree/etc/libibverbs.d/"
    # Names and hosts as a small installation has them.
    echo "127.0.0.1 localhost" >"$tree/etc/hosts"
    for module in "${modules[@]}"; do
        file=$(find "$source" -name "$module.ko" | head -1)
        [ -n "$file" ] || fail "the kernel has no module $module"
        file=${file#"$source"/}
        for needed in $file $(sed -n "s|^$file:||p" "$source/modules.dep"); do
            mkdir -p "$tree/lib/modules/$version/$(dirname "$needed")"
            cp -n "$source/$needed" "$tree/lib/modules/$version/$needed"
        done
    done
    cp "$source"/modules.{builtin,builtin.modinfo,order} "$tree/lib/modules/$version/"
    depmod -b "$tree" "$version"
    cp "$here/guest/init" "$tree/init"

    : >"$folder/share/paths"
    while read -r name path; do
        objects "$path"
        # Debug information is most of a program, and would have to cross the emulated bus.
        strip -o "$folder/share/bin/$name" "$path"
        printf '%s %s\n' "$name" "$path" >>"$folder/share/paths"
    done < <(sort -u "$work/programs")
    for name in ib_send_lat ib_write_bw ib_send_bw ib_write_lat; do
        if wanted perf; then
            objects "$(command -v "$name")"
            cp -L "$(command -v "$name")" "$folder/share/bin/$name"
        fi
    done
    if wanted peers; then peers_into_image; fi
    cp "$here/guest/lib.sh" "$folder/share/"
    cp -r "$here/guest/suites" "$folder/share/"
    {
        echo "export SUITES='$*' FULL=$full"
        # What whoever runs this has chosen: seeds, how often, what is logged.
        env | grep -E '^(RINGWORLD|RUST)_[A-Z_]+=' | grep -vE '^RUST(UP|FLAGS)' |
            sed "s/'/'\\\\''/g; s/=/='/; s/\$/'/; s/^/export /" || true
    } >"$folder/share/env"
    (cd "$tree" && find . | cpio -o -H newc --quiet | gzip -1) >"$folder/initrd"
    rm -rf "$tree"
}
