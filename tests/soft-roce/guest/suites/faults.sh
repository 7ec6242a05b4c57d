# Worlds of processes over verbs: what is chosen, dying (RINGWORLD_TEST_KILLS times), a link that goes down.
export RINGWORLD_TEST_TRANSPORT=ibverbs
kills=6
[ -z "$FULL" ] || kills=50
kills=${RINGWORLD_TEST_KILLS:-$kills}
# Two tests, or the one that RINGWORLD_TEST_ONLY names; a kill and what follows takes 1 and 1.5 s on emulated processors.
RINGWORLD_TEST_KILLS=$kills tests verbs $((450 + 5 * kills)) --nocapture ${RINGWORLD_TEST_ONLY:+"$RINGWORLD_TEST_ONLY"}
# Forming and ending as over TCP.
[ -z "$FULL" ] || tests tests 300 processes::
unset RINGWORLD_TEST_TRANSPORT
