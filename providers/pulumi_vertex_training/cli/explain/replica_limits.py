"""Check whether the replicas of a declaration can be listed."""

from __future__ import annotations

from collections.abc import Iterator

from pulumi_vertex_training.documents.document import Document
from pulumi_vertex_training.kinds.custom_job.document import LegacyDocument
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform.training_input import role_counts
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.topology.roles import CHIEF, MAX_POOLS
from vertex_training.topology.variables import LONG_VARIABLE

MAX_REPLICAS = 2_000

LISTED_REPLICAS = Rule(
    name="listed-replicas",
    says=f"the environments of at most {MAX_REPLICAS} replicas are listed",
    source="ours: each replica's environment has the addresses of all of them",
    level="warning",
)
SLICE_SETTINGS = Rule(
    name="tpu-slice-settings",
    says="settings of a framework are shown for replicas that are one machine each",
    source="ours: no document says what the other machines of a TPU slice have in their environment",
    level="warning",
)
RULES = (LISTED_REPLICAS, SLICE_SETTINGS)


def can_be_listed(document: Document[CustomJobSpec]) -> bool:
    """Return whether the number and the roles of the replicas are declared without an error."""
    if document.spec is None:
        return False
    pools = document.spec.worker_pool_specs
    counts = [pool.replica_count for pool in pools]
    guessed = {"", "worker_pool_specs"}
    for position in range(MAX_POOLS):
        guessed |= {f"worker_pool_specs[{position}]", f"worker_pool_specs[{position}].replica_count"}
    return (
        len(counts) <= MAX_POOLS
        and counts[: CHIEF + 1] == [1]
        and min(counts) >= 0
        and not guessed & document.damaged
        and not any(problem.rule == LONG_VARIABLE.name for problem in document.problems)
    )


def limit_problems(document: Document[CustomJobSpec]) -> Iterator[Problem]:
    """Yield a problem if there are too many replicas to list."""
    pools = document.spec.worker_pool_specs if document.spec else ()
    count = sum(pool.replica_count for pool in pools)
    if isinstance(document, LegacyDocument):
        count = max(count, sum(role_counts(document.training_input)))
    if count > MAX_REPLICAS:
        yield LISTED_REPLICAS.broken(
            "worker_pool_specs",
            f"{count} replicas are too many to list their environments; at most {MAX_REPLICAS} are listed. "
            "Try fewer replicas",
        )
