# Whatever SOFT_ROCE_COMMAND says: for looking around.
step command 500 sh -c "${RINGWORLD_TEST_COMMAND:-rdma link; rdma resource show; ip addr}"
