"""Why a job ran: a code that fits in a label of the job, and the words for it.

A label is the only place that both the service and a lost state leave intact. Its value has at most 63
lowercase letters, digits, dashes and underscores.
"""

from __future__ import annotations

import re

from pulumi_vertex_training.runs.policies.rerun import Decision, Facts
from pulumi_vertex_training.runs.policies.run_status import LastRun

FIRST = "first-run"
ON_DEMAND = "on-demand"
GONE = "gone"
INTERRUPTED = "interrupted"
SPEC = "spec"
MOVED = "moved"

_WORDS = {
    FIRST: "first run",
    SPEC: "its spec changed",
    "run-token": "its run_token changed",
    ON_DEMAND: "a replacement was requested",
    GONE: "the run before was deleted outside of Pulumi",
    INTERRUPTED: "an interrupted deployment cancelled the run before",
    MOVED: "its project or location changed",
}
_FAILED = re.compile(r"failed-again-(\d+)-of-(\d+)")
_ALWAYS = "always"


def code_of(facts: Facts, decision: Decision) -> str:
    """Return the code of a decision to run."""
    if decision.row == "failed-again":
        return f"{decision.row}-{decision.reruns}-of-{facts.rerun.limit}"
    return FIRST if decision.first or facts.last_run is LastRun.NONE else decision.row


def words_of(code: str) -> str:
    """Return the words for a code; "" for no code, and the code itself if this version does not know it."""
    if failed := _FAILED.fullmatch(code):
        return f"the run before failed, rerun {failed[1]} of {failed[2]}"
    return "rerun is always" if code == _ALWAYS else _WORDS.get(code, code)
