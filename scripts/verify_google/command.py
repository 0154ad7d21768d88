"""The command: what it asks, and the order in which it deploys, compares and cleans up."""

from __future__ import annotations

import datetime
import json
import math
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from scripts.verify_google import cleanup, journal, questions, rehearsal
from scripts.verify_google.answers import Answers, answers_of
from scripts.verify_google.budget import PENNIES, cost_of
from scripts.verify_google.comparison import compare
from scripts.verify_google.journal import Journal, JournalError
from scripts.verify_google.options import Options, parse
from scripts.verify_google.report import RECORDED, RecordingError, Report, record
from scripts.verify_google.sanitising import Sanitiser, secrets_in
from scripts.verify_google.stacks import Side, StackError, programs
from vertex_emulator.client.lookup import LauncherError


class RefusedError(Exception):
    """The run cannot begin; the text has the command that helps."""


def main(arguments: Sequence[str]) -> int:
    """Run the command. Return 0 if all is the same, 1 for a difference or a failure, 2 for wrong options."""
    options = parse(arguments)
    if options is None:
        return 2
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
    (folder / "emulator").mkdir(parents=True)
    with rehearsal.emulator(options.folder / "emulator") as found:
        endpoint = Endpoint(
            kind="emulator",
            project=options.project,
            location=options.location,
            url=found.url,
            token=found.token,
            data_dir=str(found.data_dir),
        )
        ours_on = Side(endpoint=endpoint, folder=folder / "emulator", run=run)
        ours_on.prepare()
        _print(f"Run {run}: {', '.join(each.name for each in programs(run))} against the emulator.")
        ours = _deploy_environment(ours_on)
        costs = _costs(ours_on)
        highest = sum(costs.values())
        for name, cost in (*costs.items(), ("together", highest)):
            _print(f"{name:14}at most ${cost:.2f}")
        if carried:
            _print(f"${carried:.2f} of an interrupted run count as well.")
        budget = _budget(options, highest + carried)
        if budget is None:
            return 1
        results = _deploy_jobs(ours_on, ours)
        asked_here = _ask(ours_on, results)
    if failed := {name: result for name, result in results.items() if result != "deployed"}:
        _print(f"A program that fails on the emulator is not sent to Google Cloud:\n{failed}", error=True)
        return 1
    log = Journal.begin(options.folder, run=run, project=options.project, location=options.location)
    if carried:
        log.write("reserved", usd=carried, reason="interrupted runs")
    for name, cost in costs.items():
        log.write("reserved", usd=cost, reason=name)
    theirs_on = _google_side(options, log, run)
    _print("The same against Google Cloud.")
    theirs: Answers = {}
    asked_there: Answers = {}
    try:
        theirs_on.prepare()
        theirs = _deploy_environment(theirs_on)
        results = _deploy_jobs(theirs_on, theirs)
        asked_there = _ask(theirs_on, results)
    except (StackError, CloudError) as error:
        results = {"environment": str(error)}
    finally:
        with _without_interrupts():
            is_clean = _clean(options, theirs_on, killed=False)
    report = Report(
        day=datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        location=options.location,
        results=Sanitiser(project=options.project, run=run).document(results),
        differences=compare(theirs, ours),
        questions=tuple(
            (each.asks, asked_there.get(each.name), asked_here.get(each.name)) for each in questions.QUESTIONS
        ),
        counted=highest + carried,
        budget=budget,
        notes=[] if is_clean else ["Not everything was deleted: see the end of the run's output."],
    )
    is_written = _write(options, folder, report, theirs)
    is_same = not report.unexplained and all(result == "deployed" for result in results.values())
    return 0 if is_clean and is_written and is_same else 1


def _deploy_environment(side: Side) -> Answers:
    environment, *_ = programs(side.run)
    side.up(environment)
    return answers_of(side, environment)


def _costs(side: Side) -> dict[str, float]:
    """Return the highest cost of each program. Their environment is deployed already, for pennies."""
    environment, *others = programs(side.run)
    costs = {environment.name: PENNIES, **{each.name: cost_of(side, each) for each in others}}
    return {**costs, "questions": questions.cost_of(side.endpoint.location)}


def _deploy_jobs(side: Side, answers: Answers) -> dict[str, str]:
    """Deploy the programs with jobs, and add their answers. Return the result of each: one may fail."""
    environment, *others = programs(side.run)
    results = {environment.name: "deployed"}
    for program in others:
        try:
            side.up(program)
            answers.update(answers_of(side, program))
            results[program.name] = "deployed"
        except (StackError, CloudError) as error:
            results[program.name] = str(error)
        _print(f"{program.name:14}{results[program.name]}")
    return results


def _ask(side: Side, results: dict[str, str]) -> Answers:
    """Return the answers to the questions, and add a result: a question fails only if it cannot be asked."""
    environment, *_ = programs(side.run)
    try:
        (stack,) = (one for one in side.resources(environment) if one["type"].endswith(":Stack"))
        found = questions.ask(side, stack["outputs"]["bucket"])
        results["questions"] = "deployed"
    except (StackError, CloudError) as error:
        found, results["questions"] = {}, str(error)
    _print(f"{'questions':14}{results['questions']}")
    return found


def _budget(options: Options, highest: float) -> float | None:
    """Return the budget that the run obeys, or None if it would exceed it or the user does not agree."""
    again = f"make verify-google PROJECT={options.project} BUDGET={math.ceil(highest * 100) / 100:.2f}"
    if options.budget is not None:
        if highest <= options.budget:
            return options.budget
        _print(f"\nThat exceeds ${options.budget:.2f}. Nothing was sent. To allow it: {again}", error=True)
        return None
    if options.rehearse:
        return highest
    if not sys.stdin.isatty():
        _print(f"\nNothing was sent. To deploy: {again}")
        return None
    sys.stdout.write(f"\nSpend at most ${highest:.2f} in project {options.project}? [y/N] ")
    sys.stdout.flush()
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return highest
    _print("Nothing was sent.")
    return None


def _google_side(options: Options, log: Journal, run: str) -> Side:
    return Side(
        endpoint=Endpoint(kind="google", project=options.project, location=options.location),
        folder=options.folder / run / "google",
        run=run,
        on_command=lambda process: log.write("command", process=process),
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
        carried += left.spent
        side = _google_side(options, Journal(left.path), left.run)
        is_clean = _clean(options, side, killed=True) and is_clean
    return carried if is_clean else None


def _clean(options: Options, side: Side, *, killed: bool) -> bool:
    """Delete what a run has created. Return whether nothing is left; its journal has then ended."""
    path = options.folder / f"{side.run}.jsonl"
    side = replace(side, on_command=lambda _process: None)
    result = cleanup.clean(side, journal.read(path), killed=killed, report=_print)
    for problem in result.problems:
        _print(f"Not deleted: {problem}", error=True)
    if result.problems:
        _print(f"Delete it later: {_again(options)}", error=True)
    if result.late_until:
        clock = datetime.datetime.fromtimestamp(result.late_until).astimezone().strftime("%H:%M")
        _print(f"Requests of the killed command may still create something. After {clock}: {_again(options)}")
    if result.is_complete:
        Journal(path).write("ended")
    return result.is_complete


def _write(options: Options, folder: Path, report: Report, theirs: Answers) -> bool:
    """Write the report and the answers, which name nothing of the account."""
    words = (options.project, folder.name)
    if secrets := secrets_in(report.json(), words=words):
        places = "; ".join(dict.fromkeys(map(str, secrets)))
        note = f"Do not publish this report. It may name something of your account: {places}."
        report = replace(report, notes=[note, *report.notes])
    (folder / "report.json").write_text(json.dumps(report.json(), indent=1) + "\n", encoding="utf-8")
    (folder / "report.md").write_text(report.markdown(), encoding="utf-8")
    _print("")
    for name, result in report.results.items():
        _print(f"{name:14}{result}")
    _print(f"{len(report.unexplained)} fields differ. Counted ${report.counted:.2f} of ${report.budget:.2f}.")
    _print(f"Report: {folder / 'report.md'}")
    for path in (folder / "answers.json", *([RECORDED] if options.record else [])):
        try:
            record(path, theirs, location=options.location, day=report.day, words=words)
        except RecordingError as error:
            private = folder / "answers-private.json"
            private.touch(mode=0o600)
            private.write_text(json.dumps(theirs, indent=1) + "\n", encoding="utf-8")
            _print(f"{error}\nThe answers are in {private}, for you alone.", error=True)
            return False
    return True


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
