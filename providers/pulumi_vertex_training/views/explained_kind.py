"""What a kind brings for `explain`: what is to be said of it besides the job that runs in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training.documents.document import Document
from pulumi_vertex_training.views.explained import Explanation, Sample
from pulumi_vertex_training.views.output import Output


@dataclass(frozen=True, kw_only=True)
class Titles:
    """The headings above what runs: its worker pools ("" for none), its other fields, its replicas."""

    pools: str = ""
    fields: str = "The job"
    replicas: str = "What the replicas see"


def _same(_: Document[Any], sample: Sample) -> Sample:
    return sample


def _none(_: Explanation) -> dict[str, Any]:
    return {}


def _nothing(_: Explanation, __: Output) -> None:
    return


def _of_a_job(_: Explanation) -> Titles:
    return Titles()


@dataclass(frozen=True, kw_only=True)
class ExplainedKind:
    """How one kind is explained; every function takes explanations with errors too, but none without a spec.

    `heading` is the first paragraph. `show` prints the sections before that of what runs, for which `titles`
    has the headings. `document` has the keys of `--json` that only this kind has. `sample` adds what its
    replicas find besides, and raises InputError for a trial that it does not have.
    """

    heading: Callable[[Explanation], str]
    titles: Callable[[Explanation], Titles] = _of_a_job
    show: Callable[[Explanation, Output], None] = _nothing
    document: Callable[[Explanation], dict[str, Any]] = _none
    sample: Callable[[Document[Any], Sample], Sample] = _same
