"""The variables that torch.distributed reads, counted in nodes and not in GPUs.

AI Platform documentation, "Distributed PyTorch": set on every node of a cluster of a master and workers. Real
jobs on Vertex AI have them too, although its documentation does not list them. Servers and evaluators do not
train: with WORLD_SIZE in their environment a program there would wait for ranks that nobody has, so they get
none of the four. A job of one replica has none either (seen).
"""

from __future__ import annotations

from collections.abc import Sequence

from vertex_cluster.cluster import split_address
from vertex_training.environment.hosts import Addresses
from vertex_training.topology.roles import CHIEF, WORKERS


def rank_variables(
    addresses: Addresses, pool: int, index: int, *, open_ports: Sequence[int] = ()
) -> dict[str, str]:
    """MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE of a replica: the chief is 0 and worker i is i + 1.

    MASTER_PORT is the first of `open_ports`, which the service calls its training port (3333 where seen),
    else the chief's own port; its value on Vertex AI is not established. Raises ValueError when the chief's
    address is not host:port.
    """
    counts = [len(each) for each in addresses]
    if pool > WORKERS or sum(counts) < 2:
        return {}
    host, port = split_address(addresses[CHIEF][0])
    return {
        "MASTER_ADDR": host,
        "MASTER_PORT": str(open_ports[0] if open_ports else port),
        "RANK": str(index if pool == CHIEF else counts[CHIEF] + index),
        "WORLD_SIZE": str(sum(counts[: WORKERS + 1])),
    }
