"""Print the arguments and variables of a replica.

The job ends with its chief, so the chief then waits for all others: those in CLUSTER_SPEC, or `--others=N`.
"""

import json
import os
import socket
import sys
import time

import vertex_cluster


def report(arguments):
    """Print the arguments and all variables, then wait for the other replicas."""
    print("found", json.dumps([arguments, dict(os.environ)]), flush=True)
    cluster = vertex_cluster.from_environment()
    if cluster.is_chief:
        with socket.create_server((cluster.host, cluster.port)) as server:
            given = [int(word[9:]) for word in arguments if word.startswith("--others=")]
            for _ in range(given[0] if given else sum(map(len, cluster.pools)) - 1):
                server.accept()[0].close()
        return
    met = False
    while not met:
        try:
            socket.create_connection((cluster.chief_host, cluster.chief_port)).close()
            met = True
        except OSError:
            time.sleep(0.1)


if __name__ == "__main__":
    report(sys.argv[1:])
