# The whole runtime over verbs: the same tests that run over the simulator and over TCP elsewhere.
export RINGWORLD_TEST_TRANSPORT=ibverbs
for rules in messages requests objects communicators exchange mismatch failure; do
    tests "$rules" 120
done
for family in collectives varied roots operations cartesian; do
    tests "$family" 120
done
RINGWORLD_TEST_LARGEST=$((16 << 20)) tests sweep 240
tests random 240 over_a_real_wire
unset RINGWORLD_TEST_TRANSPORT
