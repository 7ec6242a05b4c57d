# Sourced by ../run: which packages this machine lacks, by what they bring rather than by their name, since the same
# file may have come in another way.

# Prints the names of missing packages on one line; nothing when all is there.
needs() {
    local missing=()
    command -v qemu-system-x86_64 >/dev/null || missing+=(qemu-system-x86)
    # The guest has no shared objects when its first program starts.
    if ! command -v busybox >/dev/null || ldd "$(command -v busybox)" >/dev/null 2>&1; then missing+=(busybox-static); fi
    command -v rdma >/dev/null || missing+=(iproute2)
    command -v depmod >/dev/null || missing+=(kmod)
    command -v cpio >/dev/null || missing+=(cpio)
    command -v xz >/dev/null || missing+=(xz-utils)
    compgen -G '/usr/lib/*/libibverbs/librxe-rdmav*.so' >/dev/null || missing+=(ibverbs-providers)
    command -v cc >/dev/null || missing+=(gcc libc6-dev)
    [ -e /usr/include/infiniband/verbs.h ] || missing+=(libibverbs-dev)
    compgen -G '/usr/lib/llvm-*/lib/libclang*.so*' >/dev/null || missing+=(libclang1-14)
    compgen -G '/usr/lib/llvm-*/lib/clang/*/include/stddef.h' >/dev/null || missing+=(libclang-common-14-dev)
    if wanted perf && ! command -v ib_send_lat >/dev/null; then missing+=(perftest); fi
    if [ ! -s "$cache/vmlinux" ] || { wanted peers && [ ! -s "$cache/peers/versions" ]; }; then
        command -v apt-get >/dev/null || missing+=(apt)
        command -v dpkg >/dev/null || missing+=(dpkg)
    fi
    echo "${missing[*]:-}"
}
