"""Worker pools declared by role: `{"chief": {...}, "worker": {...}, "parameter_server": {...}, ...}`.

A role is a flat machine (`replica_count`, `machine_type`, `accelerator_type`, ...) with the defaults of
Google's SDK, one of the API's pools, or a flat machine with a pool's task. Only faults that the list of pools
no longer shows are checked here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType

from vertex_training.fields.schema import Origins, child, snake_case
from vertex_training.fields.values import UNKNOWN, Unknown, kind, whole_number
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import close, nearest, shown
from vertex_training.job.auto_replicas import AUTO
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.topology import roles
from vertex_training.topology.pools import ContainerSpec, PythonPackageSpec, WorkerPoolSpec
from vertex_training.topology.rules import reduction_servers

DEFAULT_MACHINE = "n1-standard-4"
"""The machine of a role that names none, as in Google's SDK (`_MachineSpec.machine_type`)."""

CHIEF_NAMES = ("chief", "chief_spec")
WORKER_NAMES = ("worker", "workers", "worker_spec")
PARAMETER_SERVER_NAMES = ("parameter_server", "parameter_servers", "parameter_server_spec")
REDUCTION_SERVER_NAMES = ("reduction_server", "reduction_servers")
SERVER_NAMES = ("server", "servers", "server_spec")
"""The names of Google's SDK, for either kind of server: their task or their count tells which."""
EVALUATOR_NAMES = ("evaluator", "evaluators", "evaluator_spec")

POSITIONS: Mapping[str, int] = MappingProxyType(
    {
        **dict.fromkeys(CHIEF_NAMES, roles.CHIEF),
        **dict.fromkeys(WORKER_NAMES, roles.WORKERS),
        **dict.fromkeys(PARAMETER_SERVER_NAMES + REDUCTION_SERVER_NAMES + SERVER_NAMES, roles.SERVERS),
        **dict.fromkeys(EVALUATOR_NAMES, roles.EVALUATORS),
    }
)
"""Every name of a role with the position of its pool. The first name of a position is used in messages."""

_MAIN_NAMES = (CHIEF_NAMES[0], WORKER_NAMES[0], PARAMETER_SERVER_NAMES[0], EVALUATOR_NAMES[0])
_ROLES = tuple(role.value for role in roles.Role)

ROLE_TWICE = Rule(
    name="role-twice",
    says="a role is declared once; parameter servers and reduction servers share the third pool",
    source='Vertex AI documentation, "Distributed training"',
)
FIELD_TWICE = Rule(
    name="role-field-twice",
    says="a machine or a disk is written flat or as the API's message, not both",
    source="ours: one of the two would be ignored",
)
ONLY_REDUCTION_SERVERS = Rule(
    name="auto-only-reduction-servers",
    says='"auto" asks for reduction servers',
    source="ours: only the number of reduction servers follows from bandwidths",
)
REDUCTION_SERVER_IMAGE = Rule(
    name="reduction-server-image",
    says="reduction servers run Google's reduction server",
    source='Vertex AI documentation, "Distributed training"',
    level="warning",
)

_MACHINE = ("machine_type", "accelerator_type", "accelerator_count", "gpu_partition_size", "tpu_topology")
_AFFINITY: Mapping[str, str] = MappingProxyType(
    {
        "reservation_affinity_type": "reservation_affinity_type",
        "reservation_affinity_key": "key",
        "reservation_affinity_values": "values",
    }
)
_DISK = ("boot_disk_type", "boot_disk_size_gb")
_POOL = tuple(field.name for field in dataclasses.fields(WorkerPoolSpec))
_JOB = tuple(field.name for field in dataclasses.fields(CustomJobSpec) if field.name != "worker_pool_specs")
_TASKS = ("container_spec", "python_package_spec")
_TASK_FIELDS: Mapping[str, str] = MappingProxyType(
    {field.name: "python_package_spec" for field in dataclasses.fields(PythonPackageSpec)}
    | {field.name: "container_spec" for field in dataclasses.fields(ContainerSpec)}
)
_OTHER_NAMES: Mapping[str, str] = MappingProxyType(
    {"ps": PARAMETER_SERVER_NAMES[0], "master": CHIEF_NAMES[0]}
)
"""Names that TensorFlow and AI Platform have for a role."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RolePools:
    """Roles as the fields of a custom job.

    `with_tasks` says whether any role has a task. `damaged` has the paths of the custom job where something
    else may be meant, as in `documents.Document`.
    """

    fields: Mapping[str, object]
    origins: Origins
    problems: tuple[Problem, ...] = ()
    with_tasks: bool = False
    damaged: frozenset[str] = frozenset()


def read_roles(value: Mapping[object, object], *, location: str | None = None) -> RolePools:
    """Convert roles, and further fields of a job, into the fields of a custom job with four pools.

    A role without replicas becomes `{}`. `location` is the job's region, for the image of reduction servers.
    """
    reader = _Reader(location)
    for key, item in value.items():
        reader.take(key, item)
    return RolePools(
        fields={**reader.job, "worker_pool_specs": [reader.pools.get(i, {}) for i in range(roles.MAX_POOLS)]},
        origins={
            "worker_pool_specs": "",
            **{_pool_path(position): name for position, name in enumerate(_MAIN_NAMES)},
            **reader.origins,
        },
        problems=tuple(reader.problems),
        with_tasks=reader.with_tasks,
        damaged=frozenset(reader.damaged),
    )


def misnamed(name: str) -> str:
    """Return a hint for a role name of TensorFlow or AI Platform, or "" for any other name."""
    return f"did you mean {_OTHER_NAMES[name]}?" if name in _OTHER_NAMES else ""


def _pool_path(position: int) -> str:
    return f"worker_pool_specs[{position}]"


class _Reader:
    """Sorts the keys of a declaration into pools and fields of the job, and collects problems."""

    def __init__(self, location: str | None) -> None:
        self.location = location
        self.pools: dict[int, object] = {}
        self.job: dict[str, object] = {}
        self.origins: dict[str, str] = {}
        self.problems: list[Problem] = []
        self.with_tasks = False
        self.damaged: list[str] = []
        self._names: dict[int, str] = {}

    def take(self, key: object, item: object) -> None:
        """Sort one key of the declaration, and report it if it is unknown."""
        name = snake_case(key) if isinstance(key, str) else ""
        if name in POSITIONS:
            self._take_role(name, item)
        elif name in _JOB:
            self.job[str(key)] = item
        elif item is not None:
            roles_are = f"the roles are {', '.join(_ROLES)}"
            hint = misnamed(name) or nearest(name, (*POSITIONS, *_JOB)) or roles_are
            path = child("", name) if name else ""
            self.problems.append(
                Problem(path=path, message=f"{shown(str(key))} is not a role of a job; {hint}")
            )
            self._mark_damaged(name, item)

    def _mark_damaged(self, name: str, item: object) -> None:
        """Mark as damaged what an unknown key may mean; a mapping unlike any name may be a role."""
        other = _OTHER_NAMES.get(name)
        meant = [other] if other else close(name, (*POSITIONS, *_JOB), count=1)
        for key in meant:
            if key in POSITIONS:
                self.pools.setdefault(POSITIONS[key], UNKNOWN)
        self.damaged += [_pool_path(POSITIONS[key]) if key in POSITIONS else key for key in meant]
        if not meant and isinstance(item, Mapping):
            self.damaged.append("worker_pool_specs")

    def _take_role(self, name: str, item: object) -> None:
        position = POSITIONS[name]
        pool = self._pool(name, item)
        if pool == {}:
            return
        if position in self._names:
            other = self._names[position]
            servers = position == roles.SERVERS
            pool_of = (
                "the third worker pool, which is for one kind of server"
                if servers
                else "the same worker pool"
            )
            self.problems.append(
                ROLE_TWICE.broken(
                    name, f"is declared together with {other}, but both are {pool_of}; keep one"
                )
            )
            self.damaged.append(_pool_path(position))
            return
        self._names[position] = name
        self.pools[position] = pool
        self.origins[_pool_path(position)] = name

    def _pool(self, name: str, item: object) -> object:
        """Return the role as a pool of the API, or UNKNOWN for a value that is not a role."""
        if item == AUTO and POSITIONS[name] == roles.SERVERS:
            item = {"replica_count": AUTO}
        if item is None:
            return {}
        if isinstance(item, Unknown):
            return item
        if isinstance(item, int) and not isinstance(item, bool):
            item = {"replica_count": item}
        if not isinstance(item, Mapping):
            self._report(
                name,
                f"expected a mapping such as {{replica_count: 1, machine_type: {DEFAULT_MACHINE}}}, "
                f"got {kind(item)}",
            )
            return UNKNOWN
        given = self._fields(name, item)
        if not given or whole_number(given.get("replica_count")) == 0:
            return {}
        if given.get("replica_count") == AUTO and name in PARAMETER_SERVER_NAMES:
            self.problems.append(
                ONLY_REDUCTION_SERVERS.broken(
                    f"{name}.replica_count",
                    '"auto" counts reduction servers, by the bandwidth of chief and workers; give the '
                    "number of parameter servers, or declare reduction_servers",
                )
            )
            given["replica_count"] = UNKNOWN
        if name in CHIEF_NAMES:
            given.setdefault("replica_count", 1)
        self.with_tasks |= any(task in given for task in _TASKS)
        pool = {field: given[field] for field in _POOL if field in given}
        reduction = name in REDUCTION_SERVER_NAMES or given.get("replica_count") == AUTO
        self._machine(name, given, pool, reduction)
        self._disk(name, given, pool)
        if reduction:
            self._reduction_server(name, given, pool)
        return pool

    def _fields(self, name: str, item: Mapping[object, object]) -> dict[str, object]:
        """Return the fields of a role by name; a misspelt field counts as unknown."""
        given: dict[str, object] = {}
        meant: list[str] = []
        fields = (*dict.fromkeys(("replica_count", *_MACHINE, *_DISK, *_AFFINITY, *_POOL)),)
        for key, value in item.items():
            field = snake_case(key) if isinstance(key, str) else ""
            if value is None:
                continue
            if field in given and field in fields:
                self._report(child(name, field), f"is given twice, the second time as {key}; keep one")
                given[field] = UNKNOWN
            elif field in fields:
                given[field] = value
            else:
                self._report_unknown_field(name, key, field, fields)
                task = _TASK_FIELDS.get(field)
                meant += [task] if task else close(field, fields, count=1)
        return {**dict.fromkeys(meant, UNKNOWN), **given}

    def _report_unknown_field(self, name: str, key: object, field: str, fields: Collection[str]) -> None:
        task = _TASK_FIELDS.get(field)
        remedy = (
            f"write {task}: {{{field}: ...}}"
            if task
            else nearest(field, fields) or f"the fields of a role are {', '.join(fields)}"
        )
        path = child(name, field) if field else name
        self._report(path, f"{shown(str(key))} is not a field of a role; {remedy}")

    def _machine(self, name: str, given: dict[str, object], pool: dict[str, object], reduction: bool) -> None:
        flat = [field for field in (*_MACHINE, *_AFFINITY) if field in given]
        if "machine_spec" in given:
            self._report_duplicates(name, flat, "machine_spec")
            return
        default = reduction_servers.DEFAULT_MACHINE if reduction else DEFAULT_MACHINE
        machine: dict[str, object] = {"machine_type": default}
        machine.update({field: given[field] for field in _MACHINE if field in given})
        affinity = {short: given[field] for field, short in _AFFINITY.items() if field in given}
        if affinity:
            machine["reservation_affinity"] = affinity
        pool["machine_spec"] = machine
        below = f"{_pool_path(POSITIONS[name])}.machine_spec"
        self.origins[below] = name
        self.origins[f"{below}.reservation_affinity"] = f"{name}.reservation_affinity_type"
        for field, short in _AFFINITY.items():
            self.origins[f"{below}.reservation_affinity.{short}"] = f"{name}.{field}"

    def _disk(self, name: str, given: dict[str, object], pool: dict[str, object]) -> None:
        flat = [field for field in _DISK if field in given]
        if "disk_spec" in given:
            self._report_duplicates(name, flat, "disk_spec")
        elif flat:
            pool["disk_spec"] = {field: given[field] for field in flat}
            self.origins[f"{_pool_path(POSITIONS[name])}.disk_spec"] = name

    def _report_duplicates(self, name: str, flat: Collection[str], message: str) -> None:
        for field in flat:
            self.problems.append(
                FIELD_TWICE.broken(
                    f"{name}.{field}", f"is given together with {message}; write it in {message}"
                )
            )

    def _reduction_server(self, name: str, given: Mapping[str, object], pool: dict[str, object]) -> None:
        """Give reduction servers without a task Google's image, and warn about any other image."""
        if given.get("replica_count") == AUTO:
            return  # `reduction.fill_in` sets their task.
        if not any(task in given for task in _TASKS):
            pool["container_spec"] = {"image_uri": reduction_servers.image_for(self.location)}
            return
        for path, image in _images(name, given):
            if not roles.is_reduction_server_image(image):
                self.problems.append(
                    REDUCTION_SERVER_IMAGE.broken(
                        path,
                        f"{shown(image)} is not Google's reduction server, so these replicas count as "
                        "parameter servers; leave the task out to get the image of the job's region",
                    )
                )

    def _report(self, path: str, message: str) -> None:
        self.problems.append(Problem(path=path, message=message))


def _images(name: str, given: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield the path and the image of each task that a role declares."""
    for task, field in (("container_spec", "image_uri"), ("python_package_spec", "executor_image_uri")):
        message = given.get(task)
        if isinstance(message, Mapping):
            for key, image in message.items():
                if isinstance(key, str) and snake_case(key) == field and isinstance(image, str):
                    yield f"{name}.{task}.{field}", image
