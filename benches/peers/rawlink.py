"""What plain sockets move over a cable, both ways at once: the measure of the scene `links`.

`rawlink.py listen ADDRESS PORT SECONDS` on one host, `rawlink.py connect ADDRESS PORT SECONDS` on the other. Each sends as much
as it can for so long while a thread receives, and prints the bytes per second that it received. The first tenth of a second
is not counted: congestion control is then still finding out how fast the cable is.
"""

import socket
import sys
import threading
import time

BLOCK = 256 << 10
WARM_UP_S = 0.1
PATIENCE_S = 10.0


def connected(role, address, port):
    """One connection between the two programs, whichever starts first."""
    if role == "listen":
        with socket.create_server((address, port)) as server:
            server.settimeout(PATIENCE_S)
            return server.accept()[0]
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return socket.create_connection((address, port), timeout=PATIENCE_S)
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def send(connection, seconds):
    """Sends for so long, then says that nothing more will come."""
    block, end = bytes(BLOCK), time.monotonic() + seconds
    while time.monotonic() < end:
        connection.sendall(block)
    connection.shutdown(socket.SHUT_WR)


def receive(connection):
    """Receives until the end; returns bytes per second after the warm-up."""
    memory, start, counted, since, last = bytearray(BLOCK), None, 0, None, None
    while got := connection.recv_into(memory):
        last = time.monotonic()
        start = last if start is None else start
        if since is not None:
            counted += got
        elif last - start >= WARM_UP_S:
            since = last
    if since is None or last <= since:
        raise SystemExit("rawlink: the connection ended before anything could be timed")
    return counted / (last - since)


def main():
    """Both directions at once."""
    role, address, port, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    with connected(role, address, port) as connection:
        connection.settimeout(PATIENCE_S)
        sender = threading.Thread(target=send, args=(connection, seconds), daemon=True)
        sender.start()
        print(f"{receive(connection):.0f}")
        sender.join()


if __name__ == "__main__":
    main()
