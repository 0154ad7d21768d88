"""Find texts that stand for something else: an Output or a None put into a string, or a value of no use.

Python turns an Output and a None into words without an error. `program.resource` makes the texts of the last
kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pulumi_vertex_training.core.call import Checked
from vertex_training.fields.schema import child
from vertex_training.findings.problems import Problem

_OUTPUT = re.compile(r"Calling __str__ on an Output\[T\]|<pulumi\.output\.Output object at ")
_NONE = re.compile(
    r"^gs://None(?:/|$)|^/gcs/None(?:/|$)|^projects/None/|^projects/[^/]+/locations/None(?:/|$)"
    r"|^None-docker\.pkg\.dev|-docker\.pkg\.dev/(?:[^/]+/)*None(?:[/:@]|$)"
)
_REMEDY = (
    'join them with pulumi.Output.concat("gs://", bucket.name, "/data"), or use '
    'bucket.name.apply(lambda name: f"gs://{name}/data")'
)


_UNUSABLE = "<vertex-training> "


def unusable(message: str) -> str:
    """Return a text that stands for a value that Pulumi cannot send; a check reports it with this message."""
    return _UNUSABLE + message


def with_texts(found: Checked, inputs: Mapping[str, Any]) -> Sequence[Problem]:
    """Return the findings of a check of inputs, with such a text in place of the findings that it causes."""
    texts = [problem for name, value in inputs.items() for problem in _problems(value, name)]
    broken = {problem.path for problem in texts}
    return [*texts, *(problem for problem in found.problems if problem.path not in broken)]


def _problems(value: object, path: str) -> Iterator[Problem]:
    if isinstance(value, str):
        if _OUTPUT.search(value):
            before = value[: _OUTPUT.search(value).start()]  # type: ignore[union-attr]
            where = f" after {before[-40:]!r}" if before else ""
            yield Problem(
                path=path,
                message=f"has an Output in a string{where}, whose value the program does not know while it "
                f"makes the string; {_REMEDY}",
            )
        elif value.startswith(_UNUSABLE):
            yield Problem(path=path, message=value.removeprefix(_UNUSABLE))
        elif _NONE.search(value):
            yield Problem(
                path=path,
                message=f"{value[:100]!r} has the text of a None in it: a value of the program is not set. "
                "Set it, or leave this argument out",
            )
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _problems(item, child(path, str(name)))
    elif isinstance(value, (list, tuple)):
        for position, item in enumerate(value):
            yield from _problems(item, f"{path}[{position}]")
