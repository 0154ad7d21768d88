"""The variables of AI Platform Training, the service before Vertex AI, for programs that were written for it.

    import vertex_cluster

    vertex_cluster.use_legacy_environment()  # before the program reads TF_CONFIG or CLUSTER_SPEC

or, for a program that stays as it is, ``python3 -m vertex_cluster.legacy python3 -m trainer.task``. The
emulator does the same by itself. It happens only in a job whose pools have the variable `VARIABLE`, which
``from_training_input(document, legacy_environment=True)`` sets.

Sources: AI Platform documentation, "Distributed training with containers" and "TF_CONFIG and distributed
training". TF_CONFIG is set in every replica of every job, CLUSTER_SPEC only with custom containers and not in
evaluators; both name ``worker`` and ``ps``, CLUSTER_SPEC ``master``, TF_CONFIG ``chief`` or ``master``.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Mapping, MutableMapping, Sequence

from .cluster import ClusterError
from .variables import from_environment

__all__ = ["VARIABLE", "legacy_variables", "use_legacy_environment"]

VARIABLE = "VERTEX_CLUSTER_LEGACY_ENVIRONMENT"
"""JSON with ``chief``, the name of the first replica in TF_CONFIG; ``container``, whether the job runs a
custom container; ``job``, the training input."""

_EVALUATOR = 3


def legacy_variables(environ: Mapping[str, str] | None = None) -> dict[str, str | None]:
    """Return CLUSTER_SPEC and TF_CONFIG as AI Platform set them; None for a variable that it did not set.

    Empty if `VARIABLE` is not set. `environ` defaults to ``os.environ``. Raises ClusterError.
    """
    values: Mapping[str, str] = os.environ if environ is None else environ
    text = values.get(VARIABLE, "").strip()
    if not text:
        return {}
    facts = _facts(text)
    cluster = from_environment(values)
    trial = {} if cluster.trial is None else {"trial": cluster.trial}

    def described(chief: str, **more: str) -> dict[str, Any]:
        names = (chief, "worker", "ps", "evaluator")
        listed = {names[i]: list(cluster.pools[i]) for i in range(_EVALUATOR) if cluster.pools[i]}
        return {
            "cluster": listed,
            "task": {"type": names[cluster.pool], "index": cluster.index, **more, **trial},
            "job": facts.get("job", {}),
        }

    has_cluster_spec = facts.get("container", True) and cluster.pool != _EVALUATOR
    tf_config = {**described(facts.get("chief", "master"), **_cloud(values)), "environment": "cloud"}
    return {
        "CLUSTER_SPEC": json.dumps(described("master")) if has_cluster_spec else None,
        "TF_CONFIG": json.dumps(tf_config),
    }


def use_legacy_environment(environ: MutableMapping[str, str] | None = None) -> None:
    """Put `legacy_variables` into the environment. `environ` defaults to ``os.environ``."""
    values: MutableMapping[str, str] = os.environ if environ is None else environ
    for name, value in legacy_variables(values).items():
        if value is None:
            values.pop(name, None)
        else:
            values[name] = value


def _facts(text: str) -> Mapping[str, Any]:
    try:
        facts = json.loads(text)
    except ValueError:
        facts = None
    if isinstance(facts, dict):
        return facts
    raise ClusterError(
        variable=VARIABLE,
        path="",
        message="is not a JSON object",
        remedy="Use from_training_input(document, legacy_environment=True), which sets it",
    )


def _cloud(values: Mapping[str, str]) -> dict[str, str]:
    """Return the id of the machines, which Vertex AI writes without the letters around it."""
    task = json.loads(values.get("TF_CONFIG") or "{}").get("task", {})
    cloud = str(task.get("cloud", ""))
    if not cloud:
        return {}
    return {"cloud": cloud if cloud.startswith("w") else f"w{cloud}-ml"}


def main(words: Sequence[str]) -> None:
    """Replace this process by a program with the legacy environment."""
    if not words:
        sys.exit("Give the program: python3 -m vertex_cluster.legacy python3 -m trainer.task")
    use_legacy_environment()
    program = sys.executable if words[0] in ("python", "python3") else words[0]
    os.execvp(program, [program, *words[1:]])  # noqa: S606 - the program of the user


if __name__ == "__main__":
    main(sys.argv[1:])
