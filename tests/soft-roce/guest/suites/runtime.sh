# The whole runtime over verbs: the same tests that run over the simulator and over TCP elsewhere. Not in full: those
# that a wire can break most.
export RINGWORLD_TEST_TRANSPORT=ibverbs
rules="messages requests mismatch failure collectives registered"
largest=$((64 << 10))
random=random::everything_at_once_agrees_with_the_oracle_over_a_real_wire
if [ -n "$FULL" ]; then
    rules="$rules objects communicators exchange varied roots operations cartesian"
    largest=$((16 << 20))
    random=over_a_real_wire
fi
for rule in $rules; do
    tests runtime 180 "$rule::"
done
RINGWORLD_TEST_LARGEST=${RINGWORLD_TEST_LARGEST:-$largest} tests runtime 500 sweep::
tests runtime 400 "$random"
unset RINGWORLD_TEST_TRANSPORT
