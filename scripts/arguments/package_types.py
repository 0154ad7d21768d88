"""The types of the package's schema: properties, enums, and objects of the messages."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, get_args, get_origin

from pulumi_vertex_training.package.kinds import PACKAGE
from scripts.arguments.messages import Field, fields_of, summary_of
from scripts.arguments.package_text import in_package, with_default
from vertex_training.catalog.enumerations import ByNumber
from vertex_training.fields.schema import camel_case, without_none

_SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean"}

_OR_AUTO = frozenset({"WorkerPoolSpec.replica_count"})
"""Numbers for which a program may give "auto"."""

Schema = dict[str, Any]
_NONE: Mapping[str, Any] = MappingProxyType({})


@dataclasses.dataclass
class Types:
    """The types that properties name, found while the properties are written."""

    found: dict[str, Schema] = dataclasses.field(default_factory=dict)

    def of_field(self, field: Field, owner: str) -> Schema:
        """Return the property of a documented field; `owner` is part of the name of an enum."""
        name = pascal_case(field.name)
        text = with_default(in_package(field.text, field.key), field.default)
        enum = name if name.startswith(owner) else f"{owner}{name}"
        found = self.of_hint(field.hint, enum, text, field.metadata)
        if field.key in _OR_AUTO:
            found = {"oneOf": [{"type": "integer"}, {"type": "string"}]}
        secret = {"secret": True} if field.metadata.get("secret") else {}
        return {**found, "description": text, **secret}

    def of_hint(self, hint: Any, name: str, text: str, metadata: Mapping[str, Any] = _NONE) -> Schema:
        """Return the type of a value. An enum in it gets this name and text."""
        origin, arguments = get_origin(hint), get_args(hint)
        if isinstance(convert := metadata.get("convert"), ByNumber):
            return self._enum(name, text, convert.names, is_open=True)
        if hint in _SIMPLE:
            return {"type": _SIMPLE[hint]}
        if origin is Literal:
            return self._enum(name, text, arguments, is_open=False)
        if origin is tuple:
            return {"type": "array", "items": self.of_hint(without_none(arguments[0]), name, text)}
        if origin is not None and issubclass(origin, Mapping):
            return {
                "type": "object",
                "additionalProperties": self.of_hint(without_none(arguments[1]), name, text),
            }
        if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            return {"$ref": f"#/types/{self._object(hint)}"}
        return {"$ref": "pulumi.json#/Any"}

    def _object(self, message: type) -> str:
        token = _token(message.__name__)
        if token not in self.found:
            self.found[token] = {}
            fields = fields_of(message)
            self.found[token] = {
                "type": "object",
                "description": in_package(summary_of(message)),
                "properties": {
                    camel_case(name): self.of_field(field, message.__name__) for name, field in fields.items()
                },
                "required": [camel_case(name) for name, field in fields.items() if field.is_required],
            }
        return token

    def _enum(self, name: str, text: str, values: tuple[str, ...], *, is_open: bool) -> Schema:
        """Return an enum. An open one takes any string, for what the service knows and this version not."""
        token = _token(name)
        members = [{"name": pascal_case(value), "value": value} for value in values]
        new = {"type": "string", "description": text, "enum": members}
        if self.found.setdefault(token, new) != new:
            raise ValueError(f"{token}: two enums of one name have other values")
        reference = {"$ref": f"#/types/{token}"}
        return {"oneOf": [{"type": "string"}, reference], "type": "string"} if is_open else reference


def pascal_case(name: str) -> str:
    """Return `OnFailure` for on_failure, `NvidiaL4` for NVIDIA_L4, and `NotRestricted` for itself."""
    if not name.isupper() and "_" not in name:
        return name[0].upper() + name[1:]
    return "".join(word.capitalize() for word in name.split("_"))


def _token(name: str) -> str:
    return f"{PACKAGE}:index:{name}"
