"""The command: the order in which it deploys, compares and cleans up."""

from __future__ import annotations

import json
import math
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from scripts.verify_google import cleanup, journal, questions, rehearsal
from scripts.verify_google.answers import Answers, answers_of
from scripts.verify_google.budget import PENNIES, cost_of
from scripts.verify_google.comparison import compare
from scripts.verify_google.journal import JournalError, Record
from scripts.verify_google.options import Options, parse
from scripts.verify_google.report import Report
from scripts.verify_google.sanitising import Sanitiser
from scripts.verify_google.stacks import Side, StackError, programs
from vertex_emulator.client.lookup import LauncherError


class RefusedError(Exception):
    """The run cannot begin; the text has the command that helps."""


@dataclass(kw_only=True)
class Found:
    """The result of a side: a word for each program, its answers, and the answers to the questions."""

    results: dict[str, str] = field(default_factory=dict)
    answers: Answers = field(default_factory=dict)
    questions: Answers = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        return all(result == "deployed" for result in self.results.values())


def main(arguments: Sequence[str]) -> int:
    """Run the command. Return 0 if all is the same, 1 for a difference or a failure."""
    options = parse(arguments)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    redirected = [name for name in rehearsal.REDIRECTIONS if os.environ.get(name)]
    try:
        if options.rehearse and not redirected:
            again = [*arguments, f"--folder={options.folder / 'rehearsals'}"]
            where = {"project": options.project, "location": options.location}
            return rehearsal.run_again(again, options.folder, **where)
        _check_access(options, redirected)
        with journal.exclusive(options.folder):
            carried = _clean_earlier(options)
            if carried is None:
                return 1
            if options.clean:
                _print("Nothing is left of earlier runs.")
                return 0
            return _verify(options, carried)
    except (RefusedError, JournalError, LauncherError, StackError, CloudError) as error:
        _print(f"\n{error}", error=True)
        return 1
    except KeyboardInterrupt:
        _print(f"\nInterrupted. What may be left is deleted by:\n  {_again(options)}", error=True)
        return 130


def _check_access(options: Options, redirected: Sequence[str]) -> None:
    """Check that calls reach Google Cloud with credentials, or an emulator in a rehearsal."""
    if redirected and not options.rehearse:
        raise RefusedError(
            f"{', '.join(redirected)} is set, so calls to Google Cloud would reach an emulator. "
            f"Run `unset {' '.join(redirected)}`, and try again."
        )
    import google.auth
    import google.auth.exceptions

    try:
        google.auth.default()
    except google.auth.exceptions.DefaultCredentialsError as error:
        raise RefusedError(
            "There are no credentials for Google Cloud. Log in, and try again:\n"
            "  gcloud auth application-default login"
        ) from error


def _verify(options: Options, carried: float) -> int:
    """Deploy on both sides, compare, and clean up. `carried` is what killed runs had counted."""
    run = journal.new_run()
    folder = options.folder / run
    folder.mkdir(parents=True)
    highest, ours = _emulated(options, folder, carried)
    if not ours.is_complete:
        _print("A program that fails on the emulator is not sent to Google Cloud.", error=True)
        return 1
    record = Record(run=run, project=options.project, location=options.location, counted=highest)
    journal.write(options.folder, record)
    _print("The same against Google Cloud.")
    theirs, side = Found(), _google_side(options, record)
    try:
        _deploy_environment(side, theirs)
        if theirs.is_complete:
            _deploy_others(side, theirs)
    finally:
        with _without_interrupts():
            is_clean = _clean(options, side, record, killed=False)
    report = Report(
        location=options.location,
        results=Sanitiser(project=options.project, run=run).document(theirs.results),
        differences=compare(theirs.answers, ours.answers),
        questions={
            each.asks: (theirs.questions.get(each.name), ours.questions.get(each.name))
            for each in questions.QUESTIONS
        },
        counted=highest,
        is_clean=is_clean,
    )
    (folder / "report.md").write_text(report.markdown(), encoding="utf-8")
    everything = {"google": asdict(theirs), "emulator": asdict(ours)}
    (folder / "answers.json").write_text(json.dumps(everything, indent=1) + "\n", encoding="utf-8")
    _print(f"\n{len(report.unexplained)} fields differ. Counted ${highest:.2f}.")
    _print(f"Report: {folder / 'report.md'}")
    return 0 if is_clean and theirs.is_complete and not report.unexplained else 1


def _emulated(options: Options, folder: Path, carried: float) -> tuple[float, Found]:
    """Deploy to an emulator. Return the highest cost, and what was found.

    Raises RefusedError for a cost above the budget.
    """
    found = Found()
    with rehearsal.emulator(options.folder / "emulator") as emulator:
        endpoint = Endpoint(
            kind="emulator",
            project=options.project,
            location=options.location,
            url=emulator.url,
            token=emulator.token,
            data_dir=str(emulator.data_dir),
        )
        side = Side(endpoint=endpoint, folder=folder / "emulator", run=folder.name)
        _print(f"Run {side.run}, against the emulator.")
        _deploy_environment(side, found)
        if not found.is_complete:
            return 0.0, found
        highest = _highest_cost(options, side, carried)
        _deploy_others(side, found)
    return highest, found


def _highest_cost(options: Options, side: Side, carried: float) -> float:
    """Return the highest cost of a run. Raises RefusedError for one above the budget."""
    _, *others = programs(side.run)
    costs = {
        **({"interrupted": carried} if carried else {}),
        "environment": PENNIES,
        **{each.name: cost_of(side, each) for each in others},
        "questions": questions.cost_of(options.location),
    }
    highest = sum(costs.values())
    for name, cost in (*costs.items(), ("together", highest)):
        _print(f"{name:14}at most ${cost:.2f}")
    if highest > options.budget:
        raise RefusedError(
            f"That exceeds ${options.budget:.2f}. Nothing was sent. To allow it: make verify-google "
            f"PROJECT={options.project} BUDGET={math.ceil(highest * 100) / 100:.2f}"
        )
    return highest


def _deploy_environment(side: Side, found: Found) -> None:
    environment, *_ = programs(side.run)
    with _result(found, environment.name):
        side.prepare()
        side.up(environment)
        found.answers.update(answers_of(side, environment))


def _deploy_others(side: Side, found: Found) -> None:
    """Deploy the programs with jobs, and ask the questions. One that fails does not stop the others."""
    environment, *others = programs(side.run)
    for program in others:
        with _result(found, program.name):
            side.up(program)
            found.answers.update(answers_of(side, program))
    with _result(found, "questions"):
        (stack,) = (one for one in side.resources(environment) if one["type"].endswith(":Stack"))
        found.questions = questions.ask(side, stack["outputs"]["bucket"])


@contextmanager
def _result(found: Found, name: str) -> Iterator[None]:
    try:
        yield
        found.results[name] = "deployed"
    except (StackError, CloudError) as error:
        found.results[name] = str(error)
    _print(f"{name:14}{found.results[name]}")


def _google_side(options: Options, record: Record) -> Side:
    return Side(
        endpoint=Endpoint(kind="google", project=record.project, location=record.location),
        folder=options.folder / record.run / "google",
        run=record.run,
    )


def _clean_earlier(options: Options) -> float | None:
    """Delete what killed runs left. Return what they had counted, or None if something may still be left."""
    carried = 0.0
    is_clean = True
    for left in journal.unfinished(options.folder):
        if (left.project, left.location) != (options.project, options.location):
            where = replace(options, project=left.project, location=left.location)
            _print(f"Run {left.run} may have left something in another place: {_again(where)}")
            continue
        _print(f"Run {left.run} was interrupted; deleting what it left.")
        carried += left.counted
        is_clean = _clean(options, _google_side(options, left), left, killed=True) and is_clean
    return carried if is_clean else None


def _clean(options: Options, side: Side, record: Record, *, killed: bool) -> bool:
    """Delete what a run has created. Return whether nothing is left; then its journal has ended."""
    problems = cleanup.clean(side, killed=killed, report=_print)
    for problem in problems:
        _print(f"Not deleted: {problem}", error=True)
    if problems:
        _print(f"Delete it later: {_again(options)}", error=True)
    else:
        journal.end(options.folder, record)
    return not problems


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C and SIGTERM meanwhile: the end of a run deletes what costs money."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda *_: _print("Deleting what was created; this takes some minutes."))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _again(options: Options) -> str:
    return f"make verify-google PROJECT={options.project} LOCATION={options.location} CLEAN=1"


def _print(line: str, *, error: bool = False) -> None:
    stream = sys.stderr if error else sys.stdout
    stream.write(f"{line}\n")
    stream.flush()
