"""A pytest plugin for one of several processes that run the suite together.

The folder RUN, which `scripts/testing` makes, has the list of entries to run, `queue`: in each line a test
file and a mark expression. A process claims an entry by making a file, runs it, and claims the next. So each
file is collected in one process only, and no process waits for another. What happens is written to
`results/NAME.jsonl`, one JSON object a line.

A test's cost has its set-up and its end: a fixture of a module is part of the first test that uses it.

The folder of a test that passed (`tmp_path`) is emptied at once: at the end, one process would need minutes
for all of them. The empty folder stays, so that no later test gets one of the same name. The logs of a failed
test are kept.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from scripts.testing.processes import MEMORY, RUN, group_of
from scripts.testing.processor_time import own_meter
from scripts.testing.queue import Entry
from support.suite import kept_logs
from support.suite.rings import NAMES, FixtureRings, Ring, watched

_ARENAS = -8
"""The parameter M_ARENA_MAX of glibc."""


def register(config: pytest.Config) -> None:
    """Register the plugin if this process is one of a run."""
    if folder := os.environ.pop(RUN, None):
        with contextlib.suppress(AttributeError):  # it is a function of glibc
            ctypes.CDLL(None).mallopt(_ARENAS, 2)  # threads of emulators would spread over sixteen
        memory = os.environ.pop(MEMORY, "")
        config.pluginmanager.register(Worker(Path(folder), memory=int(memory) if memory else None))


class Worker:
    """The hooks of one test process."""

    def __init__(self, run: Path, *, memory: int | None) -> None:
        name = group_of(os.getpid())
        self._run = run
        self._memory = memory
        self._grown = False
        self._meter = own_meter(name)
        self._results = (run / "results" / f"{name}.jsonl").open("a", buffering=1)
        self._starts = watched()
        self._fixtures = FixtureRings()
        self._outcomes: list[str] = []
        self._folders: list[Path] = []
        self._text = ""
        self._file_began = time.time()
        self._write(event="started", cpu=round(time.process_time(), 3), source=self._meter.source)

    def pytest_collection(self, session: pytest.Session) -> bool:
        """Collect nothing at first."""
        session.testscollected = 0
        return True

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run entries of the queue until it is empty, or until this process has grown too large."""
        total = 0
        for entry in self._claims():
            total += self._run_file(session, entry)
        session.testscollected = total
        return True

    def _claims(self) -> Iterator[Entry]:
        """Yield the entries that this process gets."""
        for number, line in enumerate((self._run / "queue").read_text().splitlines()):
            try:
                (self._run / "claims" / str(number)).touch(exist_ok=False)
            except FileExistsError:
                continue
            yield Entry.parse(line)
            if self._memory is not None and psutil.Process().memory_info().rss > self._memory:
                self._grown = True
                return

    def _run_file(self, session: pytest.Session, entry: Entry) -> int:
        """Run the tests of an entry, and return their number."""
        session.config.option.markexpr = entry.marks
        self._file_began = time.time()
        wall, used = time.perf_counter(), self._meter.seconds()
        items = [item for item in session.perform_collect([entry.file]) if entry.has(item.nodeid)]
        # What modules and tests are made of stays until the process ends: no later collection visits it.
        gc.collect()
        gc.freeze()
        self._write(
            event="collected",
            file=entry.file,
            tests=len(items),
            wall=round(time.perf_counter() - wall, 4),
            cpu=round(self._meter.seconds() - used, 4),
        )
        for item, following in zip(items, [*items[1:], session], strict=False):
            # Before the session itself, fixtures of modules and folders end, and those of the session stay.
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)
        return len(items)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[Any]:
        """Record what a fixture starts, also for the tests that use it later."""
        before = self._starts.take()
        try:
            made = yield
            if fixturedef.argname == "tmp_path":
                self._folders.append(made)
            return made
        finally:
            self._fixtures.note(fixturedef, self._starts.ring)
            self._starts.add(before)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[Any]:
        """Write the row of a test."""
        self._write(event="start", test=item.nodeid)
        self._outcomes, self._text = [], ""
        self._starts.take()
        wall, used = time.perf_counter(), self._meter.seconds()
        result = yield
        starts = self._starts.take()
        failed = "failed" in self._outcomes
        folders, self._folders = self._folders, []
        for each in () if failed else folders:
            shutil.rmtree(each, ignore_errors=True)
            each.mkdir(mode=0o700, exist_ok=True)
        self._write(
            event="test",
            test=item.nodeid,
            outcome="failed" if failed else "skipped" if "skipped" in self._outcomes else "passed",
            ring=NAMES[max(starts.ring, self._inherited(item))],
            wall=round(time.perf_counter() - wall, 4),
            cpu=round(self._meter.seconds() - used, 4),
            cli=starts.cli_calls,
            jobs=starts.jobs,
            text=self._text,
            logs=kept_logs.keep(item, self._run / "failed", since=self._file_began) if failed else None,
        )
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._outcomes.append(report.outcome)
        if report.failed:
            sections = "".join(f"\n--- {title}\n{text}" for title, text in report.sections)
            self._text += f"{report.when}: {report.longreprtext}{sections}\n"

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._write(event="broken", file=report.nodeid, text=report.longreprtext)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Remove what the session's fixtures and failed tests left, beside the tests of other processes."""
        factory = getattr(session.config, "_tmp_path_factory", None)
        if factory is not None:
            shutil.rmtree(factory.getbasetemp(), ignore_errors=True)
        self._write(event="ended", grown=self._grown)

    def _inherited(self, item: pytest.Item) -> Ring:
        """Return the ring of the fixtures of a test; those that begin with `_` serve the process."""
        if "clients" in item.path.parts:
            return Ring.CLIENTS
        known = getattr(item, "_fixtureinfo", None)
        found = known.name2fixturedefs.items() if known else ()
        return self._fixtures.of([each[-1] for name, each in found if not name.startswith("_")])

    def _write(self, **row: object) -> None:
        self._results.write(json.dumps(row) + "\n")
