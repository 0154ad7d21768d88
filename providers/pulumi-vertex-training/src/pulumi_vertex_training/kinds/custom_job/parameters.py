"""Arguments of a `CustomJob` from a training input of legacy AI Platform."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import pulumi

from pulumi_vertex_training.kinds.custom_job.document import LegacyDocument, read_training_input
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform.remarks import CHIEF_FIELD, TUNING
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform.training_input import (
    PREFIX,
    TrainingInput,
    chief_name,
)
from pulumi_vertex_training.kinds.custom_job.forms.gcloud import KEY as GCLOUD
from pulumi_vertex_training.program import messages
from pulumi_vertex_training.program.arguments import checks
from pulumi_vertex_training.program.arguments.named_arguments import checked_call
from pulumi_vertex_training.program.resource import on_google, stack_settings
from vertex_cluster.legacy import VARIABLE
from vertex_training.fields import wire
from vertex_training.fields.decode import encode
from vertex_training.fields.schema import snake_case
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem, errors, warnings

_NAME = "from_training_input"
_LEGACY_FIELDS = frozenset(each.name for each in fields(TrainingInput))
_ON_GOOGLE = (
    "legacy_environment: Google Cloud sets the variables of Vertex AI. Let the program call "
    "vertex_cluster.use_legacy_environment() first, or start it with python3 -m vertex_cluster.legacy"
)


@checked_call
def from_training_input(
    document: Mapping[str, Any] | str,
    *,
    legacy_environment: bool = False,
    location: str | None = None,
    allow_unknown_types: bool = False,
    allow_legacy_types: bool = False,
) -> dict[str, Any]:
    """Return the arguments of a `CustomJob` that runs a job of legacy AI Platform Training.

        vt.CustomJob("train", **vt.from_training_input(yaml.safe_load(open("job.yaml"))))

    docs/coming-from/ai-platform.md has the table of all fields. A field that is left out or means something
    else on
    Vertex AI is a warning.

    Raises `pulumi.RunError` with every error of the document.

    :param document: `{"trainingInput": {...}}` with `jobId` and `labels` beside it, a training input alone,
        or the command `gcloud ai-platform jobs submit training ...` as one string.
    :param legacy_environment: Give the replicas CLUSTER_SPEC and TF_CONFIG as AI Platform did, with master,
        worker and ps. On the emulator that happens by itself. On Google Cloud, `vertex_cluster` in the
        container does it.
    :param location: Region, for the prebuilt images. Default: that of the document, else the stack's.
    :param allow_unknown_types: Report unknown machine and accelerator types as a warning. Passed on.
    :param allow_legacy_types: Accept types that Google has retired. Passed on.
    """
    return converted(
        _NAME,
        document,
        legacy_environment=legacy_environment,
        location=location,
        allow_unknown_types=allow_unknown_types,
        allow_legacy_types=allow_legacy_types,
    )


def converted(
    function: str,
    document: Mapping[str, Any] | str,
    *,
    legacy_environment: bool,
    location: str | None,
    allow_unknown_types: bool,
    allow_legacy_types: bool,
    hyperparameters: Callable[[Mapping[str, Any] | None], Sequence[Problem]] | None = None,
) -> dict[str, Any]:
    """Return the arguments of a `CustomJob` from a training input, for the public `function`.

    `hyperparameters` converts the training input's and returns its findings. Without it, a warning
    says that they are left out. Raises `pulumi.RunError`.
    """
    options = CheckOptions(
        location=location, allow_unknown_types=allow_unknown_types, allow_legacy_types=allow_legacy_types
    )
    value = _whole(function, document)
    found = read_training_input(value, options)
    if found.location is None:
        found = read_training_input(value, replace(options, location=stack_settings().location))
    problems = [*found.problems]
    moot = {CHIEF_FIELD.name} if legacy_environment else set()
    if isinstance(found, LegacyDocument) and hyperparameters is not None:
        problems += hyperparameters(found.training_input.hyperparameters)
        moot.add(TUNING.name)
    checks.require(function, [str(problem) for problem in errors(problems)])
    if not isinstance(found, LegacyDocument) or found.spec is None:
        raise pulumi.RunError(f"{function}: the document is no training input of AI Platform")
    said = [str(problem) for problem in warnings(problems) if problem.rule not in moot]
    if legacy_environment and on_google():
        said.append(_ON_GOOGLE)
    if said:
        messages.warn("\n".join(f"{function}: {line}" for line in said), None)
    job = {name: item for name, item in encode(found.spec).items() if item != ""}
    pools = job["worker_pool_specs"]
    if legacy_environment:
        pools = [_with_legacy_environment(pool, found.training_input) for pool in pools]
    switches = {"allow_unknown_types": allow_unknown_types, "allow_legacy_types": allow_legacy_types}
    own_region = location or found.training_input.region
    return {
        **job,
        "worker_pool_specs": pools,
        **({"location": own_region} if own_region else {}),
        **{name: True for name, given in switches.items() if given},
    }


def _whole(function: str, document: Mapping[str, Any] | str) -> Mapping[Any, object]:
    """Return a document in one of the forms that can be read."""
    if isinstance(document, str):
        return {GCLOUD: document}
    if not isinstance(document, Mapping):
        raise pulumi.RunError(
            f"{function}: document is {checks.shown(document)}; give a dictionary such as "
            '{"trainingInput": {...}}, or a command gcloud ai-platform jobs submit training'
        )
    names = {snake_case(key) for key in document if isinstance(key, str)}
    return document if names & {PREFIX, GCLOUD} or not names & _LEGACY_FIELDS else {PREFIX: document}


def _with_legacy_environment(pool: dict[str, Any], given: TrainingInput) -> dict[str, Any]:
    """Return a pool whose task has the variable that asks for the legacy environment."""
    text = json.dumps(
        {"chief": chief_name(given), "container": given.has_container, "job": wire.to_json(given)},
        separators=(",", ":"),
    )
    for task in ("container_spec", "python_package_spec"):
        if pool.get(task):
            spec = pool[task]
            return {**pool, task: {**spec, "env": [*spec.get("env", ()), {"name": VARIABLE, "value": text}]}}
    return pool
