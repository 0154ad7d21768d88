"""The views of one kind's resources on a terminal: in `explain`, `jobs` and `status`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pulumi_vertex_training import registry
from pulumi_vertex_training.cloud.jobs import JobRecord
from vertex_training.command_line.output import Output

if TYPE_CHECKING:
    # `jobs` and `status` read no documents.
    from pulumi_vertex_training.documents.document import Document
    from pulumi_vertex_training.views.explained import Explanation, Sample


@dataclass(frozen=True, kw_only=True)
class Titles:
    """The headings above a job: of its worker pools ("" for none), its other fields, its replicas."""

    pools: str = ""
    fields: str = "The job"
    replicas: str = "What the replicas see"


def _no_keys(*_: object) -> dict[str, Any]:
    return {}


@dataclass(frozen=True, kw_only=True)
class KindView:
    """The views of one kind.

    The functions for `explain` take explanations with errors too, but always with a spec. `heading` returns
    the first paragraph. `show` prints the sections before the job's, for which `titles` returns the
    headings. `document` returns the keys of `--json` that only this kind has. `sample` adds the further
    values of its replicas, and raises InputError for a trial that does not exist.

    The functions for `jobs` and `status` take a record and the keys of cancelled custom jobs (see
    `trials_view.stopped_early`). `listed` returns the keys of `jobs --json`, `details` the words of the last
    column; `status` returns the keys of `status --json`, `facts` the lines for people. `replicas_of` returns
    the full name of the custom job that has the record's replicas, or None, and `model_of` the full name of
    the uploaded model, with its version.
    """

    heading: Callable[[Explanation], str]
    status: Callable[[JobRecord, Collection[str]], dict[str, Any]]
    titles: Callable[[Explanation], Titles] = lambda _: Titles()
    show: Callable[[Explanation, Output], None] = lambda _, __: None
    document: Callable[[Explanation], dict[str, Any]] = _no_keys
    sample: Callable[[Document[Any], Sample], Sample] = lambda _, sample: sample
    listed: Callable[[JobRecord, Collection[str]], dict[str, Any]] = _no_keys
    details: Callable[[JobRecord, Collection[str]], tuple[str, ...]] = lambda _, __: ()
    facts: Callable[[JobRecord], Iterable[tuple[str, str]]] = lambda _: ()
    replicas_of: Callable[[JobRecord], str | None] = lambda record: record.name
    model_of: Callable[[JobRecord], str | None] = lambda _: None


def view_of(record: JobRecord) -> KindView:
    """Return the view of a job's kind. Raises KeyError if the record is not a job's."""
    return registry.runnable(record.collection).part("view", "VIEW", KindView)


def view_of_document(document: Document[Any]) -> KindView:
    """Return the view of the kind that a document describes."""
    from pulumi_vertex_training.documents.document import entry_of

    return entry_of(document).part("view", "VIEW", KindView)
