"""The rung of a capacity ladder that a job is on, in words."""

from __future__ import annotations

from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.runs.climb import had_no_capacity, places_of, stays
from pulumi_vertex_training.runs.identity import RUNG_LABEL
from vertex_training.fields.resource_names import part_after
from vertex_training.job.custom_job import from_wire, normalise
from vertex_training.job.ladder import machine_in_words, strategy_of


def rung_in_words(record: JobRecord) -> str:
    """Return the rung of a job, such as "2, SPOT, g2-standard-8: had no machines"; "" without a ladder."""
    position = record.labels.get(RUNG_LABEL, "").partition("-")[0]
    if not position:
        return ""
    try:
        spec = normalise(from_wire(record.wire))
    except ValueError:  # a job of a newer version
        return position
    machines = [pool.machine_spec for pool in spec.worker_pool_specs if pool.machine_spec]
    machine = next((one for one in machines if one.accelerator_count), machines[0] if machines else None)
    place = [f"in {part_after(record.name, 'locations')}"] if places_of(record) else []
    words = ", ".join(
        [position, strategy_of(spec), *([machine_in_words(machine)] if machine else []), *place]
    )
    gave_up = record.state.is_terminal and not stays(record)
    return (
        f"{words}: {'had no machines' if had_no_capacity(record) else 'left before it had machines'}"
        if gave_up
        else words
    )
