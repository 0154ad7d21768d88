"""The pages of functions: of a program, of tests, and of `vertex_cluster` in a replica."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pulumi_vertex_training as vt
import vertex_cluster
from pulumi_vertex_training.kinds.hyperparameter_tuning_job import parameters
from pulumi_vertex_training.kinds.training_pipeline import training_tasks
from pulumi_vertex_training.program.arguments import references, worker_pools
from scripts.arguments.catalog import ARGS_MODULES, PACKAGE, RESOURCES
from scripts.reference import examples
from scripts.reference.markdown import HEADER, REFERENCE, code, linked, prose, table, without_repeats
from scripts.reference.signatures import (
    a_class,
    aliases,
    fields,
    function,
    is_short,
    short_functions,
    signatures,
)
from scripts.reference.types_in_words import WORDS
from vertex_cluster import checkpoints
from vertex_emulator.client import control
from vertex_emulator.testing import emulator as testing
from vertex_emulator.testing import plugin

PAGE = REFERENCE / "functions.md"
TESTING_PAGE = REFERENCE / "testing.md"
CLUSTER_PAGE = REFERENCE / "vertex-cluster.md"


class UnlistedNameError(Exception):
    """A public name is in no group, or a group has a name that is not public."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """Names under one heading, in the order of the page, and the file of the example."""

    title: str
    names: tuple[str, ...]
    example: str


GROUPS = (
    Group(
        title="Worker pools",
        names=("topology", "chief_worker_pool", "from_training_input"),
        example="worker_pools",
    ),
    Group(
        title="Tuning",
        names=(
            *("minimize", "maximize", "double_parameter", "integer_parameter", "discrete_parameter"),
            *("categorical_parameter", "when", "tuning_from_training_input"),
        ),
        example="tuning",
    ),
    Group(
        title="Tasks of a training pipeline",
        names=("task_from_script", "task_from_package", "task_from_image"),
        example="tasks",
    ),
    Group(
        title="What exists already",
        names=(
            *("get_custom_job", "get_hyperparameter_tuning_job", "get_training_pipeline", "get_model"),
            *("get_staging_bucket", "get_image_repository", "get_persistent_resource"),
            "get_training_environment",
        ),
        example="existing",
    ),
    Group(
        title="Configuration",
        names=("read_configuration", "setting", "project", "location", "on_google"),
        example="configuration",
    ),
)

_OUTPUTS = {"EnvironmentValues": "[outputs of TrainingEnvironment](resources/TrainingEnvironment.md#outputs)"}
"""Bases whose attributes are on another page."""

_LOOKUPS = """Each of these returns something of the stack's endpoint that exists, live or ended, and adopts
nothing. It raises `pulumi.RunError` if that does not exist. `project` and `location` default to the parts of
a full name, else to the stack's. Ids are the last part of a full name. `version` is the number or an alias of
a version, without it the default one. For an output, use `.apply(vt.get_model)`."""

CLUSTER_GROUPS: Mapping[str, tuple[str, ...]] = {
    "The cluster": ("from_environment", "parse_cluster_spec", "parse_tf_config", "Cluster", "ClusterError"),
    "Ranks and frameworks": (
        *("trainers", "all_replicas", "Ranks", "framework_settings", "framework_arguments"),
        *("start_rendezvous", "local_devices"),
    ),
    "Progress, files and secrets": (
        *("report", "set_stall_timeout", "gcs_path", "gs_uri", "secret", "SecretError"),
    ),
    "Ensembles": (
        *("plan", "plan_for", "plans", "plan_warnings", "Plan", "WorkerPlan", "PlacementStrategy"),
        *("RoundRobinStrategy", "ReplicationStrategy", "Cost", "PlacedWorker", "PlacementError"),
        *("variable_device", "subnetwork_variable_device", "ensemble_variable_device"),
    ),
    "Legacy AI Platform": ("legacy_variables", "use_legacy_environment"),
}
_READS = (
    *("faults", "quotas", "capacities", "denials", "services", "contract", "network", "jobs"),
    *("start_delay", "set_start_delay", "persistent_resource_delay", "set_persistent_resource_delay"),
    *("replica_limit", "set_replica_limit", "stale_objects", "set_stale_objects", "unknown_types_allowed"),
)
"""Methods of `Control` that set or return what a method of `VertexEmulator` sets."""

_CONSTANTS = ("ROLES", "FRAMEWORKS", "STANDARD_PS_OPS")
_CHECKPOINTS = (
    *("Checkpoints", "Checkpoint", "CheckpointError", "newest", "starts", "Start"),
    *("sigterm_flag", "SigtermFlag"),
)
_CHECKPOINT_CONSTANTS = ("VARIABLES", "MARKER")


_ALIASES: tuple[tuple[ModuleType, tuple[str, ...]], ...] = (
    (worker_pools, ("WorkerPool",)),
    (references, ("BucketLike", "ImageLike", "RepositoryLike", "ServiceAccountLike")),
    (parameters, ("Scale",)),
)


def pages() -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of each page."""
    for page, parts in ((PAGE, _functions()), (TESTING_PAGE, _testing()), (CLUSTER_PAGE, _cluster())):
        yield page, "\n\n".join(without_repeats(parts)) + "\n"


def public_names() -> list[str]:
    """Return the public names of the package, as its stub lists them."""
    lines = (PACKAGE / "__init__.pyi").read_text(encoding="utf-8").split(" as ")
    return sorted({part.split()[0].strip(",)") for part in lines[1:]})


def _check(listed: set[str], public: set[str], where: str) -> None:
    if listed != public:
        raise UnlistedNameError(
            f"scripts/reference/pages/functions.py: {where}: {', '.join(sorted(listed ^ public))}: "
            "list every public name once."
        )


def _functions() -> Iterator[str]:
    own = {resource.name for resource in RESOURCES} | {
        name for classes in ARGS_MODULES.values() for name in classes
    }
    functions = {name for name in public_names() if name[0].islower()}
    _check({name for group in GROUPS for name in group.names}, functions, PAGE.name)
    yield f"{HEADER}# Functions"
    yield (
        "The functions of `import pulumi_vertex_training as vt`. Resources have\n"
        "[pages of their own](index.md#resources)."
    )
    for group in GROUPS:
        yield f"## {group.title}"
        yield code(examples.shown(examples.FOLDER / "functions" / f"{group.example}.py"), "python")
        lookups = [name for name in group.names if _is_lookup(getattr(vt, name))]
        if lookups:
            yield _LOOKUPS
            yield signatures({name: getattr(vt, name) for name in lookups})
        yield from _names(PAGE, vt, [name for name in group.names if name not in lookups])
    yield "## Types"
    yield "`Input[T]` is a `T`, or an output of one, as everywhere in Pulumi. These stand for several types:"
    rows = [
        (f"`{alias}`", WORDS.get(alias, "").replace("](../", "]("), f"`{meaning}`")
        for module, names in _ALIASES
        for alias, meaning in aliases(module, names)
    ]
    yield table(PAGE, ("type", "is", "in Python"), rows).rstrip("\n")
    yield "### TaskOptions"
    yield linked(PAGE, prose(inspect.getdoc(training_tasks.TaskOptions) or ""))
    yield fields(training_tasks.TaskOptions)
    yield "## Results and settings"
    yield "Values that functions return, and settings of a `TrainingEnvironment`."
    for name in public_names():
        if name[0].isupper() and name not in own:
            yield f"### {name}"
            yield from a_class(PAGE, name, getattr(vt, name), level=4, elsewhere=_OUTPUTS)


def _is_lookup(value: Any) -> bool:
    return (inspect.getdoc(value) or "").startswith("Return an existing ")


def _testing() -> Iterator[str]:
    yield f"{HEADER}# pytest fixtures and Control"
    yield (
        "With the fixture `vertex_emulator`, a test of pytest gets an emulator of its own. The fixture "
        "is there as\n"
        "soon as `vertex-emulator` is installed, alone or with the client: name it as an argument."
    )
    yield code(examples.shown(examples.FOLDER / "functions" / "emulator_test.py"), "python")
    yield "## Fixtures"
    yield "### vertex_emulator"
    fixture: Any = plugin.vertex_emulator
    text = inspect.getdoc(getattr(fixture, "__wrapped__", fixture)) or ""
    yield prose(text)
    yield "## VertexEmulator"
    yield from a_class(TESTING_PAGE, "VertexEmulator", testing.VertexEmulator, level=3)
    yield "## SetFault"
    yield from a_class(TESTING_PAGE, "SetFault", testing.SetFault, level=3)
    yield "## running"
    yield from function(TESTING_PAGE, "running", testing.running)
    yield "## Control"
    yield (
        "`VertexEmulator.control` is a `Control`. For another test framework than pytest, create one "
        "yourself:\n"
        "`vertex_emulator.client.control.Control(url=URL, token=TOKEN)`."
    )
    known = {
        name
        for name, method in vars(testing.VertexEmulator).items()
        if (does := _first_word(method)) == _first_word(getattr(control.Control, name, None)) != "Return"
        and does
    }
    known.update(_READS)
    yield from a_class(TESTING_PAGE, "Control", control.Control, level=3, known=known)


def _first_word(value: object) -> str:
    return (inspect.getdoc(value) or "").partition(" ")[0]


def _cluster() -> Iterator[str]:
    listed = {name for names in CLUSTER_GROUPS.values() for name in names} | set(_CONSTANTS)
    _check(listed, set(vertex_cluster.__all__), CLUSTER_PAGE.name)
    yield f"{HEADER}# vertex_cluster"
    yield prose(inspect.getdoc(vertex_cluster) or "")
    for title, names in CLUSTER_GROUPS.items():
        yield f"## {title}"
        yield from _names(CLUSTER_PAGE, vertex_cluster, names)
    yield "## Checkpoints"
    yield linked(CLUSTER_PAGE, prose(inspect.getdoc(checkpoints) or ""))
    public = set(checkpoints.__all__)
    _check({*_CHECKPOINTS, *_CHECKPOINT_CONSTANTS}, public, CLUSTER_PAGE.name)
    yield from _names(CLUSTER_PAGE, checkpoints, _CHECKPOINTS)
    yield "## Constants"
    for name in _CONSTANTS:
        value = getattr(vertex_cluster, name)
        shown = ", ".join(f"`{each}`" for each in (sorted(value) if isinstance(value, frozenset) else value))
        yield f"`{name}`: {shown}"


def _names(page: Path, module: ModuleType, names: Sequence[str]) -> Iterator[str]:
    """Yield the entries of functions and classes; functions with short documentation are items of a list."""
    run: dict[str, Callable[..., Any]] = {}
    for name in names:
        value = getattr(module, name)
        if not inspect.isclass(value) and is_short(value):
            run[name] = value
            continue
        yield from short_functions(page, run)
        run = {}
        yield f"### {name}"
        if inspect.isclass(value):
            yield from a_class(page, name, value, level=4, described=names)
        else:
            yield from function(page, name, value)
    yield from short_functions(page, run)
