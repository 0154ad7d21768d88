"""The environment of each replica of a job on Vertex AI."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from vertex_training.fields import uris
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.replica_environment.cluster_variables import (
    Addresses,
    ClusterVariables,
    Contract,
    check_addresses,
    cluster_variables,
    host_name,
    rank_variables,
    service_addresses,
)
from vertex_training.replica_environment.job_variables import (
    METRIC_FILE,
    METRIC_TAG,
    RunContext,
    job_variables,
)
from vertex_training.topology.pools import WorkerPoolSpec
from vertex_training.topology.roles import CHIEF, Role, replica_name, replicas, role_of
from vertex_training.topology.variables import refers_to, with_own_variables

__all__ = ["Contract", "ReplicaEnvironment", "host_name", "job_environments", "replica_environment"]


@dataclass(frozen=True, kw_only=True)
class ReplicaEnvironment:
    """One replica and its variables.

    `pool` and `index` identify the replica, `name` is the service's name for it. `cluster_spec` and
    `tf_config` are the values of CLUSTER_SPEC and TF_CONFIG before they become JSON, or None if the service
    does not set the variable; `variables` are all others. All replicas of a job share the mapping under
    "cluster": do not change it.
    """

    name: str
    role: Role
    pool: int
    index: int
    cluster_spec: Mapping[str, Any] | None = field(repr=False)
    tf_config: Mapping[str, Any] | None = field(repr=False)
    variables: Mapping[str, str] = field(repr=False)

    def as_variables(self) -> dict[str, str]:
        """Return every variable as the replica's process gets it."""
        structured = {"CLUSTER_SPEC": self.cluster_spec, "TF_CONFIG": self.tf_config}
        return {
            **{name: _json(value) for name, value in structured.items() if value is not None},
            **self.variables,
        }


def job_environments(
    spec: CustomJobSpec,
    *,
    contract: Contract = "observed",
    job_id: str,
    project_number: str,
    location: str,
    addresses: Addresses | None = None,
    trial: str | None = None,
    metric_tag: str = METRIC_TAG,
    metric_file: str = METRIC_FILE,
    open_ports: Sequence[int] = (),
    data: Mapping[str, str] | None = None,
) -> list[ReplicaEnvironment]:
    """Return the environment of every replica of a job, pool by pool, with the expanded `env` of its task.

    `addresses` has a list for each pool, one `host:port` per replica, none for an empty pool. None means the
    service's host names and port 2222. `trial` is the number of a tuning job's trial, from "1"; the metric's
    tag and file are only used with it. `open_ports` are further ports of each replica, listed in
    CLUSTER_SPEC. `data` are the variables of a pipeline's dataset (`pipeline_data`).

    Raises ValueError if the pools do not form a job (not exactly one chief, a negative count, more than
    four), if the addresses do not match the pools, or if the trial is not a number.
    """
    context = RunContext(
        job_id=job_id,
        project_number=project_number,
        location=location,
        trial=trial,
        metric_tag=metric_tag,
        metric_file=metric_file,
        data=data or {},
    )
    view = _job(spec, context, contract=contract, addresses=addresses, open_ports=open_ports)
    return [view.environment(each.pool, each.index) for each in replicas(spec.worker_pool_specs)]


def replica_environment(
    *,
    pools: Sequence[WorkerPoolSpec],
    addresses: Addresses,
    pool: int,
    index: int,
    job_id: str,
    project_number: str,
    location: str,
    base_output_directory: str | None,
    contract: Contract = "observed",
    open_ports: Sequence[int] = (),
    spec: CustomJobSpec | None = None,
    trial: str | None = None,
    metric_tag: str = METRIC_TAG,
    metric_file: str = METRIC_FILE,
) -> dict[str, str]:
    """Return every variable of replica `index` in pool `pool`, as `job_environments` has them.

    `spec` supplies the rest of the job, for variables that follow neither from its pools nor from its
    directory. Raises ValueError as `job_environments` does, and if the job does not have this replica.
    """
    whole = replace(
        spec or CustomJobSpec(display_name="", worker_pool_specs=()),
        worker_pool_specs=tuple(pools),
        base_output_directory=base_output_directory,
    )
    context = RunContext(
        job_id=job_id,
        project_number=project_number,
        location=location,
        trial=trial,
        metric_tag=metric_tag,
        metric_file=metric_file,
    )
    view = _job(whole, context, contract=contract, addresses=addresses, open_ports=open_ports)
    if not (0 <= pool < len(pools) and 0 <= index < pools[pool].replica_count):
        raise ValueError(f"the job has no replica {index} in worker pool {pool}")
    return view.environment(pool, index).as_variables()


@dataclass(frozen=True, kw_only=True)
class _Job:
    """The facts that all replicas of a job share."""

    pools: Sequence[WorkerPoolSpec]
    addresses: Addresses
    cluster: ClusterVariables
    hosts: Addresses
    variables: Mapping[str, str]

    def environment(self, pool: int, index: int) -> ReplicaEnvironment:
        """Return the environment of one replica."""
        cluster_spec = self.cluster.cluster_spec(pool, index)
        tf_config = self.cluster.tf_config(pool, index)
        service = {
            "HOSTNAME": self.hosts[pool][index],
            **self.variables,
            **rank_variables(self.addresses, pool, index, open_ports=self.cluster.open_ports),
        }
        return ReplicaEnvironment(
            name=replica_name(pool, index),
            role=role_of(pool, self.pools[pool]),
            pool=pool,
            index=index,
            cluster_spec=cluster_spec,
            tf_config=tf_config,
            variables=_expanded(
                self.pools[pool], service, {"CLUSTER_SPEC": cluster_spec, "TF_CONFIG": tf_config}
            ),
        )


def _job(
    spec: CustomJobSpec,
    context: RunContext,
    *,
    contract: Contract,
    addresses: Addresses | None,
    open_ports: Sequence[int],
) -> _Job:
    directory = uris.directory(spec.base_output_directory or "") or None
    spec = replace(spec, base_output_directory=directory)
    pools = spec.worker_pool_specs
    counts = [pool.replica_count for pool in pools]
    if counts[: CHIEF + 1] != [1] or min(counts) < 0:
        raise ValueError(
            f"worker pools of {counts} replicas do not form a job; the first pool has exactly one, the chief"
        )
    kinds = [f"workerpool{position}" for position in range(len(pools))]
    named = service_addresses(kinds, counts, context.job_id)
    if addresses is None:
        addresses = named
    check_addresses(addresses, counts, of="the worker pools")
    return _Job(
        pools=pools,
        addresses=addresses,
        hosts=[[address.rpartition(":")[0] for address in each] for each in named],
        cluster=cluster_variables(
            spec,
            addresses,
            contract=contract,
            job_id=context.job_id,
            trial=context.trial,
            open_ports=open_ports,
        ),
        variables=job_variables(spec, context),
    )


def _expanded(
    pool: WorkerPoolSpec, service: Mapping[str, str], structured: Mapping[str, object]
) -> dict[str, str]:
    """Return the service's variables and the task's own, without CLUSTER_SPEC and TF_CONFIG.

    Those two become text only if the task's own variables refer to them.
    """
    own = pool.task.env if pool.task else ()
    texts = {
        name: _json(value) if refers_to(own, name) else ""
        for name, value in structured.items()
        if value is not None
    }
    variables = with_own_variables({**service, **texts}, own)
    return {name: value for name, value in variables.items() if name not in texts}


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
