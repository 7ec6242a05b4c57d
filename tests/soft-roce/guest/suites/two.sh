# Two machines and a cable: a world of 2 + 2 ranks over RoCE. Both run this; the first serves the rendezvous.
master=10.0.0.1
step "the other machine answers" 60 sh -c "until ping -c 1 -W 1 $( [ "$NAME" = two-a ] && echo 10.0.0.2 || echo $master ); do :; done"
joint() { # port, transport, program…
    local port=$1 transport=$2
    shift 2
    /mnt/bin/ringworld run -n 2 --nnodes 2 --master "$master:$port" --timeout 200 -x "RINGWORLD_TRANSPORT=$transport" -- "$@"
}
# Only the first machine's rank 0 says which.
train() { # port, transport
    local status=0
    joint "$1" "$2" /mnt/bin/trainer --epochs 3 >"/tmp/trainer-$2" 2>&1 || status=$?
    cat "/tmp/trainer-$2"
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
step "a world of 2 + 2 forms, and all-reduces" 240 joint 29500 ibverbs /mnt/bin/probe all-reduce --elements 250000 --iterations 5
step "it is reached by verbs" 120 joint 29501 ibverbs /mnt/bin/ringworld info --join
step "the trainer reaches the same weights as over tcp" 300 weights
