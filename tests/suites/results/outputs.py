"""Read the tests in the output of the test programs of Go and Rust."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from suites.results import Case

_RUST = re.compile(r"^test (\S+) \.\.\. (ok|FAILED|ignored)(?:, (.*))?$", re.MULTILINE)
_OUTCOMES = {"pass": "passed", "fail": "failed", "skip": "skipped"}
_SKIPPED = re.compile(r"^\s*\S+\.go:\d+: (.*)$")


def go_cases(lines: Iterable[str]) -> Iterator[Case]:
    """Return the tests in the output of `go tool test2json`, without those that only have tests below them.

    A test that began and has no outcome was ended with the program, and has failed. A test that fails itself,
    while all tests below it pass, counts as one more.
    """
    outcomes: dict[str, str] = {}
    said: dict[str, str] = {}
    for line in lines:
        event = json.loads(line)
        name, action = event.get("Test"), event["Action"]
        if name is None:
            continue
        if action == "run":
            outcomes[name] = "failed"
        elif action in _OUTCOMES:
            outcomes[name] = _OUTCOMES[action]
        elif action == "output" and (match := _SKIPPED.match(event["Output"])):
            said[name] = match[1]
    parents = {name[:at] for name in outcomes for at, letter in enumerate(name) if letter == "/"}
    for name, outcome in outcomes.items():
        below = {outcomes[each] for each in outcomes if each.startswith(f"{name}/")}
        if name in parents and (outcome != "failed" or "failed" in below):
            continue
        if outcome == "skipped":
            yield Case(name=name, outcome="skipped", why=said.get(name, "no reason given"))
        else:
            yield Case(name=name, outcome="passed" if outcome == "passed" else "failed")


def rust_cases(text: str) -> Iterator[Case]:
    """Return the tests in the output of a test program of Rust."""
    for name, outcome, why in _RUST.findall(text):
        if outcome == "ignored":
            yield Case(name=name, outcome="skipped", why=why or "ignored, without a reason")
        else:
            yield Case(name=name, outcome="passed" if outcome == "ok" else "failed")
