"""Count the replicas of a live custom job, for the row of its resource."""

from __future__ import annotations

from collections.abc import Sequence

from pulumi_vertex_training.cloud import emulator_api
from pulumi_vertex_training.cloud.emulator_api import ReplicaState
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.core.running.declaration import Counts


def replica_counts(endpoint: Endpoint, record: JobRecord) -> Counts:
    """Count the replicas of a live custom job; nothing if the service does not report them."""
    if record.state.is_terminal:
        return Counts()
    try:
        return count_by_role(emulator_api.replicas(endpoint, record.job_id) or ())
    except CloudError:
        return Counts()


def count_by_role(replicas: Sequence[ReplicaState]) -> Counts:
    """Count replicas: `3/4` run or have ended well; then the roles that differ, in the order of pools.

    A role is `worker 2/2 done`, or with what is missing `worker 1/2 (1 restarting)`.
    """
    if not replicas:
        return Counts()
    roles: dict[str, list[str]] = {}
    for replica in replicas:
        roles.setdefault(replica.role, []).append(replica.state)
    well = sum(replica.state in ("running", "succeeded") for replica in replicas)
    details = filter(None, (_role(role, states) for role, states in roles.items()))
    return Counts(f"{well}/{len(replicas)}", ", ".join(details))


def _role(role: str, states: Sequence[str]) -> str:
    """Describe the replicas of a role, "" if all of them run or none has started."""
    done = states.count("succeeded")
    well = done + states.count("running")
    others = [state for state in dict.fromkeys(states) if state not in ("running", "succeeded")]
    if well == len(states):
        return f"{role} {done}/{len(states)} done" if done else ""
    if others == ["pending"] and not well:
        return ""
    missing = ", ".join(f"{states.count(state)} {state}" for state in others)
    return f"{role} {well}/{len(states)} ({missing})"
