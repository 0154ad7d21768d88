"""The starts of a job's program: from which step each resumed, and what was lost, in time and dollars.

The training after the checkpoint that a start loads is lost, up to the end of the start before. That end is
known only if it is the end of a job. Within a job, the time of the next start stands in for it: the most that
can be lost.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pulumi_vertex_training import registry
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.cloud.prices.price_file import current_prices
from pulumi_vertex_training.costs import words
from pulumi_vertex_training.costs.spent import spent_in
from pulumi_vertex_training.runs.checkpoints import starts_in
from pulumi_vertex_training.runs.gateway import gateway_of
from pulumi_vertex_training.runs.monitoring.progress import duration
from pulumi_vertex_training.views.kind_view import view_of
from vertex_training.cost.runs import Spent
from vertex_training.fields import timestamps
from vertex_training.fields.document import json_of
from vertex_training.fields.resource_names import resource_id
from vertex_training.job.checkpoints import folder_of
from vertex_training.job.job_kind import JobKind

if TYPE_CHECKING:
    from vertex_cluster.checkpoints.records import Start


@dataclass(frozen=True, kw_only=True)
class Resume:
    """A start of a job's program after another start.

    `step` is the step from which it resumed, 0 without a checkpoint. `lost_seconds` and `lost` are what the
    start before it did after that step, None if that is not known; `is_bound` if they are the most.
    """

    attempt: int
    step: int
    time: str
    world_size: int
    lost_seconds: float | None = None
    lost: Spent | None = None
    is_bound: bool = False

    @property
    def words(self) -> str:
        """Describe it: "from step 20 (attempt 2), at most 2m05s and $0.12 lost"."""
        text = f"from step {self.step}"
        if self.attempt > 1:
            text += f" (attempt {self.attempt})"
        if self.lost_seconds is None:
            return text
        cost = f" and {words.spent(self.lost)}" if self.lost else ""
        return f"{text}, {'at most ' * self.is_bound}{duration(self.lost_seconds)}{cost} lost"


def resumes_of(endpoint: Endpoint, records: Sequence[JobRecord]) -> Mapping[str, tuple[Resume, ...]]:
    """Return the resumed starts of each job, by its full name. What cannot be read is left out."""
    known = {_job_id(record): record for record in records}
    found: dict[str, tuple[Resume, ...]] = {}

    def job(job_id: str) -> JobRecord | None:
        if job_id in known:
            return known[job_id]
        name = f"{endpoint.parent}/{registry.CUSTOM_JOB.collection}/{job_id}"
        try:
            return gateway_of(name).get(endpoint, name)
        except CloudError:
            return None

    folders = {record.name: _folder(record) for record in records}
    for folder in dict.fromkeys(filter(None, folders.values())):
        try:
            starts = starts_in(endpoint, folder)
        except CloudError:
            continue
        for record in records:
            if folders[record.name] == folder:
                found[record.name] = tuple(_resumes(starts, record, job))
    return found


def document(resumes: Iterable[Resume]) -> list[dict[str, Any]]:
    """Return the starts as JSON, see docs/reference/json.md."""
    return [
        {
            **json_of(one, "attempt step time world_size lost_seconds"),
            "lostCost": None if one.lost is None else one.lost.total,
            "isBound": one.is_bound,
        }
        for one in resumes
    ]


def _folder(record: JobRecord) -> str | None:
    """Return the folder of a job's checkpoints, as its program finds it."""
    kind: JobKind[Any] = registry.runnable(record.collection).part("kind", "KIND", JobKind)
    try:
        spec = kind.from_wire(record.wire)
        own = folder_of(spec)
        directory = kind.directory_of(record.wire)
    except ValueError:  # a job of a newer version
        return None
    if own:
        return f"{own.rstrip('/')}/" if own.startswith("gs://") else None
    return f"{directory}checkpoints/" if directory else None


def _job_id(record: JobRecord) -> str:
    """Return the id of the custom job whose replicas train."""
    return resource_id(view_of(record).replicas_of(record) or record.name)


def _resumes(
    starts: Sequence[Start], record: JobRecord, job: Callable[[str], JobRecord | None]
) -> Iterable[Resume]:
    for before, start in itertools.pairwise(starts):
        if start.job != _job_id(record):
            continue
        is_bound = before.job == start.job
        of_before = record if is_bound else job(before.job)
        end_of_before = None if of_before is None else of_before.end_time
        seconds = _lost(before, start, start.time if is_bound else end_of_before)
        yield Resume(
            attempt=start.attempt,
            step=start.step,
            time=start.time,
            world_size=start.world_size,
            lost_seconds=seconds,
            lost=spent_in(of_before, seconds, table=current_prices()) if of_before and seconds else None,
            is_bound=is_bound,
        )


def _lost(before: Start, start: Start, end: str | None) -> float | None:
    """Return the seconds from the checkpoint, or from the start before if that is later, to its end."""
    times = [timestamps.parse_or_none(each) for each in (start.saved, before.time) if each]
    begin, ended = max(filter(None, times), default=None), timestamps.parse_or_none(end)
    return None if begin is None or ended is None else max((ended - begin).total_seconds(), 0.0)
