"""The role, rank and peers of this process in its training job, for code in a replica on Vertex AI.

    import vertex_cluster

    cluster = vertex_cluster.from_environment()
    if cluster.role == "evaluator":
        ...
    ranks = vertex_cluster.trainers(cluster)
    print(f"{cluster.name}: rank {ranks.rank} of {ranks.world_size}, chief at {cluster.chief_address}")

    vertex_cluster.report(step=1, total=20, loss=0.5)  # `pulumi up` shows it while it waits

The package needs only the standard library of Python 3.8 or newer, so that a training package can contain a
copy of this folder. Every function that reads the environment also takes it as an argument, for tests.
"""

from __future__ import annotations

from .cluster import ROLES, Cluster, ClusterError
from .frameworks import FRAMEWORKS, Ranks, all_replicas, start_rendezvous, trainers
from .frameworks import arguments as framework_arguments
from .frameworks import settings as framework_settings
from .legacy import legacy_variables, use_legacy_environment
from .paths import gcs_path, gs_uri
from .placement.plan import Plan, WorkerPlan, plan, plan_for, plan_warnings, plans
from .placement.strategies import (
    STANDARD_PS_OPS,
    Cost,
    PlacementStrategy,
    ReplicationStrategy,
    RoundRobinStrategy,
    ensemble_variable_device,
    subnetwork_variable_device,
    variable_device,
)
from .placement.worker import PlacedWorker, PlacementError
from .reporting import report, set_stall_timeout
from .secret_manager import SecretError, secret
from .variables import from_environment, local_devices, parse_cluster_spec, parse_tf_config

__all__ = [
    "FRAMEWORKS",
    "ROLES",
    "STANDARD_PS_OPS",
    "Cluster",
    "ClusterError",
    "Cost",
    "PlacedWorker",
    "PlacementError",
    "PlacementStrategy",
    "Plan",
    "Ranks",
    "ReplicationStrategy",
    "RoundRobinStrategy",
    "SecretError",
    "WorkerPlan",
    "all_replicas",
    "ensemble_variable_device",
    "framework_arguments",
    "framework_settings",
    "from_environment",
    "gcs_path",
    "gs_uri",
    "legacy_variables",
    "local_devices",
    "parse_cluster_spec",
    "parse_tf_config",
    "plan",
    "plan_for",
    "plan_warnings",
    "plans",
    "report",
    "secret",
    "set_stall_timeout",
    "start_rendezvous",
    "subnetwork_variable_device",
    "trainers",
    "use_legacy_environment",
    "variable_device",
]
