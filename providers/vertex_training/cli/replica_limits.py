"""Whether the replicas of a declaration can be listed: it has to say how many, and not too many."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence

from vertex_training.environment.ai_platform import role_counts
from vertex_training.specs.custom_job import CustomJobSpec
from vertex_training.specs.documents import Document
from vertex_training.topology import frameworks
from vertex_training.topology.pools import EnvVar
from vertex_training.topology.problems import Problem
from vertex_training.topology.roles import CHIEF, MAX_POOLS
from vertex_training.topology.rules import Rule
from vertex_training.topology.words import close

MAX_REPLICAS = 2_000
MAX_VARIABLE = 131_072

LISTED_REPLICAS = Rule(
    name="listed-replicas",
    says=f"the environments of at most {MAX_REPLICAS} replicas are listed",
    source="ours: each replica's environment has the addresses of all of them",
    level="warning",
)
LONG_VARIABLE = Rule(
    name="long-variable",
    says=f"a variable has at most {MAX_VARIABLE} characters when its references are replaced",
    source="Linux, execve(2), MAX_ARG_STRLEN",
)

RULES = (LISTED_REPLICAS, LONG_VARIABLE)

_COUNTS = ("replica_count", "worker_count", "parameter_server_count", "evaluator_count", "scale_tier")
_BESIDE_POOLS = frozenset(field.name for field in dataclasses.fields(CustomJobSpec)) - {"worker_pool_specs"}
_OF_FRAMEWORKS = frozenset(each.name for each in vars(frameworks).values() if isinstance(each, Rule))
_REFERENCE = re.compile(r"(\$?)\$\(([A-Za-z_][A-Za-z0-9_]*)\)")
_ADDRESS = 60
"""About how many characters a replica takes in CLUSTER_SPEC."""


def can_be_listed(document: Document) -> bool:
    """Whether the declaration says, without an error, how many replicas of which role there are."""
    if document.spec is None:
        return False
    counts = [pool.replica_count for pool in document.spec.worker_pool_specs]
    return (
        len(counts) <= MAX_POOLS
        and counts[: CHIEF + 1] == [1]
        and min(counts) >= 0
        and not any(_hides_a_count(problem) for problem in document.problems)
    )


def _hides_a_count(problem: Problem) -> bool:
    """Whether it is an error because of which a number of replicas is a guess: the number itself, the pool or
    role around it, or a field that may be a misspelt one."""
    if problem.level != "error" or problem.rule in _OF_FRAMEWORKS:
        return False
    whole = re.sub(r"\[[^\]]*\]$", "", problem.path)
    name = whole.rpartition(".")[2]
    if name in _COUNTS or problem.rule == "role-twice":
        return True
    return not problem.rule and (
        (name == whole and name not in _BESIDE_POOLS) or bool(close(name, _COUNTS, count=1))
    )


def limit_problems(document: Document) -> Iterator[Problem]:
    """Why the replicas of a declaration that says how many they are cannot be listed all the same."""
    pools = document.spec.worker_pool_specs if document.spec else ()
    count = sum(pool.replica_count for pool in pools)
    if document.training_input is not None:
        count = max(count, sum(role_counts(document.training_input)))
    if count > MAX_REPLICAS:
        yield LISTED_REPLICAS.broken(
            "worker_pool_specs",
            f"{count} replicas; the environments of at most {MAX_REPLICAS} are listed, so here none is; try "
            "it with fewer replicas",
        )
        return
    for position, pool in enumerate(pools):
        for task in (pool.container_spec, pool.python_package_spec):
            if task is None:
                continue
            name = "container_spec" if task is pool.container_spec else "python_package_spec"
            yield from _long_variables(task.env, f"worker_pool_specs[{position}].{name}.env", count)


def _long_variables(env: Sequence[EnvVar], path: str, replicas: int) -> Iterator[Problem]:
    """Counted before anything is replaced: twenty variables that double each other make a megabyte of one."""
    service = 1_000 + _ADDRESS * replicas
    lengths = {"CLUSTER_SPEC": service, "TF_CONFIG": service}
    for i, variable in enumerate(env):
        length = len(variable.value)
        for escape, name in _REFERENCE.findall(variable.value):
            if not escape and name in lengths:
                length += lengths[name] - len(f"$({name})")
        lengths[variable.name] = length
        if length > MAX_VARIABLE:
            yield LONG_VARIABLE.broken(
                f"{path}[{i}].value",
                f"has about {length} characters when its references are replaced; a variable has at most "
                f"{MAX_VARIABLE}. Put long values in a file in the bucket",
            )
            return
