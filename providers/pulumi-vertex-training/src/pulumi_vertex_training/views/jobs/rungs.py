"""The rung of a capacity ladder that a job is on, in words."""

from __future__ import annotations

from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.runs.climb import had_no_capacity, places_of, stays
from pulumi_vertex_training.runs.lineage.lineage import rung_of
from vertex_training.fields.resource_names import part_after


def rung_in_words(record: JobRecord) -> str:
    """Return the rung of a job, such as "2, SPOT, g2-standard-8: had no machines"; "" without a ladder."""
    rung = rung_of(record.labels, record.wire)
    if rung is None:
        return ""
    place = f"in {part_after(record.name, 'locations')}" if places_of(record) else None
    words = ", ".join(filter(None, [rung.words, place]))
    if stays(record) or not record.state.is_terminal:
        return words
    return f"{words}: {'had no machines' if had_no_capacity(record) else 'left before it had machines'}"
