"""Tell from an answer of the service whether there was no capacity for a job, or its machines were taken.

The service has no code for that: it is in the words of a refusal or of a job's error, and in whether the job
has a start time, the moment at which it first entered RUNNING (API reference, `CustomJob.start_time`).
`WORDINGS` has the known words with their sources. A log never counts: a program that runs out of GPU memory
prints `RESOURCE_EXHAUSTED`, too.

Words that are not in the table are `UNKNOWN` for a job that never started, so that a caller shows them and
stops: neither trying elsewhere nor giving up is safe without knowing what they mean.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from vertex_training.fields import timestamps
from vertex_training.job.job_spec import OLD_STRATEGIES


class Answer(enum.Enum):
    """The meaning of an answer of the service for the search for machines."""

    NO_CAPACITY = "no capacity"
    """There were no machines, or no quota, for a job that never started. Other machines may do."""
    INTERRUPTED = "interrupted"
    """A job that had started lost its machines, or the service failed. The job can run again unchanged."""
    REQUEST_RATE = "request rate"
    """Too many requests in a minute. The same request succeeds later."""
    FAILED = "failed"
    """The program failed, or the request is wrong. The same job would fail again."""
    UNKNOWN = "unknown"
    """A job that never started failed in words that are not known to be about capacity."""


class Meaning(enum.Enum):
    """The subject of a wording."""

    MACHINES = "machines"
    QUOTA = "quota"
    SERVICE = "service"


@dataclass(frozen=True, kw_only=True)
class Wording:
    """Words of the service. `example` is a text that contains them, `source` says who has seen it."""

    meaning: Meaning
    pattern: re.Pattern[str]
    example: str
    source: str


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


WORDINGS: tuple[Wording, ...] = (
    Wording(
        meaning=Meaning.MACHINES,
        pattern=_words(r"resources are insufficient in region: (?P<what>[\w-]+)"),
        example="Resources are insufficient in region: us-central1. Try a different region or use a "
        "different accelerator.",
        source='Vertex AI documentation, "Understand the custom training service"; '
        "openreview/openreview-expertise#401",
    ),
    Wording(
        meaning=Meaning.MACHINES,
        pattern=_words(r"\bstockout\b"),
        example="The job failed with a STOCKOUT error.",
        source='Vertex AI documentation, "Use Spot VMs with training"',
    ),
    Wording(
        meaning=Meaning.MACHINES,
        pattern=_words(r"\bZONE_RESOURCE_POOL_EXHAUSTED(?:_WITH_DETAILS)?\b"),
        example="ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS: The zone 'us-central1-a' is busy.",
        source='Compute Engine documentation, "Troubleshoot resource availability errors"; '
        "skypilot-org/skypilot#831",
    ),
    Wording(
        meaning=Meaning.MACHINES,
        pattern=_words(r"does not have enough resources available to fulfill the request"),
        example="The zone 'us-central1-a' does not have enough resources available to fulfill the request.",
        source='Compute Engine documentation, "Troubleshoot resource availability errors"',
    ),
    Wording(
        meaning=Meaning.QUOTA,
        pattern=_words(r"quota limits:(?=[^\n]*/custom_model_training_)\s*(?P<what>[\w./-]*[\w-])"),
        example="The following quota metrics exceed quota limits: "
        "aiplatform.googleapis.com/custom_model_training_nvidia_l4_gpus",
        source="GoogleCloudPlatform/vertex-ai-samples#3479 and #700, "
        "GoogleCloudPlatform/stable-diffusion-on-gcp#12, google-deepmind/xmanager#29",
    ),
    Wording(
        meaning=Meaning.QUOTA,
        pattern=_words(r"quotas are exceeded:\s*(?P<what>CustomModelTraining\w+)"),
        example="The following quotas are exceeded: CustomModelTrainingT4GPUsPerProjectPerRegion",
        source="answers for a Ray cluster and a persistent resource in us-east1, 2026-09",
    ),
    Wording(
        meaning=Meaning.SERVICE,
        pattern=_words(r"\binternal error occurred\b"),
        example="Internal error occurred for the current attempt.",
        source='Vertex AI documentation, "Understand the custom training service"; '
        "answers during outages of a region",
    ),
)

_REFUSED_FOR_LOAD = 429
_INTERNAL = 13
"""google.rpc.Code.INTERNAL."""
_FAILURES = ("JOB_STATE_FAILED", "JOB_STATE_EXPIRED")
_ENDS_OF_A_WAIT = (*_FAILURES, "JOB_STATE_CANCELLED")
_FLEX_START = "FLEX_START"
_DEFAULT_MAX_WAIT = timedelta(hours=24)
"""How long a job with FLEX_START waits unless it sets another time (API, `Scheduling.max_wait_duration`)."""


def patterns(meaning: Meaning) -> tuple[re.Pattern[str], ...]:
    """Return the patterns of the known words with a meaning; the group `what` names a region or a quota."""
    return tuple(each.pattern for each in WORDINGS if each.meaning is meaning)


def meanings(words: str) -> frozenset[Meaning]:
    """Return what the known words in a text are about."""
    return frozenset(each.meaning for each in WORDINGS if each.pattern.search(words))


def of_refusal(status: int, words: str) -> Answer:
    """Return the answer that refused to create a job, by its HTTP status and its words.

    Only a 429 that names a quota of training is about capacity. The quota of requests has other names.
    """
    if status != _REFUSED_FOR_LOAD:
        return Answer.FAILED
    return Answer.NO_CAPACITY if Meaning.QUOTA in meanings(words) else Answer.REQUEST_RATE


def of_job(wire: Mapping[str, Any]) -> Answer | None:
    """Return the answer in a job that failed; None for any other job.

    `wire` is a `CustomJob` in the API's JSON form. One that was cancelled did not fail, unless the service
    may have done it: with FLEX_START, at the end of its wait.
    """
    state, started, error = wire.get("state"), bool(wire.get("startTime")), wire.get("error") or {}
    found = meanings(str(error.get("message") or ""))
    if state in _ENDS_OF_A_WAIT and not started and _has_waited_in_vain(wire):
        return Answer.NO_CAPACITY
    if state not in _FAILURES:
        return None
    if started:
        lost = found & {Meaning.MACHINES, Meaning.SERVICE} or error.get("code") == _INTERNAL
        return Answer.INTERRUPTED if lost else Answer.FAILED
    return Answer.NO_CAPACITY if found & {Meaning.MACHINES, Meaning.QUOTA} else Answer.UNKNOWN


def _has_waited_in_vain(wire: Mapping[str, Any]) -> bool:
    """Return whether a job with FLEX_START ended once its wait was over, whatever its words."""
    scheduling = (wire.get("jobSpec") or {}).get("scheduling") or {}
    given = str(scheduling.get("strategy") or "")
    if OLD_STRATEGIES.get(given, given) != _FLEX_START:
        return False
    waited, limit = _waited(wire), _seconds(scheduling.get("maxWaitDuration"))
    return bool(waited and limit and waited >= limit)


def _waited(wire: Mapping[str, Any]) -> timedelta | None:
    try:
        return timestamps.parse(str(wire.get("endTime"))) - timestamps.parse(str(wire.get("createTime")))
    except ValueError:
        return None


def _seconds(duration: object) -> timedelta | None:
    """Return a duration in the API's form, such as "3600s"; the default if absent, None for no limit."""
    if duration is None:
        return _DEFAULT_MAX_WAIT
    try:
        return timedelta(seconds=float(str(duration).removesuffix("s"))) or None
    except (ValueError, OverflowError):
        return None
