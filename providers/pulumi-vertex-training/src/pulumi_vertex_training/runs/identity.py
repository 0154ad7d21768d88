"""Run identity: the key by which a run is found again (`rerun` decides when a new one is due).

The key is `<identity>-<generation>`: the identity is random and made once per declaration, the generation
grows with every intended run. The identity is in Pulumi's state before the first run is submitted, the key of
each run on its job as a label, and in the state when the job is. So a deployment that was killed at any point
finds its own job again, and nobody else's (docs/architecture/decisions/0001-run-identity.md).
"""

from __future__ import annotations

import hashlib
import re
import uuid
from dataclasses import dataclass

RUN_LABEL = "vertex-training-run"
SPEC_LABEL = "vertex-training-spec"
DECLARATION_LABEL = "vertex-training-declaration"
REASON_LABEL = "vertex-training-reason"
"""Label with the code of the reason why a job ran (`reasons`)."""

RUNG_LABEL = "vertex-training-rung"
"""Label of a run on a rung of a capacity ladder: its position, counted from 1, and its key (`job.ladder`)."""

RUN_NUMBER = "{run}"
"""In a declared display name: the number of the run.

It is filled in when the job is submitted, and only there. So it takes no part in the comparison of the
declared job with the recorded one.
"""

_SCHEDULED = "scheduled"

_ID_LENGTH = 16


@dataclass(frozen=True, kw_only=True)
class RunKey:
    """One intended run of one declaration. `str()` gives the form in labels and in the state."""

    identity: str
    generation: int

    def __str__(self) -> str:
        return f"{self.identity}-{self.generation}"

    def next(self) -> RunKey:
        return RunKey(identity=self.identity, generation=self.generation + 1)


def new_identity(seed: bytes = b"") -> str:
    """Return the identity of a new declaration, unique in the world: random, or made of random bytes."""
    return hashlib.sha256(seed).hexdigest()[:_ID_LENGTH] if seed else uuid.uuid4().hex[:_ID_LENGTH]


def identity_of(key: str) -> str:
    """Return the part of a key that all runs of a declaration share; the whole text if it is not a key."""
    start, _, generation = key.rpartition("-")
    return start if start and generation.isdigit() else key


def key_of_schedule(identity: str) -> str:
    """Return the key that all runs of a schedule share: the generation is 0, which no other run has."""
    return str(RunKey(identity=identity, generation=0))


def is_of_schedule(key: str) -> bool:
    """Return whether a key belongs to the runs of a schedule."""
    return key.rpartition("-")[2] == "0"


def parse(key: str) -> RunKey:
    """Return the key that `str` was made of. Raises ValueError for a text that is not a key."""
    start, _, generation = key.rpartition("-")
    if not start or not generation.isdigit():
        raise ValueError(f"{key!r} is not the key of a run")
    return RunKey(identity=start, generation=int(generation))


def with_number(display_name: str, key: str) -> str:
    """Return the display name of a run's job: the number of the run stands in for `RUN_NUMBER`."""
    if RUN_NUMBER not in display_name:
        return display_name
    return display_name.replace(RUN_NUMBER, str(parse(key).generation))


def without_number(display_name: str) -> str:
    """Return the display name of the jobs of a schedule, whose runs have one request and so no number."""
    return display_name.replace(RUN_NUMBER, _SCHEDULED)


def same_name(one: str, key: str, other: str, other_key: str) -> bool:
    """Return whether the display names of two runs differ at most in the numbers of the runs."""

    def bare(name: str, of: str) -> str:
        number = of.rpartition("-")[2]
        return re.sub(rf"(?<![0-9]){number}(?![0-9])", RUN_NUMBER, name) if number.isdigit() else name

    return one == other or bare(one, key) == bare(other, other_key)


def labels(key: str, spec_hash: str, *, reason: str = "") -> dict[str, str]:
    """Return the labels of a run's job: its key, its declaration, the hash of its spec, and the reason.

    The service finds exact values only, so the part that all runs of a declaration share is a label, too.
    """
    found = {RUN_LABEL: key, DECLARATION_LABEL: identity_of(key), SPEC_LABEL: spec_hash}
    return {**found, REASON_LABEL: reason} if reason else found
