"""Print the results of a run: failures, the command that repeats each, and where the time went."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from scripts.testing.processes import Run
from scripts.testing.results import EndedTest, Results

_SLOWEST = 10
_LAST_LINES = 60
"""Lines of a failure that are printed; the process's log has all."""
_REASON = 200


def progress(results: Results, files: int, of_files: int) -> str:
    """Return the state of a run in a few words."""
    counts = results.counts()
    failed = f"{counts['failed']} failed, " if counts["failed"] else ""
    return f"{failed}{counts['passed']} passed, {files} of {of_files} files"


def lines(run: Run, *, seed: int, arguments: Sequence[str], load: str) -> Iterator[str]:
    """Yield the lines of the summary. The last one has the counts."""
    results = run.results
    for file, text in results.broken.items():
        yield from ("", f"== {file} cannot be imported", *_tail(text))
    for test in results.failures():
        yield from _failure(run, test)
    for line in run.crashed:
        yield f"== {line}"
    yield from ("", "Longest tests")
    yield from (f"  {test.wall:7.1f} s  {test.name}" for test in results.slowest(_SLOWEST))
    yield from ("", *_rings(results))
    if run.left_files:
        yield f"Not run: {len(run.left_files)} files, such as {run.left_files[0]}"
    for line in run.left_processes:
        yield f"Still running: {line[:150]}"
    failed = {**results.broken, **{test.name: test.text for test in results.failures()}}
    if failed:
        yield from ("", "Failed; to repeat one:")
        for name, text in failed.items():
            yield from (f"  {repeat(name, seed)}", f"    {_reason(text)}")
    kept = [test for test in results.failures() if test.logs]
    if kept:
        yield f"Logs of failed tests: {run.folder / 'failed'}"
    order = shlex.join([*arguments, f"--randomly-seed={seed}"])
    yield ""
    yield f"{run.seconds / 60:.1f} min, {load}; the same order: make test ARGS={shlex.quote(order)}"
    counts = results.counts()
    failures = counts["failed"] + len(run.crashed)
    yield f"{counts['passed']} passed, {failures} failed, {counts['skipped']} skipped"


def repeat(name: str, seed: int) -> str:
    """Return the command that repeats one test."""
    words = shlex.join([name, f"--randomly-seed={seed}"])
    return f"make test ARGS={shlex.quote(words)}"


def _failure(run: Run, test: EndedTest) -> Iterator[str]:
    yield from ("", f"== {test.name}", *_tail(test.text))
    if test.logs:
        yield f"logs: {run.folder / 'failed' / test.logs}"


def _reason(text: str) -> str:
    """Return one line that says why a test failed: a long log may be cut above the summary."""
    found = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line.removeprefix("E ").strip() for line in found if line.startswith("E ")]
    return (errors or found or ["no text"])[0][:_REASON]


def _tail(text: str) -> list[str]:
    found = text.rstrip().splitlines()
    cut = len(found) - _LAST_LINES
    return [f"  ({cut} lines more above)", *found[cut:]] if cut > 0 else found


def _rings(results: Results) -> Iterator[str]:
    """Yield a table of the rings of tests, the dearest last."""
    rows: list[tuple[str, ...]] = [("Ring", "tests", "minutes", "processor", "Pulumi calls", "jobs")]
    costs = results.rings()
    for name, cost in costs.items():
        rows.append(
            (
                name,
                f"{cost.tests:,}",
                f"{cost.wall / 60:.1f}",
                f"{cost.processor / 60:.1f}",
                str(cost.cli_calls or ""),
                str(cost.jobs or ""),
            )
        )
    total = [sum(getattr(cost, name) for cost in costs.values()) for name in ("wall", "processor")]
    rows.append(("all", f"{len(results.tests):,}", *(f"{each / 60:.1f}" for each in total), "", ""))
    for name, *figures in rows:
        yield f"{name:28}" + "".join(f"{each:>14}" for each in figures).rstrip()
    yield f"(processor minutes by {results.source or 'nothing'}; minutes of all processes together)"
