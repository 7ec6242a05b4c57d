#!/usr/bin/env bash
# The README's demo: four ranks train a network on real data. It must learn (at least 95 % of the test
# images), be quick (under 60 s once built) and give the same weights every time, whether its all-reduces overlap
# with the backward pass or follow it.
source "$(dirname "$0")/lib.sh"
headline "demo"

log=$(mktemp "${TMPDIR:-/tmp}/ringworld-demo.XXXXXX")
trap 'rm -f "$log"' EXIT
result() { sed -n "s/^$1 *\([^ ,]*\).*/\1/p" "$log"; }

echo "first run, which builds:"
cargo demo 2>&1 | tee "$log"
first=$(result weights)

echo "second run, which is timed:"
begin=$SECONDS
cargo demo 2>&1 | tee "$log"
elapsed=$((SECONDS - begin))

accuracy=$(result 'test accuracy')
weights=$(result weights)
ranks=$(result ranks)
[ "$ranks" = 4 ] || fail "4 ranks were expected, not '$ranks'"
[ -n "$weights" ] && [ "$weights" = "$first" ] || fail "the runs ended with different weights: '$first' and '$weights'"
awk -v a="$accuracy" 'BEGIN { exit !(a >= 95) }' || fail "the test accuracy is '$accuracy' %, at least 95 % were expected"
[ "$elapsed" -lt 60 ] || fail "the run took $elapsed s, less than 60 s were expected"
echo "overlap on and off, three buckets:"
buckets=()
for overlap in on off; do
    cargo demo --epochs 5 --bucket 1K --overlap "$overlap" 2>&1 | tee "$log"
    grep -q "in 3 buckets, overlap $overlap" "$log" || fail "three buckets with overlap $overlap were expected"
    buckets+=("$(result weights)")
done
[ -n "${buckets[0]}" ] && [ "${buckets[0]}" = "${buckets[1]}" ] || fail "overlap changed the weights: ${buckets[*]}"
echo "demo: $accuracy % of the test images, $elapsed s, weights $weights both times"
finished
