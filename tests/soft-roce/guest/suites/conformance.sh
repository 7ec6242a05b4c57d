# The transport alone: the conformance kit that every transport passes, and what is particular to verbs.
tests unit-ringworld_transport_ibverbs 60
# Two queue pairs show nothing that three do not; each of the kit's runs takes a third of a minute.
if [ -n "$FULL" ]; then tests conformance 320; else tests conformance 240 --skip two_queue_pairs; fi
tests device 180
