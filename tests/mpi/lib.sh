# Sourced by the scripts here, from the folder of the repository: where things are, and what is installed by pip.

missing() {
    echo "SKIPPED: tests/mpi: $*"
    exit 77
}

# What is installed and fetched stays in the target folder, and is fetched once.
environment() { # name, packages…
    local name=$1
    shift
    [ -e "$home/$name/done" ] && return
    python3 -c 'import venv, ensurepip' 2>/dev/null || missing "python3 makes no virtual environments (python3-venv)"
    rm -rf "${home:?}/$name"
    python3 -m venv "$home/$name"
    "$home/$name/bin/pip" --quiet --disable-pip-version-check install "$@" || missing "$* cannot be installed"
    touch "$home/$name/done"
}

# mpi4py's sources, below $home, from its distribution: what builds it is needed as it comes.
mpi4py=4.1.2
mpi4py_sources() {
    [ ! -e "$home/mpi4py-$mpi4py/test/main.py" ] || return 0
    "$home/venv/bin/pip" --quiet --disable-pip-version-check download --no-binary mpi4py --no-deps \
        --dest "$home" "mpi4py==$mpi4py" || missing "mpi4py's sources cannot be fetched"
    tar -xzf "$home/mpi4py-$mpi4py.tar.gz" -C "$home"
}

command -v python3 >/dev/null || missing "python3 is not installed"
mkdir -p "${CARGO_TARGET_DIR:-target}/debug/mpi-tests/lib"
built=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)/debug
home=$built/mpi-tests
