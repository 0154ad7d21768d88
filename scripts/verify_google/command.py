"""The command: what it takes, what it asks, and the order in which it spends and cleans up."""

from __future__ import annotations

import contextlib
import datetime
import json
import math
import shutil
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from pulumi_vertex_training.cloud.endpoint import Endpoint
from scripts.verify_google import cleanup, journal, preflight, recording, report, sides
from scripts.verify_google.budget import Budget
from scripts.verify_google.cases.case import Case
from scripts.verify_google.comparison import CaseResult, compare
from scripts.verify_google.journal import Journal, JournalError, Record
from scripts.verify_google.options import Options, parse
from scripts.verify_google.plan import Plan, make_plan, table
from scripts.verify_google.preflight import PreflightError
from scripts.verify_google.prices import PRICES, UnknownPriceError
from scripts.verify_google.recorder import Pace
from scripts.verify_google.sanitising import secrets_in
from vertex_emulator.lookup import LauncherError

_EMULATOR_PACE = Pace(poll_seconds=0.2, limit_seconds=300.0)


@dataclass(frozen=True, kw_only=True)
class Services:
    """The two endpoints. Tests put an emulator in the place of Google Cloud."""

    google: Endpoint
    google_pace: Pace = Pace()  # noqa: RUF009  frozen
    emulator: Endpoint | None = None
    """The run starts an emulator of its own, and deletes it at the end, if this is None."""


def main(arguments: Sequence[str], *, services: Services | None = None) -> int:
    """Run the command. Return 0 if all is the same, 1 for a difference or a failure, 2 for wrong options."""
    options = parse(arguments)
    if options is None:
        return 2
    say = _say
    google = Endpoint(kind="google", project=options.project, location=options.location)
    services = services or Services(google=google)
    _signals()
    try:
        preflight.check_environment(services.google)
        with journal.exclusive(options.folder):
            if options.clean:
                return _clean(options, services)
            return _verify(options, services)
    except (PreflightError, JournalError, UnknownPriceError, LauncherError) as error:
        say(f"\n{error}", error=True)
        return 1
    except KeyboardInterrupt:
        say("\nInterrupted. What may be left is deleted by:", error=True)
        say(f"  make verify-google PROJECT={options.project} LOCATION={options.location} CLEAN=1", error=True)
        return 130


def _verify(options: Options, services: Services) -> int:
    left = _clean_journals(options, services)
    carried = sum(record.spent for record in left if not record.ended)
    plan = make_plan(options.cases, location=options.location, budget=options.budget, carried=carried)
    _say(table(plan, options.cases))
    prices = next(each for each in PRICES if each.location == options.location)
    _say(f"Prices of {prices.checked}, {prices.source}")
    if carried:
        _say(f"${carried:.2f} of an interrupted run count as well.")
    if not plan.cases:
        _say(f"\nNo case fits into ${options.budget or 0:.2f}. Nothing was sent.", error=True)
        return 1
    if options.budget is None:
        if not _agrees(options, plan):
            return 0
        options = replace(options, budget=plan.highest + carried)
    preflight.check_service(services.google)
    run = journal.new_run()
    log = Journal.begin(
        options.folder,
        run=run,
        project=options.project,
        location=options.location,
        budget=options.budget or 0.0,
    )
    budget = Budget(options.budget or 0.0, log, carried=carried)
    if carried:
        log.write("reserved", usd=carried, reason="interrupted runs")
    for record in left:
        _end(options.folder, record)
    return _run(options, services, plan, log=log, budget=budget, run=run)


def _run(options: Options, services: Services, plan: Plan, *, log: Journal, budget: Budget, run: str) -> int:
    folder = options.folder / run
    folder.mkdir()
    side = sides.Side(
        endpoint=services.google, run=run, journal=log, budget=budget, pace=services.google_pace
    )
    try:
        with _emulator(options, services) as emulator:
            _say(f"\nRun {run}: {len(plan.cases)} cases against the emulator, then against Google Cloud.")
            ours = _on_emulator(plan.cases, emulator, folder, run)
        # A case that fails on the emulator would waste the money.
        sound = [case for case in plan.cases if ours[case.name].outcome == "answered"]
        theirs = sides.run_cases(
            sound,
            side,
            on_result=_print_result("Google Cloud"),
            on_interrupt=lambda: _say("Waiting for the calls in flight; then everything is deleted."),
        )
    finally:
        cleaned = _clean_run(options, services, log.path, ignore_interrupts=True)
    log.write("ended")
    for case in plan.cases:
        skipped = CaseResult(case=case.name, outcome="not run", reason="it failed on the emulator")
        theirs.setdefault(case.name, skipped)
    comparisons = [compare(theirs[case.name], ours[case.name], case.allowed) for case in plan.cases]
    found = report.Findings(
        day=_today(),
        location=options.location,
        cases=options.cases,
        comparisons=comparisons,
        left_out=plan.left_out,
        costs=report.Costs(budget=budget.limit, counted=budget.reserved, estimated=sum(side.used.values())),
        notes=[] if cleaned else ["Not everything was deleted: see the end of the run's output."],
    )
    return _write(options, found, theirs, folder, is_clean=cleaned)


def _on_emulator(cases: Sequence[Case], emulator: Endpoint, folder: Path, run: str) -> dict[str, CaseResult]:
    """Run the cases on the emulator, which costs nothing: its journal is thrown away with it."""
    log = Journal.begin(
        folder / "emulator", run=run, project=emulator.project, location=emulator.location, budget=0.0
    )
    side = sides.Side(
        endpoint=emulator, run=run, journal=log, budget=Budget(sys.maxsize, log), pace=_EMULATOR_PACE
    )
    try:
        return sides.run_cases(cases, side, on_result=_print_result("the emulator"))
    finally:
        shutil.rmtree(folder / "emulator")


def _write(
    options: Options, found: report.Findings, theirs: dict[str, CaseResult], folder: Path, *, is_clean: bool
) -> int:
    words = (options.project, folder.name)
    if secrets := secrets_in(report.as_json(found), words=words):
        places = "; ".join(dict.fromkeys(map(str, secrets)))
        note = f"Do not publish this report. It may name something of your account: {places}."
        found = replace(found, notes=[note, *found.notes])
    made = report.as_json(found)
    (folder / "report.json").write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    (folder / "report.md").write_text(report.markdown(found), encoding="utf-8")
    answers = recording.document(theirs, location=options.location, day=found.day)
    is_recorded = _record(options, answers, folder, words=words)
    _say("")
    for each in found.comparisons:
        _say(f"{each.case:18}{report.word(each)}")
    for name in found.left_out:
        _say(f"{name:18}not run: beyond the budget")
    costs = found.costs
    _say(
        f"\nCounted ${costs.counted:.2f} of ${costs.budget:.2f}; "
        f"by the times of the jobs ${costs.estimated:.2f}."
    )
    _say(f"Report: {folder / 'report.md'}")
    if is_recorded:
        _say(f"Answers: {folder / 'answers.json'}")
    return 0 if is_clean and is_recorded and not found.differing and not found.failed else 1


def _record(options: Options, answers: recording.Json, folder: Path, *, words: tuple[str, ...]) -> bool:
    """Write the answers. What may name something of the account goes into a private file instead."""
    try:
        recording.write(folder / "answers.json", answers, words=words)
        if options.record is not None:
            recording.write(options.record, answers, words=words)
    except recording.RecordingError as error:
        private = folder / "answers-private.json"
        private.touch(mode=0o600)
        private.write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")
        _say(f"{error}\nThe answers are in {private}, for you alone.", error=True)
        return False
    return True


def _clean(options: Options, services: Services) -> int:
    """Delete what earlier runs left, and end them."""
    records = _clean_journals(options, services, report_nothing=True)
    for record in records:
        _end(options.folder, record)
    pending = [each for path in journal.journals(options.folder) for each in journal.read(path).creations]
    return 1 if pending else 0


def _clean_journals(options: Options, services: Services, *, report_nothing: bool = False) -> list[Record]:
    """Clean up after all earlier runs in this project and location. Return the records of unfinished runs."""
    unfinished = []
    count = 0
    for path in journal.journals(options.folder):
        record = journal.read(path)
        if (record.project, record.location) != (options.project, options.location):
            if record.creations:
                _say(
                    f"Run {record.run} left something in another place: make verify-google "
                    f"PROJECT={record.project} LOCATION={record.location} CLEAN=1"
                )
            continue
        if record.creations:
            count += 1
            _say(f"Run {record.run} was interrupted; deleting what it left.")
            preflight.check_service(services.google)
            _clean_run(options, services, path)
        if not record.ended:
            unfinished.append(record)
    if report_nothing and not count:
        _say("Nothing is left of earlier runs.")
    return unfinished


def _clean_run(options: Options, services: Services, path: Path, *, ignore_interrupts: bool = False) -> bool:
    """Delete what a run has created. Return whether nothing is left."""
    with _without_interrupts() if ignore_interrupts else contextlib.nullcontext():
        log = Journal(path)
        cleaner = cleanup.Cleaner(
            endpoint=services.google,
            record=journal.read(path),
            journal=log,
            pace=services.google_pace,
            say=_say,
        )
        result = cleaner.clean()
    again = f"make verify-google PROJECT={options.project} LOCATION={options.location} CLEAN=1"
    for problem in result.problems:
        _say(f"Not deleted: {problem}", error=True)
    if result.problems:
        _say(f"Delete it later: {again}", error=True)
    if result.late:
        until = max(each.at for each in result.late) + cleanup.LATE_SECONDS
        clock = datetime.datetime.fromtimestamp(until).astimezone().strftime("%H:%M")
        kinds = ", ".join(sorted({each.kind for each in result.late}))
        _say(
            f"Requests without an answer may still create something ({kinds}). Look again after {clock}: "
            f"{again}",
            error=True,
        )
    return result.is_complete


def _end(folder: Path, record: Record) -> None:
    log = Journal(folder / f"{record.run}.jsonl")
    log.write("ended")


@contextmanager
def _emulator(options: Options, services: Services) -> Iterator[Endpoint]:
    """Yield an emulator with the same project and location, in a folder that is deleted at the end."""
    if services.emulator is not None:
        yield services.emulator
        return
    from vertex_emulator import launcher

    folder = options.folder / "emulator"
    try:
        launcher.stop(folder)  # that of a killed run
        _remove_data(folder)
        found = launcher.ensure(folder)
        yield Endpoint(
            kind="emulator",
            project=options.project,
            location=options.location,
            url=found.url,
            token=found.token,
            data_dir=str(folder),
        )
    finally:
        launcher.stop(folder)
        _remove_data(folder)


def _remove_data(folder: Path) -> None:
    """Remove the data folder of an emulator. Any other folder stays, and the next start refuses it."""
    from vertex_emulator.kernel import ownership

    with contextlib.suppress(ownership.DataFolderError):
        if ownership.is_own(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _agrees(options: Options, plan: Plan) -> bool:
    """Ask whether to spend what the plan costs at most. Without a terminal, print how to agree."""
    again = f"make verify-google PROJECT={options.project} BUDGET={math.ceil(plan.highest * 100) / 100:.2f}"
    if options.yes:
        return True
    if not sys.stdin.isatty():
        _say(f"\nNothing was sent. To run the cases: {again}")
        return False
    sys.stdout.write(f"\nSpend at most ${plan.highest:.2f} in project {options.project}? [y/N] ")
    sys.stdout.flush()
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return True
    _say("Nothing was sent.")
    return False


def _print_result(side: str) -> sides.OnResult:
    def say(result: CaseResult) -> None:
        reason = f": {result.reason}" if result.reason else ""
        _say(f"{result.case:18}{result.outcome} by {side}{reason}")

    return say


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C and SIGTERM meanwhile: the end of a run deletes what costs money."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda *_: _say("Deleting what was created; this takes a moment."))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _signals() -> None:
    """Let SIGTERM interrupt as Ctrl-C does."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)


def _today() -> str:
    return datetime.datetime.now(datetime.timezone.utc).date().isoformat()


_SAYING = threading.Lock()


def _say(line: str, *, error: bool = False) -> None:
    with _SAYING:
        stream = sys.stderr if error else sys.stdout
        stream.write(line + "\n")
        stream.flush()
