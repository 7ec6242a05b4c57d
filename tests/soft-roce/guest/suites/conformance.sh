# The transport alone: the conformance kit that every transport passes, and what is particular to verbs.
tests unit-ringworld_transport_ibverbs 60
tests conformance 180
tests device 180
