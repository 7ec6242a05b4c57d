# Sourced by init: steps of a suite, and the table at the end. The shell is busybox's.

failed=0
table=/tmp/steps
: >"$table"

headline() {
    suite=$1
    echo
    echo "=== $suite (after $(cut -d. -f1 /proc/uptime) s)"
}

# Ends every program that was built for this: the machine is ours alone, so whoever runs one is a step's, whatever its name.
kill_ours() {
    local exe pid
    for exe in /proc/[0-9]*/exe; do
        case $(readlink "$exe") in
            /mnt/bin/*) pid=${exe#/proc/} && kill -9 "${pid%/exe}" 2>/dev/null ;;
        esac
    done
}

# Runs one command, which may be a function of the suite, bounded in time; a step that fails does not keep the
# others from running.
step() { # name, seconds, command…
    local name=$1 limit=$2 begin took pid status=0 verdict=passed
    shift 2
    begin=$(cut -d. -f1 /proc/uptime)
    echo "--- $suite: $name"
    "$@" </dev/null &
    pid=$!
    while kill -0 "$pid" 2>/dev/null; do
        took=$(($(cut -d. -f1 /proc/uptime) - begin))
        if [ "$took" -ge "$limit" ]; then
            kill -9 "$pid"
            kill_ours
            verdict="FAILED (more than $limit s)"
            break
        fi
        sleep 0.1
    done
    wait "$pid" 2>/dev/null || status=$?
    took=$(($(cut -d. -f1 /proc/uptime) - begin))
    if [ "$status" != 0 ]; then
        failed=1
        [ "$verdict" != passed ] || verdict="FAILED ($status)"
        echo "--- $suite: $name: $verdict"
    fi
    printf 'soft-roce: %-12s %-44s %4d s  %s\n' "$suite" "$name" "$took" "$verdict" >>"$table"
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
