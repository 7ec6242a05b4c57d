#!/usr/bin/env bash
# mpi4py's own tests on libmpi.so.12, as far as they go in three minutes, some of MPICH's, and benchmarks; what both
# libraries export; what is made of the tables of functions and constants, the header above all; programs in C and C++;
# two hosts. All of it: tests/mpi/run, tests/mpi/suite and tests/mpi/benchmarks.
source "$(dirname "$0")/lib.sh"
headline "programs made for MPI"
cargo test --quiet --locked -p xtask -p ringworld-mpi
cargo build --quiet --locked -p ringworld-mpi-mpich -p ringworld-mpi-abi -p ringworld-launcher
built=$(cd "$CARGO_TARGET_DIR" && pwd)/debug
names=$(grep -oE '^[A-Za-z].* \*?MPI_[A-Za-z0-9_]+\(' mpi/functions.txt | grep -oE 'MPI_[A-Za-z0-9_]+\($' | tr -d '(')
for library in libmpi.so:libmpi.so.12 libmpi_abi.so:libmpi_abi.so.1; do
    exported=$(nm --dynamic --defined-only "$built/${library%:*}" | awk '$2 == "T" { print $3 }')
    for prefix in "" P; do
        lacking=$(comm -23 <(sed "s/^/$prefix/" <<<"$names" | sort) <(sort <<<"$exported"))
        [ -z "$lacking" ] || fail "${library%:*} does not export $(tr '\n' ' ' <<<"$lacking")"
    done
    readelf --dynamic "$built/${library%:*}" | grep -F "[${library#*:}]" >/dev/null || fail "${library%:*} is not called ${library#*:}"
done
nm --dynamic "$built/libmpi.so" | grep -E ' D MPI_UNWEIGHTED$' >/dev/null || fail "libmpi.so does not export MPI_UNWEIGHTED"
command -v python3 >/dev/null || skip "python3 is not installed"
status=0
tests/mpi/headers || status=$?
[ "$status" != 77 ] || skip "see above"
[ "$status" = 0 ] || fail "launcher/src/mpi/mpi.h is not the standard's, see above"
tests/mpi/compiled || status=$?
[ "$status" != 77 ] || skip "see above"
[ "$status" = 0 ] || fail "programs in C or C++ have failed, see above"
for part in all disagree; do
    for library in abi:libmpi_abi.so mpich:libmpi.so; do
        timeout 60 "$built/ringworld" run -n 3 -- \
            python3 tests/mpi/programs/plain.py "${library%:*}" "$built/${library#*:}" "$part" ||
            fail "calls of ${library#*:} ($part) have failed, see above"
    done
done
two=(test_p2p_obj test_p2p_buf_matched test_cco_buf test_cco_nb_buf test_cco_obj_inter test_comm test_comm_inter
    test_comm_topo test_cco_ngh_obj test_request test_status test_op test_datatype test_pack test_grequest test_p2p_buf_part
    test_errhandler test_objmodel)
three=(test_p2p_obj test_cco_obj test_cco_obj_inter test_cco_buf_inter test_comm_inter test_comm_topo)
tests/mpi/run --ranks 2 --limit 200 "${two[@]/#/-i}" || status=$?
[ "$status" != 0 ] || tests/mpi/run --ranks 3 --limit 100 "${three[@]/#/-i}" || status=$?
[ "$status" != 0 ] || tests/mpi/hosts || status=$?
[ "$status" != 77 ] || skip "see above"
[ "$status" = 0 ] || fail "mpi4py's tests have failed, see above"
tests/mpi/suite --most 4 attr errhan group info topo errors/{attr,comm,datatype,group,pt2pt,topo} || status=$?
[ "$status" != 77 ] || skip "see above"
[ "$status" = 0 ] || fail "MPICH's tests have failed, see above"
tests/mpi/benchmarks --quick || status=$?
[ "$status" != 77 ] || skip "see above"
[ "$status" = 0 ] || fail "benchmarks have failed, see above"
finished
