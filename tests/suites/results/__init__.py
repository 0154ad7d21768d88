"""The results of a suite, from the junit.xml that it wrote or from the cases of its output."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

from suites.left_out_plugin import PREFIX
from suites.suite import GoSuite, Reason, Suite


@dataclass(frozen=True, kw_only=True)
class Case:
    """One test. `why` is why it was skipped; it begins with `PREFIX` if the catalog leaves the test out."""

    name: str
    outcome: Literal["passed", "failed", "skipped"]
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class Results:
    """The tests of one run. `left_out` and `skipped` count by reason; a test that also erred has failed."""

    suite: Suite
    passed: frozenset[str]
    failed: frozenset[str]
    left_out: tuple[tuple[str, int], ...]
    skipped: tuple[tuple[str, int], ...]

    @property
    def total(self) -> int:
        return len(self.passed) + len(self.failed) + sum(n for _, n in (*self.left_out, *self.skipped))

    def explained(self) -> tuple[tuple[str, int], ...]:
        """Return the reasons why tests did not pass, with their number."""
        reasons = (_reason(name, self.suite.not_passed) for name in self.failed)
        return _counts(Counter(each.why for each in reasons if each is not None))

    def unexplained(self) -> list[str]:
        """Return the failed tests for which the catalog has no reason."""
        return sorted(name for name in self.failed if _reason(name, self.suite.not_passed) is None)

    def outdated(self) -> list[str]:
        """Return the catalog's reasons that no failed test has any more."""
        found = {_reason(name, self.suite.not_passed) for name in self.failed}
        return [each.why for each in self.suite.not_passed if each not in found]


def read(suite: Suite, junit: Path) -> Results:
    """Return the results in a junit.xml. Raises ValueError if it has no tests."""
    return of_cases(suite, _cases(suite, junit))


def of_cases(suite: Suite, cases: Iterable[Case]) -> Results:
    """Return the results of a suite's tests. Raises ValueError if none ran."""
    passed, failed = set(), set()
    left_out: Counter[str] = Counter()
    skipped: Counter[str] = Counter()
    for case in cases:
        if case.outcome == "skipped":
            counter = left_out if case.why.startswith(PREFIX) else skipped
            counter[case.why.removeprefix(PREFIX).strip()] += 1
        else:
            (failed if case.outcome == "failed" else passed).add(case.name)
    passed -= failed  # in pytest, an error at the end of a test is a second entry
    if not passed and not failed:
        raise ValueError(f"{suite.name} ran no tests")
    return Results(
        suite=suite,
        passed=frozenset(passed),
        failed=frozenset(failed),
        left_out=_counts(left_out),
        skipped=_counts(skipped),
    )


def _cases(suite: Suite, junit: Path) -> Iterator[Case]:
    for number, case in enumerate(ElementTree.parse(junit).iter("testcase")):
        name = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
        if isinstance(suite, GoSuite):
            name = f"{case.get('name')}#{number}"  # its names are not unique
        why = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            yield Case(name=name, outcome="failed")
        elif why is not None or case.get("status") == "skipped":
            message = why.get("message") if why is not None else None
            message = message or case.findtext("system-err") or "no reason given"
            yield Case(name=name, outcome="skipped", why=message)
        else:
            yield Case(name=name, outcome="passed")


def _reason(name: str, reasons: Sequence[Reason]) -> Reason | None:
    return next((each for each in reasons if re.search(each.tests, name)), None)


def _counts(counter: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counter.items(), key=lambda pair: (-pair[1], pair[0])))
