"""Messages from JSON and query parameters. All errors are found at once, and have Google's messages.

The messages are those of Google's API front end: `Invalid JSON payload received. Unknown name "x" at 'y':
Cannot find field.` and `Invalid value at 'y' (TYPE_INT64), "z"`. Paths are in snake case, as there.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from vertex_emulator.server.rpc import descriptors

_JSON_FORM = frozenset(
    f"google.protobuf.{name}"
    for name in (
        "Any",
        "BoolValue",
        "BytesValue",
        "DoubleValue",
        "Duration",
        "FieldMask",
        "FloatValue",
        "Int32Value",
        "Int64Value",
        "ListValue",
        "StringValue",
        "Struct",
        "Timestamp",
        "UInt32Value",
        "UInt64Value",
        "Value",
    )
)
"""Messages with a JSON format of their own."""

_UNDERSCORE = re.compile("_([a-z])")

MOST_PROBLEMS = 100
"""Problems in one error, as in the findings of `explain`."""

Problem = tuple[str, str]
"""The path of a field ("" for the whole message), and the error message."""


class PayloadError(Exception):
    """A request that cannot be parsed. `problems` has all errors found."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(text for _, text in problems))
        self.problems = problems


def read(value: object, message: Message, *, path: str = "") -> None:
    """Set `message` from its JSON format. Raises `PayloadError`.

    Names may be in camel or snake case, enums may be names in any case or numbers, and integers may also be
    1.0 or "1".
    """
    value = _normal(value, cast(Descriptor, message.DESCRIPTOR))
    problems = first(_message_problems(value, cast(Descriptor, message.DESCRIPTOR), path))
    if not problems:
        try:
            json_format.ParseDict(cast("dict[str, Any]", value), message, descriptor_pool=descriptors.pool())
        except json_format.ParseError as error:
            problems = [(path, f"Invalid JSON payload received. {error}")]
    if problems:
        raise PayloadError(problems)


def first(problems: Iterator[Problem]) -> list[Problem]:
    """Return the first problems, and a sentence if more exist."""
    found = list(itertools.islice(problems, MOST_PROBLEMS))
    if len(found) == MOST_PROBLEMS and next(problems, None) is not None:
        found.append(("", f"There are more problems. These are the first {MOST_PROBLEMS}."))
    return found


def set_parameter(message: Message, name: str, text: str) -> None:
    """Set a field from a query parameter. `name` is a dotted path in either case. Raises `PayloadError`."""
    target: Any = message
    *parents, last = name.split(".")
    for parent in parents:
        field = _find(target.DESCRIPTOR, parent)
        if field is None or field.message_type is None or field.is_repeated:
            raise _cannot_bind(name)
        target = getattr(target, field.name)
    field = _find(target.DESCRIPTOR, last)
    if field is None:
        raise _cannot_bind(name)
    value = _normal_single(text, field)
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        value = {"true": True, "false": False}.get(text, text)
    elif field.cpp_type == FieldDescriptor.CPPTYPE_ENUM and text.lstrip("-").isdigit():
        value = int(text)
    if problems := list(_single_problems(value, field, name)):
        raise PayloadError(problems)
    part = type(target)()
    json_format.ParseDict(
        {field.name: [value] if field.is_repeated else value}, part, descriptor_pool=descriptors.pool()
    )
    target.MergeFrom(part)  # a repeated parameter has several values


def _cannot_bind(name: str) -> PayloadError:
    text = (
        f'Invalid JSON payload received. Unknown name "{name}": Cannot bind query parameter. '
        f"Field '{name}' could not be found in request message."
    )
    return PayloadError([("", text)])


def _find(descriptor: Descriptor, name: str) -> FieldDescriptor | None:
    found = descriptor.fields_by_name.get(name)
    return found or next((field for field in descriptor.fields if field.json_name == name), None)


def _normal(value: object, descriptor: Descriptor) -> object:
    """Convert a value to the format of `json_format`.

    Google also accepts enums in lower case and field masks in snake case.
    """
    if not isinstance(value, Mapping) or descriptor.full_name in _JSON_FORM:
        return value
    return {name: _normal_field(item, _find(descriptor, name)) for name, item in value.items()}


def _normal_field(value: object, field: FieldDescriptor | None) -> object:
    if field is None:
        return value
    if _is_map(field):
        element = cast(Descriptor, field.message_type).fields_by_name["value"]
        if not isinstance(value, Mapping):
            return value
        return {key: _normal_field(item, element) for key, item in value.items()}
    if isinstance(value, list) and field.is_repeated:
        return [_normal_single(item, field) for item in value]
    return _normal_single(value, field)


def _normal_single(value: object, field: FieldDescriptor) -> object:
    if not isinstance(value, str):
        return value if field.message_type is None else _normal(value, field.message_type)
    if field.message_type is not None and field.message_type.full_name == "google.protobuf.FieldMask":
        return _UNDERSCORE.sub(lambda match: match[1].upper(), value)
    if field.enum_type is not None:
        name = value.upper().replace("-", "_")
        return name if name in field.enum_type.values_by_name else value
    return value


def _message_problems(value: object, descriptor: Descriptor, path: str) -> Iterator[Problem]:
    if not isinstance(value, Mapping):
        yield _invalid(path, f"type.googleapis.com/{descriptor.full_name}", value)
        return
    chosen: dict[str, str] = {}
    for name, item in value.items():
        field = _find(descriptor, name)
        if field is None:
            where = f" at '{path}'" if path else ""
            yield (
                path,
                f'Invalid JSON payload received. Unknown name "{name}"{where}: Cannot find field.',
            )
            continue
        if item is None:
            continue
        below = f"{path}.{field.name}" if path else field.name
        oneof = field.containing_oneof
        if oneof is not None and chosen.setdefault(oneof.name, field.name) != field.name:
            yield (
                path,
                f"Invalid value at '{path}' (oneof), oneof field '{oneof.name}' is already set. "
                f"Cannot set '{name}'",
            )
        yield from _field_problems(item, field, below)


def _field_problems(value: object, field: FieldDescriptor, path: str) -> Iterator[Problem]:
    if _is_map(field):
        if not isinstance(value, Mapping):
            yield _invalid(path, "Map", value)
            return
        element = cast(Descriptor, field.message_type).fields_by_name["value"]
        for key, item in value.items():
            yield from _single_problems(item, element, f"{path}[{key}]")
    elif field.is_repeated:
        if not isinstance(value, list):
            yield _invalid(path, "List", value)
            return
        for index, item in enumerate(value):
            yield from _single_problems(item, field, f"{path}[{index}]")
    elif isinstance(value, list):
        text = (
            f"Invalid JSON payload received. Unknown name \"{field.name}\" at '{path.rpartition('.')[0]}': "
        )
        yield path.rpartition(".")[0], text + "Proto field is not repeating, cannot start list."
    else:
        yield from _single_problems(value, field, path)


def _single_problems(value: object, field: FieldDescriptor, path: str) -> Iterator[Problem]:
    kind = field.message_type
    if kind is not None and kind.full_name not in _JSON_FORM:
        yield from _message_problems(value, kind, path)
    elif value is None or not _is_readable(value, field):
        yield _invalid(path, _type_name(field), value)


def _is_readable(value: object, field: FieldDescriptor) -> bool:
    if isinstance(value, bool) and field.cpp_type not in (
        FieldDescriptor.CPPTYPE_BOOL,
        FieldDescriptor.CPPTYPE_MESSAGE,
    ):
        return False
    message = descriptors.message_class(cast(Descriptor, field.containing_type))()
    try:
        json_format.ParseDict(
            {field.name: [value] if field.is_repeated else value},
            message,
            descriptor_pool=descriptors.pool(),
        )
    except json_format.ParseError:
        return False
    return True


def _is_map(field: FieldDescriptor) -> bool:
    return bool(
        field.is_repeated and field.message_type is not None and field.message_type.GetOptions().map_entry
    )


def _type_name(field: FieldDescriptor) -> str:
    if field.message_type is not None:
        return f"type.googleapis.com/{field.message_type.full_name}"
    if field.enum_type is not None:
        return f"type.googleapis.com/{field.enum_type.full_name}"
    names = {
        FieldDescriptor.TYPE_BOOL: "TYPE_BOOL",
        FieldDescriptor.TYPE_BYTES: "TYPE_BYTES",
        FieldDescriptor.TYPE_DOUBLE: "TYPE_DOUBLE",
        FieldDescriptor.TYPE_FLOAT: "TYPE_FLOAT",
        FieldDescriptor.TYPE_INT32: "TYPE_INT32",
        FieldDescriptor.TYPE_INT64: "TYPE_INT64",
        FieldDescriptor.TYPE_STRING: "TYPE_STRING",
    }
    return names.get(field.type, f"TYPE_{field.type}")


def _invalid(path: str, kind: str, value: object) -> Problem:
    return path, f"Invalid value at '{path}' ({kind}), {json.dumps(value)[:200]}"
