"""The silent replicas of a stalled job, by the last line that the watchdog printed in each. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from vertex_training.fields import timestamps

WORDS = "has reported nothing since"
"""Words that only a line of `vertex_cluster.watchdog` has."""

LINE = re.compile(
    r"vertex_cluster: (?P<what>(?P<replica>workerpool\d+-\d+|this replica)(?: \(local rank \d+\))?"
    rf" {WORDS} (?P<since>[0-9T:.-]+Z)(?:, after step (?P<step>[-+.\de]+))?)"
)

_MOST_NAMED = 3


@dataclass(frozen=True, kw_only=True)
class Silence:
    """A silent replica: `since` when (RFC 3339), and the last step that it reported, "" if it gave none."""

    replica: str
    since: str
    step: str = ""

    def __str__(self) -> str:
        return f"{self.replica} since {self.since}" + (f", after step {self.step}" if self.step else "")


def silences(lines: Iterable[str]) -> tuple[Silence, ...]:
    """Return the silent replicas among the lines of a log, the first to be silent first, each once."""
    found: dict[str, Silence] = {}
    for line in lines:
        if match := LINE.search(line):
            one = Silence(replica=match["replica"], since=match["since"], step=match["step"] or "")
            first = found.setdefault(one.replica, one)
            found[one.replica] = min(first, one, key=_order)
    return tuple(sorted(found.values(), key=_order))


def _order(one: Silence) -> tuple[float, str]:
    return timestamps.parse(one.since).timestamp(), one.replica


def in_words(found: tuple[Silence, ...]) -> str:
    """Describe several silent replicas, of which the first has most likely stopped the rest."""
    first, *others = found
    if not others:
        return f"a replica hangs: {first}"
    named = "; ".join(map(str, others[:_MOST_NAMED]))
    more = f"; {len(others) - _MOST_NAMED} more" if len(others) > _MOST_NAMED else ""
    return f"a replica hangs. The first that was silent: {first}. Then: {named}{more}"
