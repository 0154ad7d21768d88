"""Why a job failed: the cause and the remedy, from the service's error and the job's log."""

from __future__ import annotations

import dataclasses
import re
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pulumi_vertex_training.cloud import emulator_api, logs
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.cloud.logs import LogEntry
from pulumi_vertex_training.runs.diagnosis import image_packages, silence
from pulumi_vertex_training.runs.diagnosis.causes import CAUSES, LOST_MACHINES, STALLED, WHAT, Cause
from pulumi_vertex_training.runs.diagnosis.plain_text import lines_of, shortened
from pulumi_vertex_training.runs.gateway import gateway_of
from pulumi_vertex_training.runs.monitoring.ends import message_of, timed_out
from vertex_emulator import machine_clock

LINES = 15
"""The number of log lines in a diagnosis."""

SEARCHED = 60
"""The number of last log lines that are searched for a cause."""

_LINE_LENGTH = 300
_NAME_LENGTH = 200

# Vertex AI's words. The emulator's begin alike (`vertex_emulator/jobs/custom`).
_REPLICA = re.compile(r"\bThe replica (?P<replica>[\w-]+) ")
_EXIT = re.compile(r"\bexited with a non-zero status of (?P<code>-?\d+)")
_TAIL = re.compile(r"\nThe last lines of (?P<of>its log|pip):\n")
_POINTER = re.compile(r"\s*To find out more about why your job exited please check the logs:.*", re.DOTALL)
_EMPTY_REASON = re.compile(r"\s*Termination reason: Error\.")


@dataclass(frozen=True, kw_only=True)
class Failure:
    """The parts of the service's error.

    `words` are its sentences without log lines and without the link to the logs; `replica` and `exit_code`
    are those that it names; `lines` are the lines of the replica's log, or with `of_pip` those of pip, that
    came with it: only the emulator sends any.
    """

    words: str
    replica: str | None = None
    exit_code: int | None = None
    lines: tuple[str, ...] = ()
    of_pip: bool = False


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """The diagnosis of a failure.

    `exit` is the exit code in words, `cause` completes "Likely cause: ", `remedy` is a sentence; all three
    are "" if nothing is known. `kind` is the name of the cause's row, "" without one. `exception` is what
    ended the program, such as "ValueError: no data", or "". `lines` are the last of the failing replica, or
    with `of_pip` of the pip that could not install its packages, plain and bounded.
    """

    words: str
    replica: str | None = None
    exit_code: int | None = None
    exit: str = ""
    kind: str = ""
    cause: str = ""
    remedy: str = ""
    exception: str = ""
    lines: tuple[str, ...] = ()
    of_pip: bool = False
    unread: str = ""
    """Why there are no lines, if the log could not be read."""


def take_apart(message: str) -> Failure:
    """Return the parts of a job's error message. If it names several replicas, the first counts."""
    tail = _TAIL.search(message)
    text, rest = (message[: tail.start()], message[tail.end() :]) if tail else (message, "")
    lines = [line.removeprefix("    ") for line in _POINTER.sub("", rest).split("\n")] if rest else []
    while lines and not lines[-1].strip():
        lines.pop()
    words = _EMPTY_REASON.sub("", _POINTER.sub("", text)).strip()
    replica, code = _REPLICA.search(words), _EXIT.search(words)
    return Failure(
        words=words,
        replica=replica["replica"] if replica else None,
        exit_code=int(code["code"]) if code else None,
        lines=tuple(lines),
        of_pip=tail is not None and tail["of"] == "pip",
    )


def without_log(message: str, *, of_pip: bool = True) -> str:
    """Return an error message, or a line of the service about it, without the lines of a log.

    With `of_pip`, it is also without the lines of pip, which no log has.
    """
    tail = _TAIL.search(message)
    return message[: tail.start()] if tail and (of_pip or tail["of"] != "pip") else message


def diagnose(
    message: str, *, exit_code: int | None = None, lines: Sequence[str] = (), has_started: bool = False
) -> Diagnosis:
    """Return the diagnosis of a failed job.

    `message` is the job's error, `exit_code` overrides the one that it names, `lines` are the last lines of
    the failing replica, oldest first; without any, those in the message count. `has_started`: whether the job
    has a start time, so that it had machines.
    """
    failure = take_apart(message)
    code = exit_code if exit_code is not None else failure.exit_code
    shown = [line for entry in (lines or failure.lines) for line in lines_of(entry, length=_LINE_LENGTH)]
    words = " ".join(" ".join(lines_of(failure.words, length=4 * _LINE_LENGTH)).split())
    kind, cause, remedy = _cause(words, code, shown[-SEARCHED:], has_started=has_started)
    return Diagnosis(
        words=words,
        replica=failure.replica,
        exit_code=code,
        exit=exit_in_words(code),
        kind=kind,
        cause=cause,
        remedy=remedy,
        exception="" if failure.of_pip and not lines else _exception(shown[-SEARCHED:]),
        lines=tuple(shown[-LINES:]),
        of_pip=failure.of_pip and not lines,
    )


def exit_in_words(code: int | None) -> str:
    """Return an exit code in words, or "" for a plain one.

    137 and -9 are "ended by the signal SIGKILL".
    """
    if code is None:
        return ""
    number = -code if code < 0 else code - 128
    try:
        return f"ended by the signal {signal.Signals(number).name}" if number > 0 else ""
    except ValueError:
        return ""


def report(diagnosis: Diagnosis, *, label: str, state: str, logs: str, with_lines: bool = True) -> str:
    """Return a message for people: the failure, the log's end, the likely cause, the command for the logs.

    `label` is such as "custom job 123", `state` a word such as "FAILED", `logs` the command for the logs.
    `with_lines` is false if the log has been shown already.
    """
    words = diagnosis.words or "the service gives no reason"
    if diagnosis.exit and not re.search(r"\bSIG[A-Z]+", words):
        words += f" It was {diagnosis.exit}."
    text = f"{label} {state}: {words}"
    if diagnosis.lines and with_lines:
        source = "pip" if diagnosis.of_pip else diagnosis.replica or "its log"
        text += f"\nThe last lines of {source}:" + "".join(f"\n    {line}" for line in diagnosis.lines)
    elif diagnosis.unread:
        text += f"\nThe log could not be read: {diagnosis.unread}"
    if diagnosis.cause:
        text += f"\nLikely cause: {diagnosis.cause}. {diagnosis.remedy}"
    return f"{text}\nAll logs: {logs}"


def _cause(words: str, code: int | None, lines: Sequence[str], *, has_started: bool) -> tuple[str, str, str]:
    for cause in (LOST_MACHINES, *CAUSES) if has_started else CAUSES:
        if found := _first(cause.service, words):
            if found.groupdict().get("what") is None:  # the log may name it
                found = next(filter(None, (_first(cause.log, line) for line in _suspects(lines))), found)
            return _filled(cause, found)
    for line in _suspects(lines):
        for cause in CAUSES:
            if _may_be(cause, code) and (found := _first(cause.log, line)):
                return _filled(cause, found)
    for cause in CAUSES:
        if code is not None and code in cause.exits:
            return cause.name, cause.exits[code], cause.remedy
    return "", "", ""


def _suspects(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines that are searched for a cause, the last first: the fatal error is at the end.

    The program survived everything before the last traceback, unless that traceback refers to another one.
    """
    last = ""
    for number in range(len(lines) - 1, -1, -1):
        line = lines[number]
        if line.lstrip().startswith("Traceback (most recent call last)"):
            before = next((one for one in reversed(lines[:number]) if one.strip()), "")
            if not (_CHAINED.search(before) or _OF_A_CHILD.search(last)):
                return
            last = ""
        elif line.strip():
            last = last or line
            yield line


def _exception(lines: Sequence[str]) -> str:
    """Return the last line of the exception that ended the program; "" without a traceback.

    A launcher's exception about its child is passed over for the child's own.
    """
    if not any(map(_TRACEBACK.search, lines)):
        return ""
    found = [match[1] for line in _suspects(lines) if (match := _EXCEPTION.match(line))]
    own = (one for one in found if not _OF_A_CHILD.search(one))
    return next(own, found[0] if found else "")


def _may_be(cause: Cause, code: int | None) -> bool:
    """Return whether a program that ended with this code can have the cause that its log suggests."""
    if code == _KILLED:  # SIGKILL leaves no time for a message
        return cause.name in _BEFORE_A_KILL
    return code != _TERMINATED


_KILLED, _TERMINATED = 128 + signal.SIGKILL, 128 + signal.SIGTERM
_BEFORE_A_KILL = ("out_of_memory", "accelerator_memory", "disk_full", "shared_memory")
_CHAINED = re.compile(r"another exception occurred:$|direct cause of the following exception:$|^\s*\"\"\"$")
_TRACEBACK = re.compile(r"Traceback \(most recent call last\)|^\s*File \".*\", line \d+")
_EXCEPTION = re.compile(
    r"(?:[\w/-]+: )?"  # the replica
    r"((?:(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Interrupt|Exit)|(?:[A-Za-z_]\w*\.)+[A-Z]\w*)(?::.*|$))"
)
_OF_A_CHILD = re.compile(r"ChildFailedError|CalledProcessError|ProcessRaisedException|RemoteError")


def _first(patterns: Iterable[re.Pattern[str]], text: str) -> re.Match[str] | None:
    return next((found for pattern in patterns if (found := pattern.search(text))), None)


def _filled(cause: Cause, found: re.Match[str]) -> tuple[str, str, str]:
    groups: Mapping[str, str | None] = found.groupdict()
    what = groups.get("what")
    if what is None:
        return cause.name, cause.unnamed or cause.says, cause.remedy
    return cause.name, cause.says.replace(WHAT, shortened(what.strip(), _NAME_LENGTH)), cause.remedy


LOOKS = 3
"""The most attempts to read a log that has nothing yet: Cloud Logging is some seconds late."""

_PAUSE_SECONDS = 3.0
_MOST_SILENCES = 1000
_OF_SILENCE = (STALLED.name, "unreachable")
"""The causes after which the lines of silent replicas are read."""
_EMULATOR_NOTICE = "NOTICE"


def has_failed(record: JobRecord) -> bool:
    """Return whether there is a failure to diagnose: neither a success nor a cancellation on purpose."""
    return record.state.is_terminal and (
        record.state.word not in ("SUCCEEDED", "CANCELLED") or timed_out(record)
    )


def examine(
    endpoint: Endpoint,
    record: JobRecord,
    *,
    pause: Callable[[float], None] = machine_clock.sleep,
    mask: Callable[[str], str] = str,
) -> Diagnosis:
    """Return why the job failed. Raise nothing. `mask` removes secrets from each message and log entry.

    A log that cannot be read in time is a remark in the diagnosis. No call is made if the service's error has
    the lines, as the emulator's has, or explains itself, as one about a quota does; else at most `LOOKS`.
    A module that is missing on the emulator takes two calls more.
    """
    found = _examined(endpoint, record, pause, mask)
    if not endpoint.is_emulator or found.kind not in image_packages.KINDS:
        return found
    return _with_stand_in(endpoint, record, found)


def _with_stand_in(endpoint: Endpoint, record: JobRecord, diagnosis: Diagnosis) -> Diagnosis:
    """Return the diagnosis of a missing module with the emulator's remedy, if an image of Google has it."""

    def read() -> Sequence[LogEntry]:
        job_id = _failed_job(endpoint, record)
        if job_id is None:
            return ()
        task, words = diagnosis.replica, image_packages.NOTICE
        return logs.newest(endpoint, job_id, count=LINES, task=task, words=words)

    try:
        entries = _within(endpoint.timeouts.diagnosis, read)
        notices = [one.message for one in entries if one.severity == _EMULATOR_NOTICE]
        name = image_packages.missing_distribution(diagnosis.cause, notices)
        python = emulator_api.python(endpoint) if name is not None else ""
    except (CloudError, TimeoutError):
        return diagnosis
    if name is None:
        return diagnosis
    return dataclasses.replace(diagnosis, remedy=image_packages.remedy(name, python))


def _examined(
    endpoint: Endpoint,
    record: JobRecord,
    pause: Callable[[float], None],
    mask: Callable[[str], str],
) -> Diagnosis:
    message = mask(message_of(record))
    has_started = bool(record.start_time)
    failure, alone = take_apart(message), diagnose(message, has_started=has_started)
    if alone.kind in _OF_SILENCE:
        return _with_silences(endpoint, record, alone, mask)
    if failure.lines or not has_failed(record) or (failure.replica is None and alone.kind):
        return alone
    try:
        entries = _within(
            endpoint.timeouts.diagnosis, lambda: _last_entries(endpoint, record, failure.replica, pause)
        )
    except (CloudError, TimeoutError) as error:
        return dataclasses.replace(alone, unread=str(error))
    found = diagnose(
        message,
        lines=[mask(one.message if failure.replica else f"{one.task}: {one.message}") for one in entries],
        has_started=has_started,
    )
    return _with_silences(endpoint, record, found, mask) if found.kind in _OF_SILENCE else found


def _with_silences(
    endpoint: Endpoint, record: JobRecord, diagnosis: Diagnosis, mask: Callable[[str], str]
) -> Diagnosis:
    """Return the diagnosis of a stalled job with all silent replicas; unchanged if none can be read.

    The service names the replica that exited first, which may have waited for another one, or have lost its
    connection to one that exited.
    """
    job_id = _failed_job(endpoint, record)

    def read() -> Sequence[LogEntry]:
        return logs.newest(endpoint, job_id, count=_MOST_SILENCES, words=silence.WORDS) if job_id else ()

    try:
        entries = _within(endpoint.timeouts.diagnosis, read)
    except (CloudError, TimeoutError):
        entries = ()
    found = silence.silences(mask(entry.message) for entry in entries)
    if not found:
        return diagnosis
    cause = silence.in_words(found)
    return dataclasses.replace(diagnosis, kind=STALLED.name, cause=cause, remedy=STALLED.remedy)


def _last_entries(
    endpoint: Endpoint, record: JobRecord, replica: str | None, pause: Callable[[float], None]
) -> Sequence[LogEntry]:
    """Return the last log entries of the job, or of the first failed job that it ran."""
    job_id = _failed_job(endpoint, record)
    if job_id is None:
        return ()
    found: Sequence[LogEntry] = ()
    for look in range(LOOKS):
        found = logs.newest(endpoint, job_id, count=max(LINES, SEARCHED), task=replica)
        if found or endpoint.is_emulator:
            break
        if look + 1 < LOOKS:
            pause(_PAUSE_SECONDS)
    # The error contains the service's own entries; the emulator's notice is about the image.
    return [entry for entry in found if entry.task and entry.severity != _EMULATOR_NOTICE]


def _failed_job(endpoint: Endpoint, record: JobRecord) -> str | None:
    """Return the id of the job, or of the first failed job that it ran, whose log has the reason."""
    sources = gateway_of(record.name).log_sources(endpoint, record)
    return next((one.job_id for one in sources if one.failed), sources[-1].job_id if sources else None)


def _within(seconds: float, work: Callable[[], Sequence[LogEntry]]) -> Sequence[LogEntry]:
    """Return the result of the work. Raise its error, or TimeoutError; the thread then goes on."""
    results: list[Sequence[LogEntry]] = []
    errors: list[CloudError] = []

    def run() -> None:
        try:
            results.append(work())
        except CloudError as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="post-mortem", daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not results:
        raise TimeoutError(f"no answer in {seconds:g} s")
    return results[0]
