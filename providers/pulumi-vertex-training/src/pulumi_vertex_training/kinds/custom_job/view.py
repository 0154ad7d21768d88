"""The view of a custom job in any of its forms."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.views import pools_view
from pulumi_vertex_training.views.explained import Explanation
from pulumi_vertex_training.views.kind_view import KindView


def heading(explained: Explanation) -> str:
    """Describe a job, such as "A distributed job of 4 replicas: chief 1 x n1-standard-4, workers ...".

    A training input of AI Platform is named as one.
    """
    words = pools_view.in_words(explained.spec)
    if not words or explained.spec is None:
        return "A job without replicas."
    if explained.document.form == "training_input":
        words = f"A training input of AI Platform; on Vertex AI {words[0].lower()}{words[1:]}"
    return f"{words}.{pools_view.bare_in_words(explained.spec)}"


def status(record: JobRecord, _: Collection[str]) -> dict[str, Any]:
    """Return the keys of `status --json`."""
    return {"jobSpec": record.wire.get("jobSpec", {})}


VIEW = KindView(heading=heading, status=status)
