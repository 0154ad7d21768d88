"""Where this process stands in its training job: for code that runs inside a replica of Vertex AI.

    import vertex_cluster

    cluster = vertex_cluster.from_environment()
    if cluster.role == "evaluator":
        ...
    ranks = vertex_cluster.trainers(cluster)
    print(f"{cluster.name}: rank {ranks.rank} of {ranks.world_size}, chief at {cluster.chief_address}")

Standard library only, Python 3.8 or newer, so that a training package can carry a copy of this folder.
Every function that reads the environment takes it as an optional argument, which makes tests easy.
"""

from __future__ import annotations

from .cluster import ROLES, Cluster
from .errors import ClusterError
from .paths import gcs_path, gs_uri
from .ranks import Ranks, all_replicas, trainers
from .variables import from_environment, parse_cluster_spec, parse_tf_config

__all__ = [
    "ROLES",
    "Cluster",
    "ClusterError",
    "Ranks",
    "all_replicas",
    "from_environment",
    "gcs_path",
    "gs_uri",
    "parse_cluster_spec",
    "parse_tf_config",
    "trainers",
]
