"""What `torchrun --nproc-per-node N PROGRAM` is to a program, without torch, which is 5 GB: the variables that it sets,
and a store that listens at MASTER_PORT. Ends as the program does; with 70 if anybody but the store's own came to it.
"""

import os
import socket
import subprocess
import sys

count = int(sys.argv[1])
store = socket.create_server(("127.0.0.1", 0), backlog=64)
port = store.getsockname()[1]
ranks = []
for rank in range(count):
    said = {
        "RANK": rank,
        "LOCAL_RANK": rank,
        "GROUP_RANK": 0,
        "ROLE_RANK": rank,
        "ROLE_NAME": "default",
        "WORLD_SIZE": count,
        "LOCAL_WORLD_SIZE": count,
        "GROUP_WORLD_SIZE": 1,
        "ROLE_WORLD_SIZE": count,
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": port,
        "TORCHELASTIC_RESTART_COUNT": 0,
        "TORCHELASTIC_MAX_RESTARTS": 0,
        "TORCHELASTIC_RUN_ID": "none",
        "TORCHELASTIC_USE_AGENT_STORE": True,
        "OMP_NUM_THREADS": 1,
    }
    environment = os.environ | {name: str(value) for name, value in said.items()}
    ranks.append(subprocess.Popen(sys.argv[2:], env=environment))
statuses = [rank.wait() for rank in ranks]
store.setblocking(False)
try:
    store.accept()
    print("somebody has come to the store", file=sys.stderr)
    sys.exit(70)
except BlockingIOError:
    sys.exit(max(statuses, key=abs))
