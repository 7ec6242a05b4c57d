# Sourced by ../run: boots a machine, shows what it prints, and takes it down.
#
# The guest tells its verdict by a port of the emulated machine (isa-debug-exit): QEMU then ends with 2 x status + 1.
# Without that, the guest has died or QEMU was killed at its limit; neither is ever taken for success.

limit=${VM_LIMIT:-600}

# Starts QEMU in the background; its process id is appended to `machines`.
start() { # name, folder, more arguments of QEMU…
    local name=$1 folder=$2 accelerator="tcg,thread=multi" cpu=max
    shift 2
    if [ "${VM_ACCEL:-tcg}" = kvm ]; then accelerator=kvm cpu=host; fi
    timeout --kill-after=5 "$limit" qemu-system-x86_64 -machine pc -accel "$accelerator" -cpu "$cpu" \
        -smp "${VM_CPUS:-2}" -m "${VM_MEM:-2048}" -nodefaults -no-user-config -display none -no-reboot \
        -serial "file:$work/$name.raw" -device isa-debug-exit,iobase=0xf4,iosize=0x04 \
        -virtfs "local,path=$folder/share,mount_tag=host,security_model=none,readonly=on" \
        -kernel "$cache/vmlinux" -initrd "$folder/initrd" \
        -append "console=ttyS0 quiet panic=-1 mitigations=off nokaslr tsc=reliable vm.name=$name vm.start=$(date +%s)" \
        "$@" </dev/null >"$work/$name.qemu" 2>&1 &
    machines+=($!)
}

# Waits for a machine, and turns what QEMU says into the guest's own status.
verdict() { # name, process id
    local name=$1 pid=$2 status=0
    wait "$pid" || status=$?
    tr -d '\r' <"$work/$name.raw" >"$work/$name.log"
    if [ "$status" = 124 ] || [ "$status" = 137 ]; then
        say "$name: not done within $limit s" | tee -a "$work/$name.log"
        return 124
    fi
    if [ $((status & 1)) = 1 ] && [ "$status" -lt 126 ]; then
        return $((status >> 1))
    fi
    cat "$work/$name.qemu"
    say "$name: the guest reported no status (QEMU ended with $status)" | tee -a "$work/$name.log"
    return 125
}

# Shows a machine's lines as they come, each after `prefix`.
follow() { # name, process id, prefix
    : >>"$work/$1.raw"
    tail -n +1 -f --pid="$2" "$work/$1.raw" 2>/dev/null | tr -d '\r' | sed -u "s/^/$3/"
}

# Boots those machines that have an image, at the same time, and waits for all.
boot_all() { # names…
    local name status=0 begun=()
    declare -A pids
    for name in "$@"; do
        [ -d "$work/$name" ] || continue
        start "$name" "$work/$name"
        pids[$name]=${machines[-1]}
        begun+=("$name")
    done
    for name in "${begun[@]}"; do
        follow "$name" "${pids[$name]}" "$([ ${#begun[@]} = 1 ] || echo "$name: ")" &
    done
    for name in "${begun[@]}"; do
        verdict "$name" "${pids[$name]}" || status=$?
    done
    # Their last lines.
    sleep 1
    return "$status"
}

# Two machines, joined by a cable between two virtual network cards; the first serves the rendezvous.
boot_two() {
    local status=0 first second cable=$work/cable
    image "$work/two" two
    start two-a "$work/two" -netdev "stream,id=n,server=on,addr.type=unix,addr.path=$cable" \
        -device virtio-net-pci,netdev=n,mac=52:54:00:00:00:01
    first=${machines[-1]}
    # The second one cannot plug in before the first has made the socket.
    for _ in $(seq 100); do
        [ -S "$cable" ] && break
        sleep 0.1
    done
    start two-b "$work/two" -netdev "stream,id=n,server=off,addr.type=unix,addr.path=$cable" \
        -device virtio-net-pci,netdev=n,mac=52:54:00:00:00:02
    second=${machines[-1]}
    follow two-a "$first" "a: " &
    follow two-b "$second" "b: " &
    verdict two-a "$first" || status=$?
    verdict two-b "$second" || status=$?
    sleep 1
    return "$status"
}
