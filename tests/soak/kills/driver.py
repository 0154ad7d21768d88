"""Histories side by side, up to a number of kills or a time; the report, and the table at the end."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from soak.kills.history import History, Outcome
from soak.kills.lane import remove
from soak.kills.strikes import Victim


@dataclass
class Report:
    """All that happened, as JSON in `file`.

    `done` has the numbers of the histories that were begun, `folder` the place of their lanes until the end.
    """

    file: Path
    seed: int
    kills: list[dict[str, Any]] = field(default_factory=list)
    ends: list[dict[str, Any]] = field(default_factory=list)
    missed: int = 0
    done: list[int] = field(default_factory=list)
    seconds: float = 0.0
    folder: str = ""

    @classmethod
    def read(cls, file: Path) -> Report:
        """Read a report, to be continued. Raises OSError, ValueError and TypeError."""
        return cls(file=file, **json.loads(file.read_text()))

    def write(self) -> None:
        """Replace the file as a whole."""
        document = {name: value for name, value in vars(self).items() if name != "file"}
        new = self.file.with_suffix(".new")
        new.write_text(json.dumps(document, indent=1))
        new.replace(self.file)

    def findings(self) -> Counter[str]:
        """Return the findings without the parts that differ each time, and how often each was made."""
        everything = (finding for one in (*self.kills, *self.ends) for finding in one["findings"])
        return Counter(re.sub(r"[0-9a-f]{16,}|\d+", "N", each) for each in everything)

    def table(self) -> str:
        """Return the tables of victims and of what was in flight, and the findings."""
        lines = [f"{'victim':24}{'kills':>8}{'findings':>10}{'unlocks':>10}"]
        lines += [_row(victim.value, self._of(victim.value)) for victim in Victim if self._of(victim.value)]
        lines += [_row("total", self.kills), "", f"{'in flight':44}{'kills':>8}{'findings':>10}"]
        kinds = Counter(kind for one in self.kills for kind in set(one["in_flight"]) or {"nothing begun"})
        for kind, count in kinds.most_common():
            found = [one for one in self.kills if kind in (one["in_flight"] or ["nothing begun"])]
            lines.append(f"{kind:44}{count:>8}{sum(bool(one['findings']) for one in found):>10}")
        lines.append("")
        lines += [f"{count:>4} x {finding}" for finding, count in self.findings().most_common()]
        seconds = self.seconds / max(1, len(self.kills))
        lines.append(
            f"{len(self.kills)} kills in {len(self.done)} histories of seed {self.seed}, {self.missed} came "
            f"after the command's end; {self.seconds / 60:.0f} minutes, {seconds:.1f} s a kill"
        )
        return "\n".join(lines)

    def _of(self, victim: str) -> list[dict[str, Any]]:
        return [one for one in self.kills if one["victim"] == victim]


@dataclass
class Driver:
    """`lanes` histories run at a time; no step begins after `kills` kills or `seconds` seconds."""

    report: Report
    kills: int
    seconds: float
    lanes: int = 2
    only: tuple[int, ...] = ()
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stop: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        began, before = time.monotonic(), self.report.seconds
        self._until = began + self.seconds
        self._clock = lambda: before + time.monotonic() - began
        numbers: Iterable[int] = self.only or itertools.count(max(self.report.done, default=-1) + 1)
        self._numbers = iter(numbers)
        if self.report.folder:
            _clear(Path(self.report.folder))
        self.report.folder = tempfile.mkdtemp(prefix="soak-")
        self.report.write()
        with ThreadPoolExecutor(self.lanes) as pool:
            running = [pool.submit(self._lane, Path(self.report.folder)) for _ in range(self.lanes)]
            # Not `Thread.join`: in Python 3.11 an interrupted one takes a running thread for an ended one.
            while running:
                try:
                    running = list(wait(running, timeout=60).not_done)
                except KeyboardInterrupt:
                    self._stop.set()
                    print("stopping after the steps that run", flush=True)
        _clear(Path(self.report.folder))
        self.report.folder = ""
        self.report.seconds = self._clock()
        self.report.write()

    def _goes_on(self) -> bool:
        over = len(self.report.kills) >= self.kills or time.monotonic() > self._until
        return not (over or self._stop.is_set())

    def _lane(self, folder: Path) -> None:
        while self._goes_on():
            with self._lock:
                number = next(self._numbers, None)
                if number is None:
                    return
                self.report.done.append(number)
            history = History(
                seed=self.report.seed, number=number, folder=folder / f"h{number}", report=self._record
            )
            try:
                wrong = history.run()
            except Exception as error:  # the other lane goes on
                wrong = [f"the soak itself failed: {error!r}"]
            with self._lock:
                self.report.ends.append({"history": number, "findings": wrong})
                self.report.seconds = self._clock()
                self.report.write()
            print(f"history {number} ended{': ' + '; '.join(wrong) if wrong else ''}", flush=True)

    def _record(self, outcome: Outcome) -> bool:
        with self._lock:
            if outcome.struck or outcome.findings:
                one = {
                    **asdict(outcome),
                    "strike": str(outcome.strike),
                    "victim": outcome.strike.victim.value,
                    "struck": outcome.struck,
                }
                self.report.kills.append(one)
            else:
                self.report.missed += 1
            self.report.seconds = self._clock()
            self.report.write()
            print(_line(outcome, len(self.report.kills), self.kills), flush=True)
            return self._goes_on()


def _clear(folder: Path) -> None:
    """Remove all lanes in the folder with their processes, and the folder."""
    for each in folder.glob("*"):
        remove(each)
    shutil.rmtree(folder, ignore_errors=True)


def _line(outcome: Outcome, count: int, kills: int) -> str:
    what = ", ".join(outcome.in_flight) or "nothing begun"
    kept = "" if outcome.struck else " (too late)"
    unlocked = "; unlocked" if outcome.unlocked else ""
    lines = [
        f"{count}/{kills} history {outcome.history} step {outcome.step}: {outcome.strike}{kept}; {what}"
        f"{unlocked}; {outcome.seconds:.1f} s"
    ]
    lines += [f"    FOUND {finding}" for finding in outcome.findings]
    return "\n".join(lines)


def _row(name: str, kills: list[dict[str, Any]]) -> str:
    found, unlocked = (sum(bool(one[key]) for one in kills) for key in ("findings", "unlocked"))
    return f"{name:24}{len(kills):>8}{found:>10}{unlocked:>10}"
