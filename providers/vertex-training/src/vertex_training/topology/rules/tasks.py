"""The rules of a pool's task: container, Python package, arguments, environment."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Sequence

from vertex_training.catalog.prebuilt_images import prebuilt_image
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import shown
from vertex_training.topology.pools import ContainerSpec, EnvVar, PythonPackageSpec, WorkerPoolSpec
from vertex_training.topology.rules.images import image_problems
from vertex_training.topology.variables import long_variable_problems

MAX_ENV = 100
MAX_PACKAGES = 100
MAX_ARGS_LENGTH = 100_000
"""Characters of all arguments together."""

_CREATE = 'Vertex AI documentation, "Create a serverless training job"'

PREBUILT_IMAGE = Rule(
    name="prebuilt-image",
    says="a Python package runs in one of Google's prebuilt training images",
    source="Vertex AI API, PythonPackageSpec.executor_image_uri",
    level="warning",
)
PACKAGE_COUNT = Rule(
    name="package-count",
    says=f"a Python package task has 1 to {MAX_PACKAGES} packages",
    source="Vertex AI API, PythonPackageSpec.package_uris",
)
PACKAGE_URI = Rule(
    name="package-uri",
    says="a package is an object in a bucket",
    source="Vertex AI API, PythonPackageSpec.package_uris",
)
PACKAGE_KIND = Rule(
    name="package-kind",
    says="a package is a source distribution or a wheel",
    source=_CREATE,
    level="warning",
)
_SHELL = re.compile(r"[|&;<>$`]")
COMMAND_WORDS = Rule(
    name="command-words",
    says="each word of a command is an entry of its own",
    source="Vertex AI API, ContainerSpec.command",
    level="warning",
)
PYTHON_MODULE = Rule(
    name="python-module",
    says="a module is named as python -m takes it",
    source="Vertex AI API, PythonPackageSpec.python_module",
)
ARGS_LENGTH = Rule(
    name="args-length",
    says=f"the arguments of a task have at most {MAX_ARGS_LENGTH} characters in total",
    source=_CREATE,
)
ENV_COUNT = Rule(
    name="env-count",
    says=f"a task has at most {MAX_ENV} environment variables",
    source="Vertex AI API, ContainerSpec.env",
)
ENV_NAME = Rule(
    name="env-name", says="a variable's name is a C identifier", source="Vertex AI API, EnvVar.name"
)
ENV_TWICE = Rule(
    name="env-twice",
    says="a variable is set once",
    source='ours: another Vertex AI service answers "EnvVar names must be unique."',
)
ENV_BOTH = Rule(
    name="env-both",
    says="a variable that the service sets has one value",
    source="ours: observed in the environment of jobs, and not documented",
    level="warning",
)
ENV_OF_SERVICE = Rule(
    name="env-of-service",
    says="the service sets CLUSTER_SPEC and TF_CONFIG itself",
    source='Vertex AI documentation, "Distributed training"',
    level="warning",
)

_ALWAYS_SET = frozenset({"CLOUD_ML_PROJECT_ID", "CLOUD_ML_JOB_ID", "HOSTNAME"})
_RANKS = frozenset({"MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE"})
"""Variables of a distributed job."""

_C_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OBJECT = re.compile(r"gs://[^/\s]+/.+")
_MODULE_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")


def task_problems(pool: WorkerPoolSpec, path: str, *, replicas: int) -> Iterator[Problem]:
    """Yield every finding about the task of a pool; `replicas` counts the whole job."""
    if pool.container_spec is not None:
        below = f"{path}.container_spec"
        yield from image_problems(pool.container_spec.image_uri, f"{below}.image_uri")
        yield from _command_problems(pool.container_spec, below)
        yield from _common_problems(pool.container_spec, below, replicas)
    if pool.python_package_spec is not None:
        below = f"{path}.python_package_spec"
        yield from _package_problems(pool.python_package_spec, below)
        yield from _common_problems(pool.python_package_spec, below, replicas)


def _package_problems(task: PythonPackageSpec, path: str) -> Iterator[Problem]:
    image = f"{path}.executor_image_uri"
    faults = list(image_problems(task.executor_image_uri, image))
    yield from faults
    if not faults and prebuilt_image(task.executor_image_uri) is None:
        yield PREBUILT_IMAGE.broken(
            image,
            f"{shown(task.executor_image_uri)} is not one of Google's prebuilt training images "
            "(us-docker.pkg.dev/vertex-ai/training/...); run your own image with container_spec",
        )
    uris = f"{path}.package_uris"
    if not 1 <= len(task.package_uris) <= MAX_PACKAGES:
        yield PACKAGE_COUNT.broken(
            uris, f"{len(task.package_uris)} packages; give 1 to {MAX_PACKAGES}", rests_on=(uris,)
        )
    for i, uri in enumerate(task.package_uris):
        if not _OBJECT.fullmatch(uri):
            yield PACKAGE_URI.broken(
                f"{uris}[{i}]",
                f"{shown(uri)} is not an object in a bucket; write gs://BUCKET/NAME of a source "
                "distribution (.tar.gz) or a wheel (.whl)",
            )
        elif not uri.endswith((".tar.gz", ".whl")):
            yield PACKAGE_KIND.broken(
                f"{uris}[{i}]",
                f"{shown(uri)} is neither a source distribution (.tar.gz) nor a wheel (.whl); build one of "
                "them",
            )
    if not _is_module(task.python_module):
        better = task.python_module.removesuffix(".py").strip("/").replace("/", ".")
        example = better if _is_module(better) else "trainer.task"
        yield PYTHON_MODULE.broken(
            f"{path}.python_module",
            f"{shown(task.python_module)} is not a module; write the name that python -m takes, "
            f"for example {example}",
        )


def _command_problems(task: ContainerSpec, path: str) -> Iterator[Problem]:
    if len(task.command) == 1 and len(task.command[0].split()) > 1:
        yield COMMAND_WORDS.broken(
            f"{path}.command[0]",
            f"{shown(task.command[0])} would run as the name of one program; write each word as an entry of "
            f"its own: {_words_of(task.command[0])}",
        )


def _words_of(line: str) -> str:
    """Return a command line as a list that Python, YAML and JSON read."""
    try:
        words = shlex.split(line)
    except ValueError:  # an open quotation mark
        words = line.split()
    if _SHELL.search(line):
        words = ["bash", "-c", line]
    return shown(json.dumps(words, ensure_ascii=False))[1:-1]


def _common_problems(task: ContainerSpec | PythonPackageSpec, path: str, replicas: int) -> Iterator[Problem]:
    length = sum(map(len, task.args))
    if length > MAX_ARGS_LENGTH:
        yield ARGS_LENGTH.broken(
            f"{path}.args",
            f"the arguments have {length} characters in total; the limit is {MAX_ARGS_LENGTH}. "
            "Put long values in a file in the bucket",
            rests_on=(f"{path}.args",),
        )
    yield from _env_problems(task.env, f"{path}.env", distributed=replicas > 1)
    yield from long_variable_problems(task.env, f"{path}.env", replicas=replicas)


def _env_problems(env: Sequence[EnvVar], path: str, *, distributed: bool) -> Iterator[Problem]:
    if len(env) > MAX_ENV:
        yield ENV_COUNT.broken(
            path,
            f"{len(env)} variables; a task has at most {MAX_ENV}. Put the others in a file in the bucket",
            rests_on=(path,),
        )
    first: dict[str, int] = {}
    for i, variable in enumerate(env):
        below = f"{path}[{i}].name"
        if not _C_IDENTIFIER.fullmatch(variable.name):
            yield ENV_NAME.broken(
                below,
                f"{shown(variable.name)} cannot name a variable; use letters, digits and "
                "underscores, and no digit first",
            )
        elif variable.name in first:
            earlier = f"{path}[{first[variable.name]}].name"
            yield ENV_TWICE.broken(
                below,
                f"{variable.name} is set twice, first in env[{first[variable.name]}]; names must be "
                "unique, keep one",
                rests_on=(below, earlier),
            )
        elif variable.name in _ALWAYS_SET or (variable.name in _RANKS and distributed):
            yield ENV_BOTH.broken(
                below,
                f"{variable.name} is also set by Vertex AI, and it is not documented which value a program "
                "sees; use another name",
                rests_on=(below,) if variable.name in _ALWAYS_SET else (below, f"{path.partition('[')[0]}.*"),
            )
        elif variable.name == "CLUSTER_SPEC" or (variable.name == "TF_CONFIG" and distributed):
            yield ENV_OF_SERVICE.broken(
                below,
                f"{variable.name} is overwritten by Vertex AI on every replica; leave it out",
                rests_on=(below,)
                if variable.name == "CLUSTER_SPEC"
                else (below, f"{path.partition('[')[0]}.*"),
            )
        first.setdefault(variable.name, i)


def _is_module(name: str) -> bool:
    """Return whether `python -m` accepts a name. Its parts need not be identifiers."""
    return not name.endswith(".py") and all(map(_MODULE_PART.fullmatch, name.split(".")))
