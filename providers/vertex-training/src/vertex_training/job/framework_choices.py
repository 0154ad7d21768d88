"""The choices of a framework's preset for declared worker pools, filled in before decoding.

A given field always wins, so that a declaration with the choices written in it is the same job without the
preset. This works on plain values with keys in either spelling; `fields.decode` reports what cannot be read.

The launcher is the `command` of a container whose `args` begin with a program, such as `["python3", "-m",
"trainer.task"]` or `["train.py"]`. A container without such args runs its image's ENTRYPOINT, which no job
knows, and a Python package is always started with `python3 -m`: neither gets a launcher.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vertex_training.catalog.machines import is_tpu
from vertex_training.fields.raw_values import get, key_of, with_fields
from vertex_training.fields.values import UNKNOWN, Unknown, whole_number
from vertex_training.findings.words import all_of
from vertex_training.topology.presets.launchers import command
from vertex_training.topology.presets.tables import PRESETS, Preset
from vertex_training.topology.roles import CHIEF, MAX_POOLS, SERVERS, Role, is_reduction_server_image
from vertex_training.topology.rules.frameworks import named
from vertex_training.topology.rules.reduction_servers import image_for

_PATH = "worker_pool_specs"
_IMAGES = (("container_spec", "image_uri"), ("python_package_spec", "executor_image_uri"))
_POOLS = (Role.CHIEF, Role.WORKER, Role.PARAMETER_SERVER, Role.EVALUATOR)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One field that a preset has filled in. `what` describes it for people."""

    path: str
    value: object
    what: str


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """A declaration with the choices of its framework.

    `unlaunched` has the positions of pools whose program the launcher of the preset could not start, with
    the reason. `without_image` has the paths of images that are missing and that the preset cannot choose.
    """

    value: Mapping[Any, Any]
    preset: Preset | None = None
    choices: tuple[Choice, ...] = ()
    unlaunched: Mapping[int, str] | None = None
    without_image: tuple[str, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """Describe the choices for people; empty without choices."""
        if self.preset is None:
            return ()
        name = self.preset.name
        lines = []
        by_what: dict[str, list[str]] = {}
        for choice in self.choices:
            by_what.setdefault(choice.what, []).append(choice.path)
        for what, paths in by_what.items():
            lines.append(f"framework {name} chooses {what} ({all_of(paths)}).")
        by_reason: dict[str, list[str]] = {}
        for position, reason in (self.unlaunched or {}).items():
            by_reason.setdefault(reason, []).append(f"{_PATH}[{position}]")
        for reason, paths in by_reason.items():
            lines.append(f"framework {name} starts no launcher in {all_of(paths)}: {reason}.")
        return tuple(lines)


def preset_of(framework: object) -> Preset | None:
    """Return the preset of a framework or strategy by its name, or None for an unknown name."""
    known = named(framework) if isinstance(framework, str) else None
    return None if known is None else PRESETS[known.preset]


def choose(value: Mapping[Any, Any], framework: object, *, location: str | Unknown | None = None) -> Chosen:
    """Fill the choices of a framework into a copy of a mapping with `worker_pool_specs`. Never raises."""
    preset = preset_of(framework)
    key = key_of(value, _PATH)
    pools = value.get(key)
    if preset is None or not isinstance(pools, (list, tuple)):
        return Chosen(value=value, preset=preset)
    choices: list[Choice] = []
    unlaunched: dict[int, str] = {}
    filled = []
    for position, pool in enumerate(pools):
        if (
            position < MAX_POOLS
            and isinstance(pool, Mapping)
            and whole_number(get(pool, "replica_count")) != 0
        ):
            pool, additions, reason = _filled(pool, position, preset, location)
            choices += additions
            if reason:
                unlaunched[position] = reason
        filled.append(pool)
    changed = filled != list(pools)
    return Chosen(
        value={**value, key: filled} if changed else value,
        preset=preset,
        choices=tuple(choices) if changed else (),
        unlaunched=unlaunched,
        without_image=tuple(_without_image(filled)),
    )


def _without_image(pools: Sequence[object]) -> Iterator[str]:
    """Yield the paths of the images that tasks do not have."""
    for position, pool in enumerate(pools):
        for task, field in _IMAGES:
            spec = get(pool, task) if isinstance(pool, Mapping) else None
            if isinstance(spec, Mapping) and get(spec, field) is None:
                yield f"{_PATH}[{position}].{task}.{field}"


def _filled(
    pool: Mapping[Any, Any], position: int, preset: Preset, location: str | Unknown | None
) -> tuple[Mapping[Any, Any], list[Choice], str]:
    """Return a pool with its choices, and the reason if it has a program that could not be launched."""
    path = f"{_PATH}[{position}]"
    choices: list[Choice] = []
    reason = ""
    image = _image(pool, preset, location)
    for task, field in _IMAGES:
        spec = get(pool, task)
        if not isinstance(spec, Mapping):
            continue
        if get(spec, field) is None and image is not None:
            spec = with_fields(spec, **{field: image})
            what = "the prebuilt image" if isinstance(image, Unknown) else f"the image {image}"
            choices.append(Choice(path=f"{path}.{task}.{field}", value=image, what=what))
        if position in preset.pools and preset.has_launcher and not _reduces(spec, position):
            if task == "container_spec":
                spec, launched, reason = _launched(spec, f"{path}.{task}", preset, _accelerators(pool))
                choices += launched
            else:
                reason = (
                    "a Python package is always started with python3 -m. Use a container, or call "
                    f'vertex_cluster.framework_settings(cluster, "{preset.name}") in the program'
                )
        pool = with_fields(pool, **{task: spec})
    return pool, choices, reason


def _launched(
    container: Mapping[Any, Any], path: str, preset: Preset, accelerators: int
) -> tuple[Mapping[Any, Any], list[Choice], str]:
    if get(container, "command"):
        return container, [], ""  # the job's own command, or the launcher of an earlier check
    args = get(container, "args")
    first = args[0] if isinstance(args, (list, tuple)) and args else args
    if isinstance(first, Unknown):
        return with_fields(container, command=UNKNOWN), [], ""
    if not isinstance(first, str) or not first or first.startswith("-"):
        return container, [], "its args name no program, so the ENTRYPOINT of its image runs as it is"
    choices = [
        Choice(
            path=f"{path}.command",
            value=list(command(preset.name)),
            what=f"the launcher of {preset.name}",
        )
    ]
    changed: dict[str, object] = {"command": list(command(preset.name))}
    env = get(container, "env")
    listed = env if isinstance(env, (list, tuple)) else []
    name = preset.processes
    if name and accelerators > 1 and not isinstance(env, Unknown) and name not in _names(listed):
        changed["env"] = [*listed, {"name": name, "value": str(accelerators)}]
        choices.append(
            Choice(
                path=f"{path}.env[{len(listed)}]",
                value={"name": name, "value": str(accelerators)},
                what=f"{name}={accelerators}, one process for each accelerator",
            )
        )
    return with_fields(container, **changed), choices, ""


def _names(env: Sequence[object]) -> Iterator[object]:
    for variable in env:
        yield get(variable, "name")


def _reduces(task: Mapping[Any, Any], position: int) -> bool:
    """Return whether a task runs reduction servers, which have Google's own program."""
    image = get(task, "image_uri")
    return position == SERVERS and isinstance(image, str) and is_reduction_server_image(image)


def _accelerators(pool: Mapping[Any, Any]) -> int:
    """Return the number of accelerators of each machine, 0 while it is not known."""
    machine = get(pool, "machine_spec")
    count = whole_number(get(machine, "accelerator_count"))
    return count if count and get(machine, "accelerator_type") else 0


def _image(pool: Mapping[Any, Any], preset: Preset, location: str | Unknown | None) -> str | Unknown | None:
    """Return the prebuilt image for the machines of a pool, or None if Google has none."""
    if not preset.images:
        return None
    machine = get(pool, "machine_spec")
    given = [get(machine, name) for name in ("machine_type", "accelerator_type", "accelerator_count")]
    if isinstance(machine, Unknown) or UNKNOWN in given or isinstance(location, Unknown):
        return UNKNOWN
    machine_type, accelerator_type, _ = given
    on_tpu = (isinstance(machine_type, str) and is_tpu(machine_type)) or str(accelerator_type).startswith(
        "TPU"
    )
    device = "tpu" if on_tpu else "gpu" if _accelerators(pool) else "cpu"
    name = preset.images.get(device)
    return None if name is None else prebuilt_uri(name, location)


def prebuilt_uri(name: str, location: str | None) -> str:
    """Return the address of a prebuilt image in the multi-region nearest to a region."""
    return f"{image_for(location).partition('/')[0]}/vertex-ai/training/{name}:latest"


def roles_of(preset: Preset) -> Iterator[tuple[str, str]]:
    """Yield the name of each pool that the framework uses, with what it does."""
    for position, what in preset.roles.items():
        role = "server" if position == SERVERS else str(_POOLS[position])
        yield f"{_PATH}[{position}] ({role})" if position != CHIEF else f"{_PATH}[0] (chief)", what
