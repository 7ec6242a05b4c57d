# Two machines and a cable: a world of 2 + 2 ranks over RoCE. Both run this; the first serves the rendezvous.
master=10.0.0.1
step "the other machine answers" 60 sh -c "until ping -c 1 -W 1 $( [ "$NAME" = two-a ] && echo 10.0.0.2 || echo $master ); do :; done"
joint() { # port, program…
    local port=$1
    shift
    /mnt/bin/ringworld run -n 2 --nnodes 2 --master "$master:$port" --timeout 200 -x RINGWORLD_TRANSPORT=ibverbs -- "$@"
}
weights() {
    local status=0
    joint 29502 /mnt/bin/trainer --epochs 3 >/tmp/trainer 2>&1 || status=$?
    cat /tmp/trainer
    [ "$status" = 0 ] || return "$status"
    # What four ranks of one machine reach over TCP, in the same build: only the first machine's rank 0 says.
    [ "$NAME" = two-a ] || return 0
    /mnt/bin/ringworld run -n 4 --timeout 100 -x RINGWORLD_TRANSPORT=tcp -- /mnt/bin/trainer --epochs 3 >/tmp/alone 2>&1 || return 1
    local here there
    there=$(sed -n 's/^weights *\([0-9a-f]*\).*/\1/p' /tmp/trainer)
    here=$(sed -n 's/^weights *\([0-9a-f]*\).*/\1/p' /tmp/alone)
    echo "weights of 2 + 2 ranks over ibverbs $there, of 4 ranks over tcp $here"
    [ -n "$here" ] && [ "$here" = "$there" ]
}
step "a world of 2 + 2 forms, and all-reduces" 240 joint 29500 /mnt/bin/probe all-reduce --elements 250000 --iterations 5
step "it is reached by verbs" 120 joint 29501 /mnt/bin/ringworld info --join
step "the trainer reaches the weights of one machine" 300 weights
