# The launcher and the trainer: the same weights over verbs as over TCP, to the last bit.
train() { # transport, ranks
    local log=/tmp/trainer-$1-$2
    /mnt/bin/ringworld run -n "$2" --timeout 120 -x "RINGWORLD_TRANSPORT=$1" -- /mnt/bin/trainer --epochs 3 >"$log" 2>&1 || {
        cat "$log"
        return 1
    }
    sed -n 's/^weights *\([0-9a-f]*\).*/\1/p' "$log"
}

same_weights() { # ranks
    local tcp verbs
    tcp=$(train tcp "$1") || { echo "$tcp"; return 1; }
    verbs=$(train ibverbs "$1") || { echo "$verbs"; return 1; }
    echo "weights of $1 ranks: over tcp $tcp, over ibverbs $verbs"
    [ -n "$tcp" ] && [ "$tcp" = "$verbs" ]
}

step "info shows the device" 30 sh -c '/mnt/bin/ringworld info | sed -n "/^Transports/,/^$/p" | tee /tmp/info; grep -q "rxe0:1.*chosen" /tmp/info'
step "info shows who is reached how" 60 sh -c '/mnt/bin/ringworld run -n 3 -x RINGWORLD_TRANSPORT=^shm -- /mnt/bin/ringworld info --join | tee /tmp/info; [ "$(grep -c "ibverbs (no shm here: excluded by" /tmp/info)" = 3 ]'
for ranks in ${FULL:+2} 4; do
    step "the same weights over tcp and verbs, $ranks ranks" 240 same_weights "$ranks"
done
