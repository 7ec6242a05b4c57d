# Sourced by ../run: UCX and Open MPI, with which the suite `peers` compares, out of their Debian packages: downloaded,
# unpacked, never installed, like the kernel.
#
# Kept in $cache/peers, whose file `versions` is made last and says that the rest is complete. What these packages need
# beyond themselves is on every machine that has what needs.sh asks for; if not, `peers_into_image` names it.

peers_packages=(ucx-utils libucx0 librdmacm1 libnuma1 libgomp1 openmpi-bin openmpi-common libopenmpi3 libopenmpi-dev
    libpmix2 libmunge2 libhwloc15 libevent-core-2.1-7 libevent-pthreads-2.1-7)

peers() {
    [ ! -s "$cache/peers/versions" ] || return 0
    local new=$cache/peers.new package
    say "downloading ${peers_packages[*]} (about 7 MB, once)"
    rm -rf "$new"
    mkdir -p "$new/packages"
    (
        cd "$new/packages"
        # Not as the user _apt, who may not be allowed to write here.
        apt-get -o APT::Sandbox::User=root download "${peers_packages[@]}" >download.log 2>&1 || { cat download.log >&2; exit 1; }
    ) || fail "the packages of UCX and Open MPI cannot be downloaded; run apt-get update, with Debian 12 (bookworm) among its sources"
    for package in "$new"/packages/*.deb; do
        dpkg -x "$package" "$new" || fail "$(basename "$package") cannot be unpacked"
        dpkg-deb --show --showformat '${Package} ${Version}\n' "$package"
    done >"$new/found"
    rm -rf "$new"/packages "$new"/usr/share/{doc,man,lintian} "$cache/peers"
    mv "$new" "$cache/peers"
    mv "$cache/peers/found" "$cache/peers/versions"
}

# Puts them into $tree where they would be installed, with what they need, and the measuring program of MPI.
peers_into_image() {
    local file missing lib=usr/lib/x86_64-linux-gnu
    local from=$cache/peers
    mkdir -p "$tree/$lib"/{openmpi,pmix2/lib} "$tree/usr/share"
    cp -r "$from/etc/openmpi" "$tree/etc/"
    cp -r "$from/usr/share/openmpi" "$tree/usr/share/"
    cp -r "$from/$lib/ucx" "$tree/$lib/"
    cp -r "$from/$lib/openmpi/lib" "$tree/$lib/openmpi/"
    cp -r "$from/$lib/pmix2/lib/pmix" "$tree/$lib/pmix2/lib/"
    # As Open MPI's own compiler wrapper would, which expects to be installed.
    cc -O2 -o "$work/mpi-twin" -I"$from/$lib/openmpi/include" "$root/benches/peers/twin.c" "$from/$lib/libmpi.so.40" \
        -Wl,--allow-shlib-undefined || fail "benches/peers/twin.c cannot be compiled"
    local -x LD_LIBRARY_PATH=$from/$lib
    for file in "$from"/usr/bin/{ucx_perftest,orterun,orted} "$work/mpi-twin" \
        "$from/$lib"/ucx/libuct_ib.so.0 "$from/$lib"/openmpi/lib/openmpi3/mca_{pml_ucx,pmix_ext3x}.so; do
        missing=$(ldd "$file" | awk '/not found/ { print $1 }' | xargs)
        [ -z "$missing" ] || fail "$(basename "$file") needs $missing, which is not on this machine; install what apt-get would with ${peers_packages[*]}"
        objects "$file"
        case $file in *.so | *.so.*) ;; *) cp -L "$file" "$tree/usr/bin/" ;; esac
    done
    cp "$from/versions" "$folder/share/versions"
}
