"""The chore `make test`."""

from __future__ import annotations

import argparse
import os
import random
import shlex
import subprocess
import time
from collections.abc import Mapping, Sequence

from scripts.layout import Layout
from scripts.processes import alone, run_openly
from scripts.report import ChoreError, Report
from scripts.testing import bytecode, changed, memory, minutes, processes, queue, summary
from scripts.testing.results import Results

_MEMORY_OF_A_PROCESS = 1 << 30
"""Bytes that a process of tests needs with all that it starts: emulators, replicas, a browser."""

_SLOW_MACHINE = 0.75
"""The speed below which a sample has the smoke tests alone, so that a run ends in the time of a usual one."""

_ONE_PROCESS = {"--collect-only", "--co", "--fixtures", "--markers", "--pdb", "--trace", "-s", "-h", "--help"}
"""Options of pytest that need the terminal, or run no test."""


def run(layout: Layout, report: Report, *, env: Mapping[str, str], arguments: Sequence[str]) -> int:
    """Run tests. Return 0 if all passed.

    With a path in the arguments, run pytest itself. Otherwise run the whole suite, or what `--changed`,
    `--slow-sample` and the options of pytest choose, in several processes.
    """
    options, rest = _parser().parse_known_args(arguments)
    if any((layout.root / each.partition("::")[0]).exists() for each in rest) or _ONE_PROCESS & set(rest):
        return run_openly([layout.python, "-m", "pytest", *arguments], cwd=layout.root, env=env)
    with report.step("Bytecode") as step:
        step.done(bytecode.ensure(layout, env), idle=True)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    whole = not (rest or options.marks is not None or options.changed is not None or options.slow_sample)
    speed = minutes.speed() if whole else 1.0
    entries = _entries(layout, report, options, seed)
    if not entries:
        report.line("No test depends on what has changed.")
        return 0
    given = [*rest, f"--randomly-seed={seed}"]
    with report.step("Tests") as step, alone(layout.local / "tests.lock", step):
        failures = _Failures(report)

        def on_look(results: Results, files: int) -> None:
            step.progress(summary.progress(results, files, len(entries)))
            failures.show(results)

        done = processes.run(
            layout,
            entries,
            env=env,
            arguments=given,
            processes=options.processes,
            on_look=on_look,
            stop_at_first="-x" in rest,
            memory=_memory_of_a_process(memory.available(), options.processes),
        )
        results = done.results
        step.done("interrupted" if done.interrupted else "failed" if _failed(done) else "passed")
    words = [each for each in arguments if not each.startswith("--randomly-seed")]
    for line in summary.lines(done, seed=seed, arguments=words, load=_load()):
        report.line(line)
    if done.interrupted:
        return 130
    if whole:
        minutes.write(layout.local, results, speed=speed)
    if not results.tests and not results.broken:
        raise ChoreError(f"No test was found for {shlex.join(arguments)}.", exit_code=5)
    return int(_failed(done))


def _entries(layout: Layout, report: Report, options: argparse.Namespace, seed: int) -> list[queue.Entry]:
    marks = queue.FAST if options.marks is None else options.marks
    below: Sequence[str] = changed.EVERYTHING
    if options.changed is not None:
        base = options.changed or changed.default_base(layout.root)
        paths = changed.changed_paths(layout.root, base)
        below = changed.chosen(layout.root, paths)
        report.line(f"{len(paths)} paths differ from {base}; they concern {changed.below(below)}")
    found = queue.entries(layout.root, queue.test_files(layout.root, below), marks=marks, seed=seed)
    if options.slow_sample and (speed := minutes.speed()) < _SLOW_MACHINE:
        report.line(
            f"This machine has {speed:.0%} of the usual speed: of the slow tests, the smoke tests alone."
        )
        return queue.with_sample(layout.root, found, commit=None, seed=seed)
    if options.slow_sample:
        commit = _commit(layout)
        found = queue.with_sample(layout.root, found, commit=commit, seed=seed)
        report.line(f"Slow tests for commit {commit[:8]}: the smoke tests, and all of")
        for entry in sorted(found, key=str):
            if entry.marks == queue.SLOW:
                some = "" if entry.part is None else f" (one of {queue.DIVIDED[entry.file]} parts)"
                report.line(f"  {entry.file}{some}")
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make test ARGS=", add_help=False, allow_abbrev=False)
    parser.add_argument("-m", dest="marks")
    parser.add_argument("--randomly-seed", dest="seed", type=int)
    parser.add_argument("--processes", type=int, default=_number_of_processes(memory.available()))
    parser.add_argument("--changed", nargs="?", const="")
    parser.add_argument("--slow-sample", action="store_true")
    return parser


def _number_of_processes(memory_available: int | None) -> int:
    """Return more than the cores, because tests of the engine and of jobs wait about half of their time.

    Where memory is short, return fewer: the kernel would kill replicas and the browser.
    """
    usual = min((os.cpu_count() or 2) + 2, 6)
    if memory_available is None:
        return usual
    return max(1, min(usual, memory_available // _MEMORY_OF_A_PROCESS))


def _memory_of_a_process(memory_available: int | None, count: int) -> int | None:
    """Return the bytes that a test process may grow to: half of its share, the rest is for what it starts."""
    return None if memory_available is None else memory_available // count // 2


class _Failures:
    """Prints the name of each failed test as soon as it has failed."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._shown = 0

    def show(self, results: Results) -> None:
        names = [*results.broken, *(test.name for test in results.failures())]
        for name in names[self._shown :]:
            self._report.clear()
            self._report.line(f"FAILED {name}")
        self._shown = len(names)


def _failed(done: processes.Run) -> bool:
    return bool(done.results.counts()["failed"] or done.crashed or done.left_files)


def _commit(layout: Layout) -> str:
    done = subprocess.run(
        ["git", "rev-parse", "HEAD"],  # noqa: S607
        cwd=layout.root,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or "0" * 40


def _load() -> str:
    return f"{os.cpu_count()} cores, load {os.getloadavg()[1]:.1f} at {time.strftime('%H:%M')}"
