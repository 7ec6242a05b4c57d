# Worlds of processes over verbs: forming, ending, dying; RINGWORLD_TEST_KILLS kills (50 unless given).
export RINGWORLD_TEST_TRANSPORT=ibverbs
tests verbs 400 --nocapture
tests processes 120
unset RINGWORLD_TEST_TRANSPORT
