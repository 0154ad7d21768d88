"""Write the modules of argument classes."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

from scripts.arguments.catalog import ARGS_MODULES, KINDS, PACKAGE
from scripts.arguments.layout import formatted, python_docstring, with_parameters
from scripts.arguments.messages import Field, fields_of, summary_of
from scripts.arguments.resources import Argument, arguments_of
from scripts.arguments.types import in_class, optional

_DEFAULTS: Mapping[str, str | None] = {
    "ContainerSpecArgs.image_uri": "None",
    "PythonPackageSpecArgs.executor_image_uri": "None",
    "PythonPackageSpecArgs.package_uris": "None",
    "PythonPackageSpecArgs.python_module": "None",
    "WorkerPoolSpecArgs.machine_spec": None,
    "WorkerPoolSpecArgs.replica_count": "1",
    "AutoscalingSpecArgs.min_replica_count": None,
    "AutoscalingSpecArgs.max_replica_count": None,
    "ModelArgs.container_spec": None,
}
"""Defaults of arguments that differ from those of the field: None for an argument that is required.

`DistributedTraining` fills in the image and the package of a task. Only an empty pool has no machine: it is
written `{}`.
"""

_HEADER = "Typed arguments of {subject}. Written by `make generate` from the messages: do not edit."

_SUBJECTS = {
    "program.arguments.job_args": "a job",
    "program.arguments.notification_args": "notifications",
    "kinds.hyperparameter_tuning_job.args": "a tuning job",
    "kinds.model.args": "models and data",
    "kinds.persistent_resource.args": "a persistent resource",
    "kinds.training_schedule.args": "a `TrainingSchedule`",
    "kinds.staging_bucket.args": "a bucket",
}

_PROVIDERS = "pulumi_vertex_training"
_HOMES = {
    "Any": "typing",
    "Literal": "typing",
    "TypedDict": "typing",
    "Mapping": "collections.abc",
    "Sequence": "collections.abc",
    "Input": "pulumi",
    "arguments_class": f"{_PROVIDERS}.program.arguments.arguments_class",
    "WorkerPool": f"{_PROVIDERS}.program.arguments.worker_pools",
    "BucketLike": f"{_PROVIDERS}.program.arguments.references",
    "ImageLike": f"{_PROVIDERS}.program.arguments.references",
    "TopicLike": f"{_PROVIDERS}.program.arguments.references",
    "ChannelLike": f"{_PROVIDERS}.program.arguments.references",
    "ServiceAccountLike": f"{_PROVIDERS}.program.arguments.references",
    "PersistentResource": f"{_PROVIDERS}.kinds.persistent_resource.resource",
    "Wait": f"{_PROVIDERS}.program.arguments.run_options",
    "OnInterrupt": f"{_PROVIDERS}.program.arguments.run_options",
    "NotificationsLike": f"{_PROVIDERS}.program.arguments.run_options",
    **{name: f"{_PROVIDERS}.{module}" for module, classes in ARGS_MODULES.items() for name in classes},
}
"""The module of each name that a generated module uses."""


def modules() -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of each module of argument classes."""
    for module, classes in ARGS_MODULES.items():
        path = PACKAGE.joinpath(*module.split(".")).with_suffix(".py")
        body = "\n\n".join(_class(name, message) for name, message in classes.items())
        yield path, _module(path, _HEADER.format(subject=_SUBJECTS[module]), body, own=classes)
    path = KINDS / "custom_job" / "args.py"
    header = "Arguments of `CustomJob` that a component passes on. Written by `make generate`: do not edit."
    yield path, _module(path, header, _options(), own=("JobOptions",))


def default_of(args: str, field: Field) -> str | None:
    """Return the source of the default of an argument of an argument class, None if it is required."""
    return _DEFAULTS.get(f"{args}.{field.name}", None if field.is_required else "None")


def _class(name: str, message: type) -> str:
    fields = fields_of(message)
    texts = {field.name: field.text for field in fields.values()}
    lines = ["@arguments_class", f"class {name}:", with_parameters(summary_of(message), texts, indent=4), ""]
    for field in sorted(fields.values(), key=lambda one: default_of(name, one) is not None):
        default, kind = default_of(name, field), in_class(field)
        if default == "None":
            kind = optional(kind, field)
        lines.append(f"    {field.name}: {kind}{'' if default is None else f' = {default}'}")
        lines.append(python_docstring(field.text, indent=4))
    return "\n".join(lines) + "\n"


_OWN = {"resource_name", "worker_pool_specs", "project", "location", "opts", "more"}
"""Arguments of `CustomJob` that a component sets itself."""


def _options() -> str:
    def lines(one: Argument) -> str:
        return f"    {one.name}: {one.annotation.replace('pulumi.Input', 'Input')}\n" + python_docstring(
            one.text, indent=4
        )

    passed = [one for one in arguments_of("CustomJob") if one.name not in _OWN]
    start = "class JobOptions(TypedDict, total=False):\n" + python_docstring(
        "Arguments of `CustomJob`, except the worker pools, for editors and type checkers.", indent=4
    )
    return start + "\n\n" + "\n".join(map(lines, passed)) + "\n"


def _module(path: Path, header: str, body: str, *, own: Mapping[str, type] | tuple[str, ...]) -> str:
    used = set(re.findall(r"[A-Za-z_]\w*", re.sub(r'"""(?s:.*?)"""', "", body))) - set(own)
    imports = "".join(f"from {_HOMES[name]} import {name}\n" for name in sorted(used & set(_HOMES)))
    top = "\n".join(textwrap.wrap(f'"""{header}', 107)) + '"""'
    return formatted(path, f"{top}\n\nfrom __future__ import annotations\n\n{imports}\n\n{body}")
