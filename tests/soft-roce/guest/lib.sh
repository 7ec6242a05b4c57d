# Sourced by init: steps of a suite, and the table at the end. The shell is busybox's.

failed=0
table=/tmp/steps
: >"$table"

headline() {
    suite=$1
    echo
    echo "=== $suite (after $(cut -d. -f1 /proc/uptime) s)"
}

# Runs one command, bounded in time; a step that fails does not keep the others from running.
step() { # name, seconds, command…
    local name=$1 limit=$2 begin status=0
    shift 2
    begin=$(cut -d. -f1 /proc/uptime)
    echo "--- $suite: $name"
    timeout -s KILL "$limit" "$@" </dev/null || status=$?
    local took=$(($(cut -d. -f1 /proc/uptime) - begin)) verdict=passed
    if [ "$status" != 0 ]; then
        verdict="FAILED ($status)"
        [ "$took" -lt "$limit" ] || verdict="FAILED (more than $limit s)"
        failed=1
    fi
    printf 'soft-roce: %-12s %-44s %4d s  %s\n' "$suite" "$name" "$took" "$verdict" >>"$table"
    [ "$status" = 0 ] || echo "--- $suite: $name: $verdict"
    return 0
}

# A step that runs tests of one binary: only those whose names contain one of the words, if words are given.
tests() { # binary, seconds, words and other arguments of the test harness…
    local name=$1 limit=$2
    shift 2
    step "$name $*" "$limit" "/mnt/bin/$name" --test-threads=1 --color never "$@"
}

# Queue pairs, memory regions and the like that somebody has now; the kernel's own are not counted.
resources() {
    rdma resource show | sed 's/^[0-9]*: //'
}

closing() {
    echo
    cat "$table"
}
