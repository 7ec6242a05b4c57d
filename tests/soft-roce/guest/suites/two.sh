# Two machines and a cable: a world of 2 + 2 ranks over RoCE. Both run this; the first serves the rendezvous.
master=10.0.0.1
step "the other machine answers" 60 sh -c "until ping -c 1 -W 1 $( [ "$NAME" = two-a ] && echo 10.0.0.2 || echo $master ); do :; done"
joint() { # port, transport, program…
    local port=$1 transport=$2
    shift 2
    /mnt/bin/ringworld run -n 2 --nnodes 2 --master "$master:$port" --timeout 200 -x "RINGWORLD_TRANSPORT=$transport" -- "$@"
}
# What the device has sent so far.
packets() {
    cat /sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts
}
# Only the first machine's rank 0 says which weights; every rank what it has sent to whom.
train() { # port, transport
    local status=0 before
    before=$(packets)
    (export RINGWORLD_STATISTICS=1 && joint "$1" "$2" /mnt/bin/trainer --epochs 3) >"/tmp/trainer-$2" 2>&1 || status=$?
    cat "/tmp/trainer-$2"
    echo "over $2 this machine's device has sent $(($(packets) - before)) packets"
    return "$status"
}
# Over both from the same two machines, because ranks that share a host may take other algorithms, which add up in
# another order.
weights() {
    train 29502 ibverbs && train 29503 tcp && train 29504 shm,ibverbs || return 1
    [ "$NAME" = two-a ] || return 0
    local verbs tcp mixed
    verbs=$(sed -n 's/^weights *\([0-9a-f]*\).*/\1/p' /tmp/trainer-ibverbs)
    tcp=$(sed -n 's/^weights *\([0-9a-f]*\).*/\1/p' /tmp/trainer-tcp)
    mixed=$(sed -n 's/^weights *\([0-9a-f]*\).*/\1/p' /tmp/trainer-shm,ibverbs)
    echo "weights of 2 + 2 ranks: over tcp $tcp, over ibverbs $verbs, in memory within machines and over ibverbs between $mixed"
    [ -n "$tcp" ] && [ "$tcp" = "$verbs" ] && [ "$tcp" = "$mixed" ]
}
# Of the same machines, and allowed the same: each rank reaches its neighbour by memory and the two of the other machine by
# verbs. Rank 0 says it for all.
routes() {
    joint 29505 shm,ibverbs /mnt/bin/ringworld info --join >/tmp/routes 2>&1 || {
        cat /tmp/routes
        return 1
    }
    cat /tmp/routes
    [ "$NAME" = two-a ] || return 0
    [ "$(grep -c '^ *to [0-3]  *shm (' /tmp/routes)" = 4 ] && [ "$(grep -c '^ *to [0-3]  *ibverbs (' /tmp/routes)" = 8 ] &&
        [ "$(grep -c '^ *to ' /tmp/routes)" = 12 ]
}
# How many ranks of this machine have sent any of these ranks anything, by the statistics of the trainer over both.
senders() { # ranks
    awk -v ranks=" $* " 'NF == 8 && $8 == "s" && $2 > 0 && index(ranks, " " $1 " ") { count++ } END { print count + 0 }' \
        /tmp/trainer-shm,ibverbs
}
# By these routes the trainer has sent: both ranks of this machine to one another, and somebody to the other machine.
carried() {
    local here="0 1" there="2 3" inside between
    [ "$NAME" = two-a ] || here="2 3" there="0 1"
    inside=$(senders $here) between=$(senders $there)
    echo "$NAME: $inside of 2 ranks have sent their neighbour something by memory; $between of 4 pairs something by verbs"
    [ "$inside" = 2 ] && [ "$between" -ge 1 ]
}
step "a world of 2 + 2 forms, and all-reduces" 240 joint 29500 ibverbs /mnt/bin/probe all-reduce --elements 250000 --iterations 5
step "it is reached by verbs" 120 joint 29501 ibverbs /mnt/bin/ringworld info --join
step "the trainer reaches the same weights as over tcp" 300 weights
step "neighbours have memory, the others verbs" 120 routes
step "the trainer has sent by both" 10 carried
