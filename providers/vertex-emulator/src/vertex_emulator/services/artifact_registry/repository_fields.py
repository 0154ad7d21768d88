"""The fields of a repository: validation of new ones and of updates, and output-only fields."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from google.protobuf.descriptor import FieldDescriptor

from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import RpcError, Violation, invalid_fields
from vertex_emulator.services.artifact_registry import cleanup
from vertex_emulator.services.artifact_registry.names import RepositoryName

PACKAGE = "google.devtools.artifactregistry.v1"
DOCKER = "DOCKER"

_MAX_LABELS = 64
_LABEL_KEY = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_LABEL_VALUE = re.compile(r"[a-z0-9_-]{0,63}")
_KMS_KEY = re.compile(r"projects/[^/]+/locations/([^/]+)/keyRings/[^/]+/cryptoKeys/[^/]+")
_CHANGEABLE = (
    "description",
    "labels",
    "cleanup_policies",
    "cleanup_policy_dry_run",
    "docker_config",
    "maven_config",
    "vulnerability_scanning_config",
)
_FIXED = ("format", "mode", "kms_key_name")
_OUTPUT_ONLY = ("create_time", "update_time", "size_bytes", "satisfies_pzs", "satisfies_pzi", "registry_uri")
_STATE_OF_SCANNING = ("last_enable_time", "enablement_state", "enablement_state_reason")
_MODE_STANDARD = "STANDARD_REPOSITORY"


def enum_name(message: DynamicMessage, field: str) -> str:
    """Return the name of an enum field's value, or its number if the enum has no such value."""
    number = getattr(message, field)
    value = message.DESCRIPTOR.fields_by_name[field].enum_type.values_by_number.get(number)
    return value.name if value else str(number)


def format_of(repository: DynamicMessage) -> str:
    """Return the name of a repository's format, such as "DOCKER"."""
    return enum_name(repository, "format")


def new_repository(given: DynamicMessage, name: RepositoryName) -> DynamicMessage:
    """Build the stored record of a new repository. Raises `RpcError` INVALID_ARGUMENT, UNIMPLEMENTED."""
    _check_mode(given)
    found = descriptors.message(f"{PACKAGE}.Repository")
    found.CopyFrom(given)
    _clear_output(found)
    found.ClearField("disallow_unspecified_mode")
    found.name = str(name)
    found.mode = found.DESCRIPTOR.fields_by_name["mode"].enum_type.values_by_name[_MODE_STANDARD].number
    faults = [*_format_problems(found), *_key_problems(found, name), *_problems(found)]
    if faults:
        raise invalid_fields(faults)
    cleanup.fill_ids(found.cleanup_policies)
    return found


def updated_repository(current: DynamicMessage, given: DynamicMessage, mask: Sequence[str]) -> DynamicMessage:
    """Return the repository after an update. Without a mask, all mutable fields are replaced.

    Raises `RpcError` INVALID_ARGUMENT for immutable and unknown fields.
    """
    paths = [path for path in mask if path != "*"]
    faults = [_problem_of_path(path, current, given) for path in paths]
    if not mask or "*" in mask:
        paths = list(_CHANGEABLE)
        faults += [_fixed_problem(field, current, given) for field in _FIXED if getattr(given, field)]
    result = descriptors.message(f"{PACKAGE}.Repository")
    result.CopyFrom(current)
    if not any(faults):
        for path in paths:
            _replace(result, given, path)
        _clear_output(result)
    problems = [fault for fault in faults if fault] or list(_problems(result))
    if problems:
        raise invalid_fields(problems)
    cleanup.fill_ids(result.cleanup_policies)
    return result


def fill_output(repository: DynamicMessage, name: RepositoryName, *, size: int) -> None:
    """Set the output-only fields of a repository, except for its times."""
    format_name = format_of(repository)
    place = name.place
    project = place.project.replace(":", "/")
    repository.registry_uri = f"{place.location}-{format_name.lower()}.pkg.dev/{project}/{name.id}"
    repository.size_bytes = size
    repository.satisfies_pzi = True
    scanning = repository.vulnerability_scanning_config
    docker = format_name == DOCKER
    state, reason = (
        ("SCANNING_DISABLED", "API containerscanning.googleapis.com is not enabled.")
        if docker
        else ("SCANNING_UNSUPPORTED", "Scanning is not supported for this repository format.")
    )
    values = scanning.DESCRIPTOR.fields_by_name["enablement_state"].enum_type.values_by_name
    scanning.enablement_state = values[state].number
    scanning.enablement_state_reason = reason


def _clear_output(repository: DynamicMessage) -> None:
    for field in _OUTPUT_ONLY:
        repository.ClearField(field)
    if repository.HasField("vulnerability_scanning_config"):
        for field in _STATE_OF_SCANNING:
            repository.vulnerability_scanning_config.ClearField(field)


def _check_mode(given: DynamicMessage) -> None:
    mode = enum_name(given, "mode")
    if mode == "MODE_UNSPECIFIED" and given.disallow_unspecified_mode:
        what = "The mode is missing, and disallow_unspecified_mode is set. Set the mode."
        raise invalid_fields([Violation("repository.mode", what)])
    if mode in ("VIRTUAL_REPOSITORY", "REMOTE_REPOSITORY"):
        raise RpcError(
            "UNIMPLEMENTED",
            f"The emulator does not support repositories with mode {mode}. Use {_MODE_STANDARD}.",
        )
    if mode not in ("MODE_UNSPECIFIED", _MODE_STANDARD):
        raise invalid_fields([Violation("repository.mode", f"There is no mode {mode}.")])


def _format_problems(repository: DynamicMessage) -> Iterator[Violation]:
    field = repository.DESCRIPTOR.fields_by_name["format"]
    if not repository.format or repository.format not in field.enum_type.values_by_number:
        formats = ", ".join(value.name for value in field.enum_type.values if value.number)
        yield Violation("repository.format", f"The format must be one of {formats}.")


def _key_problems(repository: DynamicMessage, name: RepositoryName) -> Iterator[Violation]:
    key = repository.kms_key_name
    if not key:
        return
    match = _KMS_KEY.fullmatch(key)
    if match is None:
        form = "projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY"
        yield Violation("repository.kms_key_name", f"{key!r} is not a key name of the form {form}.")
    elif match[1] != name.place.location:
        what = f"The key is in {match[1]}. Use a key in {name.place.location}, as the repository."
        yield Violation("repository.kms_key_name", what)


def _problems(repository: DynamicMessage) -> Iterator[Violation]:
    config = repository.WhichOneof("format_config")
    if config is not None and config != f"{format_of(repository).lower()}_config":
        what = f"{config} is not allowed in a repository with format {format_of(repository)}."
        yield Violation(f"repository.{config}", what)
    other = repository.WhichOneof("mode_config")
    if other is not None:
        what = f"{other} is not allowed in a repository with mode {_MODE_STANDARD}."
        yield Violation(f"repository.{other}", what)
    if len(repository.labels) > _MAX_LABELS:
        yield Violation("repository.labels", f"There are more than {_MAX_LABELS} labels.")
    for key, value in sorted(repository.labels.items()):
        if not _LABEL_KEY.fullmatch(key):
            what = (
                f"The key {key[:100]!r} must begin with a lowercase letter and have at most 63 characters, "
                "only lowercase letters, digits, '_' and '-'."
            )
            yield Violation("repository.labels", what)
        if not _LABEL_VALUE.fullmatch(value):
            what = (
                f"The value {value[:100]!r} must have at most 63 characters, only lowercase letters, digits, "
                "'_' and '-'."
            )
            yield Violation(f"repository.labels[{key[:100]}]", what)
    yield from cleanup.problems(repository.cleanup_policies)


def _problem_of_path(path: str, current: DynamicMessage, given: DynamicMessage) -> Violation | None:
    head, _, rest = path.partition(".")
    field = current.DESCRIPTOR.fields_by_name.get(head)
    if field is None or not _is_path(field, rest):
        return Violation("update_mask", f"A repository has no field {path!r}.")
    if head in _FIXED:
        return _fixed_problem(head, current, given)
    if head == "name" or head in _OUTPUT_ONLY or head in _CHANGEABLE or head == "disallow_unspecified_mode":
        return None
    return Violation("update_mask", f"{path} cannot be changed in a repository with mode {_MODE_STANDARD}.")


def _is_path(field: FieldDescriptor, rest: str) -> bool:
    if not rest:
        return True
    if field.is_repeated or field.message_type is None:
        return False
    head, _, rest = rest.partition(".")
    below = field.message_type.fields_by_name.get(head)
    return below is not None and _is_path(below, rest)


def _fixed_problem(field: str, current: DynamicMessage, given: DynamicMessage) -> Violation | None:
    if getattr(given, field) == getattr(current, field):
        return None
    return Violation(
        f"repository.{field}",
        f"{field} of a repository cannot be changed. Delete the repository and create it again.",
    )


def _replace(result: DynamicMessage, given: DynamicMessage, path: str) -> None:
    head, _, rest = path.partition(".")
    if rest:
        if given.HasField(head) or result.HasField(head):
            _replace(getattr(result, head), getattr(given, head), rest)
        return
    field = result.DESCRIPTOR.fields_by_name[head]
    if head not in _CHANGEABLE and result.DESCRIPTOR.full_name == f"{PACKAGE}.Repository":
        return
    result.ClearField(head)
    if field.is_repeated:
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            for key, value in getattr(given, head).items():
                target = getattr(result, head)
                if field.message_type.fields_by_name["value"].message_type is None:
                    target[key] = value
                else:
                    target[key].CopyFrom(value)
        else:
            getattr(result, head).extend(getattr(given, head))
    elif field.message_type is not None:
        if given.HasField(head):
            getattr(result, head).CopyFrom(getattr(given, head))
    else:
        setattr(result, head, getattr(given, head))
