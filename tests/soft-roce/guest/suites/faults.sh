# Worlds of processes over verbs: what is chosen, dying (RINGWORLD_TEST_KILLS times), a link that goes down.
export RINGWORLD_TEST_TRANSPORT=ibverbs
kills=6
[ -z "$FULL" ] || kills=50
RINGWORLD_TEST_KILLS=${RINGWORLD_TEST_KILLS:-$kills} tests verbs 500 --nocapture
# Forming and ending as over TCP.
[ -z "$FULL" ] || tests tests 300 processes::
unset RINGWORLD_TEST_TRANSPORT
