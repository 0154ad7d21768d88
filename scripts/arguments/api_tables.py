"""The module with the enums and output-only fields of Google's messages, from the emulator's descriptors."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from google.api import field_behavior_pb2  # type: ignore[import-untyped]
from google.protobuf.descriptor import Descriptor

from scripts.arguments.layout import formatted
from vertex_emulator.server.rpc import descriptors

FILE = Path(__file__).parents[2] / "providers/vertex-training/src/vertex_training/catalog/api.py"

_VERTEX_AI, _REGISTRY, _SCHEDULER = (
    *("google.cloud.aiplatform.v1", "google.devtools.artifactregistry.v1", "google.cloud.scheduler.v1"),
)

_MESSAGES = {
    _VERTEX_AI: (
        *("CustomJob", "HyperparameterTuningJob", "TrainingPipeline", "Model", "PersistentResource"),
        "ResourcePool",
    ),
    _REGISTRY: ("Repository", "Repository.VulnerabilityScanningConfig"),
    _SCHEDULER: ("Job",),
}

_ENUMS = (
    *("AcceleratorType", "ReservationAffinity.Type", "Scheduling.Strategy", "StudySpec.Algorithm"),
    *("StudySpec.MetricSpec.GoalType", "StudySpec.ParameterSpec.ScaleType", "StudySpec.ObservationNoise"),
    "StudySpec.MeasurementSelectionType",
)

_HEAD = '''"""Enums and output-only fields of Google's messages, by their names in the API.

Written by `make generate` from the descriptors in vertex_emulator/server/rpc/descriptors. Do not edit it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_FIELDS = {
%s
}

_VALUES = {
%s
}

def _pair(value: str) -> list[str]:
    return value.split("=")


OUTPUT_ONLY: Mapping[str, frozenset[str]] = MappingProxyType(
    {message: frozenset(fields.split()) for message, fields in _FIELDS.items()}
)
"""The fields of a message that only the service sets."""

ENUMS: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {
        enum: MappingProxyType({name: int(number) for name, number in map(_pair, values.split())})
        for enum, values in _VALUES.items()
    }
)
"""The names of each enum, with their numbers, also those that the service accepts no more."""
'''


def modules() -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of the module."""
    pool = descriptors.pool()
    messages = {
        name: _fields(pool.FindMessageTypeByName(f"{package}.{name}"))
        for package, names in _MESSAGES.items()
        for name in names
    }
    enums = {
        name: sorted(pool.FindEnumTypeByName(f"{_VERTEX_AI}.{name}").values, key=lambda one: int(one.number))
        for name in _ENUMS
    }
    values = {name: [f"{one.name}={one.number}" for one in members] for name, members in enums.items()}
    yield FILE, formatted(FILE, _HEAD % (_entries(messages), _entries(values)))


def _fields(message: Descriptor) -> list[str]:
    behaviour, owned = field_behavior_pb2.field_behavior, field_behavior_pb2.OUTPUT_ONLY
    return [field.name for field in message.fields if owned in field.GetOptions().Extensions[behaviour]]


def _entries(table: Mapping[str, Sequence[str]]) -> str:
    lines = []
    for name, words in table.items():
        *parts, last = textwrap.wrap(" ".join(words), 98)
        lines += [
            f'    "{name}": (',
            *(f'        "{part} "' for part in parts),
            f'        "{last}"',
            "    ),",
        ]
    return "\n".join(lines)
