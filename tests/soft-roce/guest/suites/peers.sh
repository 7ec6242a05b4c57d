# Beside UCX (ucx_perftest) and Open MPI over UCX, over the same device, in turns: half a round trip of small messages
# and a stream of large ones, everybody polling. There is no bar: a step fails only when somebody cannot be measured.
#
# ringworld and Open MPI run twins of one measuring program (benches/peers), with 64 messages of a stream under way; a
# figure of theirs is the median of batches. UCX's is what its own tool says: the median of single round trips, and the
# whole of a stream. The device and the processors are emulated, so the figures mean nothing but beside one another.
rounds=${RINGWORLD_TEST_ROUNDS:-3}
milliseconds=700

# Reliable connected queue pairs, as ringworld has. UCX makes them by datagrams whose receiver's address it looks at; on
# rxe it then takes none at an IPv4 address, and ends with "unhandled timeout error".
export UCX_TLS=rc UCX_NET_DEVICES=rxe0:1 UCX_IB_GID_INDEX=1 UCX_UD_VERBS_ETH_DGID_CHECK=n
# Debian's settings leave UCX out. There is no other host, so nothing that reaches one.
export OMPI_MCA_pml=ucx OMPI_MCA_osc=ucx OMPI_MCA_plm_rsh_agent=false OMPI_MCA_mca_base_component_show_load_errors=0
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# Each prints one number: microseconds of half a round trip, or MiB/s; nothing when something has gone wrong.
ringworld() { # operation, bytes
    /mnt/bin/release-ringworld run -n 2 --timeout 60 -x RINGWORLD_TRANSPORT=ibverbs -x RINGWORLD_SPIN_US=1000000000 -- \
        /mnt/bin/release-twin "$1" "$2" "$2" "$milliseconds" | of_twin "$1" "$2"
}
openmpi() { # operation, bytes
    timeout 60 orterun -n 2 mpi-twin "$1" "$2" "$2" "$milliseconds" | of_twin "$1" "$2"
}
of_twin() { # operation, bytes
    awk -F, -v op="$1" -v b="$2" '$1 == op && $2 == b { print op == "stream" ? b / $4 / 1048576 : $4 * 1e6 }'
}
ucx() { # operation, bytes
    local server column=2 arguments="-t tag_lat -n 5000 -w 1000"
    [ "$1" = pingpong ] || { column=6 && arguments="-t tag_bw -n $(((96 << 20) / $2)) -w 20"; }
    # shellcheck disable=SC2086 # Several words.
    timeout 60 ucx_perftest -f $arguments -s "$2" >/tmp/server 2>&1 &
    server=$!
    # Until it listens (0A) on its port, 13337; connections of the last one may linger there.
    until grep -q ':3419 [0-9A-F:]* 0A ' /proc/net/tcp || ! kill -0 "$server" 2>/dev/null; do sleep 0.1; done
    # shellcheck disable=SC2086
    timeout 60 ucx_perftest -f $arguments -s "$2" 127.0.0.1 >/tmp/client 2>&1
    awk -v column="$column" 'NF == 8 && $1 + 0 > 0 { print $column }' /tmp/client
    wait "$server" || cat /tmp/server /tmp/client >&2
}
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

beside() { # operation, bytes, unit
    local i who
    rm -f /tmp/of-*
    for i in $(seq "$rounds"); do
        for who in ringworld ucx openmpi; do "$who" "$1" "$2" >>"/tmp/of-$who"; done
    done
    for who in ringworld ucx openmpi; do
        echo "$1 of $2 bytes, $3: $who $(tr '\n' ' ' <"/tmp/of-$who")"
        [ "$(grep -c . "/tmp/of-$who")" = "$rounds" ] || return 1
    done
    awk -v op="$1" -v b="$2" -v unit="$3" -v r="$(median </tmp/of-ringworld)" -v u="$(median </tmp/of-ucx)" \
        -v o="$(median </tmp/of-openmpi)" 'BEGIN {
        printf "soft-roce: %s of %d bytes, %s: ringworld %.1f, UCX %.1f (ratio %.2f), Open MPI %.1f (ratio %.2f)\n", op, b, unit, r, u, r / u, o, r / o }'
}

echo "with $(tr '\n' ',' </mnt/versions)"
for bytes in 8 1024 8192; do
    step "half a round trip of $bytes bytes" 200 beside pingpong "$bytes" us
done
for bytes in 65536 1048576; do
    step "stream of $bytes bytes" 300 beside stream "$bytes" MiB/s
done
