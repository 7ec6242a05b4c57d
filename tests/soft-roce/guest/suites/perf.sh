# Beside perftest, over the same device, in turns: half a round trip of small messages (ib_send_lat), and a stream of
# large ones (ib_write_bw). Bars: latency at most 1.3 times the tool's, bandwidth at least 0.8 times.
#
# The device and the processors are emulated, so the figures mean nothing but beside one another.
rounds=${RINGWORLD_TEST_ROUNDS:-5}

# Both ends of a tool of perftest; prints the client's lines.
tool() { # name, arguments…
    local name=$1 server
    shift
    # A server whose client came too early would wait for ever.
    timeout 40 "/mnt/bin/$name" -d rxe0 -x 1 -F "$@" >/tmp/server 2>&1 &
    server=$!
    sleep 2
    timeout 30 "/mnt/bin/$name" -d rxe0 -x 1 -F "$@" 127.0.0.1 2>&1
    wait "$server"
}

# Microseconds of half a round trip: the tool's typical one, which is the median of single ones, as --each has it.
tool_latency() { # bytes, more arguments
    local bytes=$1
    shift
    tool ib_send_lat -s "$bytes" -n 1000 "$@" | awk -v b="$bytes" '$1 == b { print $5 }'
}
tool_bandwidth() { # bytes: MiB/s
    tool ib_write_bw -s "$1" -n 100 | awk -v b="$1" '$1 == b { print $4 }'
}
bench() { # operation, bytes, microseconds of polling before a rank sleeps, more options
    /mnt/bin/release-ringworld run -n 2 --timeout 60 -x RINGWORLD_TRANSPORT=ibverbs -x "RINGWORLD_SPIN_US=$3" -- \
        /mnt/bin/release-ringworld bench --join --ops "$1" --min "$2" --max "$2" --budget 2s --format csv $4 | tail -1
}
# The tool now and then reports nothing.
median() { awk '$1 > 0' | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
forever=1000000000

# Like beside like: both polling without end, which decides, and both sleeping at once.
latency() { # bytes
    local i
    rm -f /tmp/ours /tmp/theirs /tmp/ours-asleep /tmp/theirs-asleep
    for i in $(seq "$rounds"); do
        tool_latency "$1" >>/tmp/theirs
        bench ping-pong "$1" "$forever" --each | awk -F, '{ print $4 * 1e6 }' >>/tmp/ours
        tool_latency "$1" -e >>/tmp/theirs-asleep
        bench ping-pong "$1" 0 --each | awk -F, '{ print $4 * 1e6 }' >>/tmp/ours-asleep
    done
    for i in ours theirs ours-asleep theirs-asleep; do echo "$1 bytes, us, $i: $(tr '\n' ' ' <"/tmp/$i")"; done
    awk -v b="$1" -v o="$(median </tmp/ours)" -v t="$(median </tmp/theirs)" \
        -v oe="$(median </tmp/ours-asleep)" -v te="$(median </tmp/theirs-asleep)" 'BEGIN {
        printf "soft-roce: latency of %d bytes, polling: ringworld %.1f us, ib_send_lat %.1f us, ratio %.2f (at most 1.3 wanted); sleeping: %.1f and %.1f us, ratio %.2f\n", b, o, t, o / t, oe, te, oe / te
        exit !(o <= 1.3 * t) }'
}

bandwidth() { # bytes
    local i
    rm -f /tmp/ours /tmp/theirs
    for i in $(seq "$rounds"); do
        tool_bandwidth "$1" >>/tmp/theirs
        bench stream "$1" "$forever" | awk -F, -v b="$1" '{ print b / $4 / 1048576 }' >>/tmp/ours
    done
    echo "$1 bytes, MiB/s: ringworld $(tr '\n' ' ' </tmp/ours)| ib_write_bw $(tr '\n' ' ' </tmp/theirs)"
    awk -v b="$1" -v o="$(median </tmp/ours)" -v t="$(median </tmp/theirs)" 'BEGIN {
        printf "soft-roce: streaming %d bytes: ringworld %.1f MiB/s, ib_write_bw %.1f MiB/s: ratio %.2f (at least 0.8 wanted)\n", b, o, t, o / t
        exit !(o >= 0.8 * t) }'
}

for bytes in 8 1024 8192; do
    step "latency of $bytes bytes beside ib_send_lat" 200 latency "$bytes"
done
for bytes in 65536 1048576 8388608; do
    step "streaming $bytes bytes beside ib_write_bw" 300 bandwidth "$bytes"
done

# What more queue pairs do to a stream, in turns. Nothing is wanted: the device is a program on the same processors.
pairs() { # bytes
    local i n
    for i in $(seq "$rounds"); do
        for n in 1 2 4; do
            RINGWORLD_IB_QUEUE_PAIRS=$n bench stream "$1" "$forever" |
                awk -F, -v b="$1" '{ print b / $4 / 1048576 }' >>"/tmp/pairs-$n"
        done
    done
    for n in 1 2 4; do
        echo "soft-roce: streaming $1 bytes over $n queue pairs: $(median <"/tmp/pairs-$n") MiB/s ($(tr '\n' ' ' <"/tmp/pairs-$n"))"
    done
}
step "streaming 8388608 bytes over 1, 2 and 4 queue pairs" 300 pairs 8388608
