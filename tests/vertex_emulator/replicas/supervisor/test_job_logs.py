"""The logs of jobs: what is written, and what Cloud Logging's clients read."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from support.emulated.job_emulator import (
    SLEEP,
    JobEmulator,
    Token,
    job_id,
    messages,
    pool,
    raise_flag,
    running_jobs,
    wait_for_flags,
)
from support.waiting import eventually
from vertex_emulator.job_folder.logs import MAX_MESSAGE, LogWriter, read
from vertex_emulator.kernel import times
from vertex_emulator.replicas.sandbox.sandbox import Sandbox


def just_after(time_of_entry: str) -> str:
    return times.text(times.parse(time_of_entry) + timedelta(microseconds=1))


def test_lines_in_and_entries_out(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path / "workerpool0-0.jsonl")
    writer.feed("INFO", b"one\ntw")
    writer.feed("ERROR", b"between\r\n\n")
    writer.feed("INFO", "o \u00e9\n".encode()[:-2])
    writer.feed("INFO", "o \u00e9\n".encode()[-2:])
    writer.feed("INFO", b"\xff\x00binary\n" + b"x" * (2 * MAX_MESSAGE + 1))
    writer.feed("INFO", b"y\nno end")
    writer.close()
    entries = list(read(tmp_path / "workerpool0-0.jsonl"))
    assert [(entry.severity, entry.message) for entry in entries] == [
        ("INFO", "one"),
        ("ERROR", "between"),
        ("ERROR", ""),
        ("INFO", "two \u00e9"),
        ("INFO", "\ufffd\0binary"),
        ("INFO", "x" * MAX_MESSAGE),
        ("INFO", "x" * MAX_MESSAGE),
        ("INFO", "xy"),
        ("INFO", "no end"),
    ]
    assert [entry.number for entry in entries] == list(range(9))
    times = [entry.time for entry in entries]
    assert times == sorted(set(times))
    assert writer.tail()[-2:] == ("xy", "no end")


def test_a_progress_bar_that_is_longer_than_an_entry_keeps_its_last_state(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path / "workerpool0-0.jsonl")
    for done in range(MAX_MESSAGE):
        writer.feed("ERROR", f"\r{done:9}/{MAX_MESSAGE}".encode())
    writer.feed("ERROR", b"\n")
    writer.feed("INFO", b"\r10%\r20%\n")
    writer.close()
    bar, short = read(tmp_path / "workerpool0-0.jsonl")
    assert len(bar.message) <= MAX_MESSAGE
    assert bar.message.rpartition("\r")[2].strip() == f"{MAX_MESSAGE - 1}/{MAX_MESSAGE}"
    assert short.message == "\r10%\r20%"


def test_a_full_disk_costs_lines_and_nothing_else(tmp_path: Path) -> None:
    writer = LogWriter(Path("/dev/full"))
    writer.feed("INFO", b"one\ntwo\n")
    writer.write("three")
    room = (tmp_path / "t.jsonl").open("w")
    os.dup2(room.fileno(), writer._file)
    room.close()
    writer.feed("INFO", b"four\n")
    writer.close()
    found = [entry.message for entry in read(tmp_path / "t.jsonl")]
    assert found == ["Emulator: 3 lines were lost, the disk was full.", "four"]
    assert writer.tail() == ("one", "two", "four")


def test_half_a_line_in_the_middle_costs_itself_only(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    writer = LogWriter(path)
    writer.feed("INFO", b"one\ntwo\nthree\n")
    writer.close()
    one, two, three = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(one + two[:50] + b"\n\n" + three)
    entries = list(read(path))
    assert [entry.message for entry in entries] == ["one", "three"]
    assert list(read(path, descending=True)) == entries[::-1]
    for entry, expected in zip(entries, (entries, entries[1:]), strict=True):
        assert list(read(path, since=entry.time)) == expected


def test_reading_from_a_time_and_backwards(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    writer = LogWriter(path)
    for number in range(500):
        writer.feed("INFO", f"line {number} {'x' * (number % 300)}\n".encode())
    writer.close()
    with path.open("ab") as file:
        file.write(b'{"t":"2998-01-01T00:00:00.000000Z","s":"INFO","n":999,"m":"half a li')
    entries = list(read(path))
    assert len(entries) == 500
    assert list(read(path, descending=True)) == entries[::-1]
    for number in (0, 1, 17, 250, 498, 499):
        at = entries[number].time
        assert list(read(path, since=at)) == entries[number:]
        assert list(read(path, since=just_after(at))) == entries[number + 1 :]
        assert list(read(path, since=at, descending=True)) == entries[number:][::-1]
    assert list(read(path, since="2000-01-01T00:00:00.000000Z")) == entries
    assert list(read(path, since="2999-01-01T00:00:00.000000Z")) == []
    assert list(read(tmp_path / "none.jsonl")) == []


def test_a_log_has_a_bound(tmp_path: Path, sandbox: Sandbox) -> None:
    code = "for number in range(20000): print(number, 'x' * 100)\nraise SystemExit('the end')"
    with running_jobs(tmp_path, sandbox=sandbox, log_limit=100_000) as emulator:
        name = emulator.create(pool(code))
        ended = emulator.wait(name)
        said = emulator.printed(name)
        assert said[-1] == "Emulator: the log has reached 100000 bytes; further lines are dropped."
        assert said[0].startswith("0 x")
        assert (emulator.folder(name) / "logs/workerpool0-0.jsonl").stat().st_size < 110_000
        assert "    the end\n" in ended["error"]["message"], "the end of the log is in the error all the same"


def test_severities_order_and_labels(emulator: JobEmulator) -> None:
    code = (
        "import os, sys, time\n"
        "def say(stream, *words):\n"
        "    print(*words, file=stream, flush=True)\n"
        "    while '-'.join(map(str, words)) not in os.listdir('/gcs/flags'): time.sleep(0.01)\n"
        "for number in range(3):\n"
        "    say(sys.stdout, 'out', number)\n"
        "    say(sys.stderr, 'err', number)\n"
    )
    name = emulator.create(pool(code + wait_for_flags("done")), pool(code + raise_flag("done")))
    # The order between the two streams is that in which they are read: each line waits for the one before.
    for line in [f"{word} {number}" for number in range(3) for word in ("out", "err")]:
        eventually(lambda text=line: messages(emulator.entries(name)).count(text) == 2)
        (emulator.flags / line.replace(" ", "-")).touch()
    emulator.wait(name)
    entries = emulator.entries(name)
    order = [(entry["timestamp"], entry["insertId"]) for entry in entries]
    assert order == sorted(order) and len(set(order)) == len(order)
    tasks = {entry["resource"]["labels"]["task_name"] for entry in entries}
    assert tasks == {"service", "workerpool0-0", "workerpool1-0"}
    chief = emulator.entries(name, 'resource.labels.task_name="workerpool0-0" AND NOT severity=NOTICE')
    assert [(each["severity"], each["jsonPayload"]["message"]) for each in chief] == [
        (severity, f"{word} {number}")
        for number in range(3)
        for severity, word in (("INFO", "out"), ("ERROR", "err"))
    ]
    assert chief[0]["resource"] == {
        "type": "ml_job",
        "labels": {"job_id": job_id(name), "project_id": "local", "task_name": "workerpool0-0"},
    }
    assert chief[0]["logName"] == "projects/local/logs/workerpool0-0"
    errors = emulator.entries(name, "severity>=ERROR")
    assert sorted(messages(errors)) == sorted([f"err {number}" for number in range(3)] * 2)
    found = emulator.entries(name, 'jsonPayload.message:"OUT 2"')
    assert messages(found) == ["out 2", "out 2"]


def test_pages_in_both_directions(emulator: JobEmulator) -> None:
    count = "print(*range(50), sep='\\n', flush=True)"
    name = emulator.create(pool(f"{count}\n{wait_for_flags('done')}"), pool(f"{count}\n{raise_flag('done')}"))
    emulator.wait(name)
    everything = emulator.entries(name)
    assert len(everything) > 90
    for size in (1, 7, 1000):
        assert emulator.entries(name, pageSize=size) == everything
    assert emulator.entries(name, orderBy="timestamp desc", pageSize=9) == everything[::-1]
    middle = everything[40]
    later = emulator.entries(name, f'timestamp>"{middle["timestamp"]}"')
    assert later == [each for each in everything if each["timestamp"] > middle["timestamp"]]


def test_pages_are_of_one_moment(emulator: JobEmulator) -> None:
    """Stop the clock: lines written between two pages are older than the end of the first page."""
    emulator.call("POST", "/_local/clock/freeze", {})
    few = f"print(*range(3), sep='\\n', flush=True)\n{raise_flag('few')}\n{wait_for_flags('go')}\n"
    many = f"{wait_for_flags('few')}\nprint(*range(100, 200), sep='\\n', flush=True)\n"
    name = emulator.create(
        pool(few + "print(*range(3, 90), sep='\\n', flush=True)\n" + SLEEP), pool(many + SLEEP)
    )
    eventually(lambda: len(emulator.printed(name, "workerpool1-0")) == 100)
    eventually(lambda: len(emulator.printed(name)) == 3)
    request = {
        "resourceNames": ["projects/local"],
        "filter": f'resource.labels.job_id="{job_id(name)}" AND severity=INFO',
        "pageSize": 50,
    }
    first = emulator.call("POST", "/v2/entries:list", request).json()
    (emulator.flags / "go").touch()
    eventually(lambda: len(emulator.printed(name)) == 90)
    rest = emulator.call(
        "POST", "/v2/entries:list", {**request, "pageSize": 1000, "pageToken": first["nextPageToken"]}
    )
    said = messages([*first["entries"], *rest.json()["entries"]])
    assert sorted(map(int, filter(str.isdigit, said))) == [*range(3), *range(100, 200)]


@pytest.mark.parity("Custom jobs: logs")
def test_the_filter_that_gcloud_sends(emulator: JobEmulator) -> None:
    """gcloud ai custom-jobs stream-logs: first page and next page, gcloud 528."""
    name = emulator.create(pool("print(*range(5), sep='\\n')"))
    emulator.wait(name)
    everything = emulator.entries(name)
    base = f'resource.type="ml_job" AND resource.labels.job_id="{job_id(name)}"'
    first = f'{base} AND timestamp>="1970-01-01T01:00:00.000000000Z" AND timestamp<"2999-01-01T00:00:00Z"'
    request = {
        "resourceNames": ["projects/local"],
        "filter": first,
        "orderBy": "timestamp asc",
        "pageSize": 1000,
    }
    assert emulator.call("POST", "/v2/entries:list", request).json()["entries"] == everything
    at = everything[3]
    after = (
        f'(timestamp="{at["timestamp"]}" AND insertId>"{at["insertId"]}") OR timestamp>"{at["timestamp"]}"'
    )
    request["filter"] = f"{base} AND ({after})"
    assert emulator.call("POST", "/v2/entries:list", request).json()["entries"] == everything[4:]


def test_a_running_job_is_followed(emulator: JobEmulator) -> None:
    code = f"print('first', flush=True)\n{wait_for_flags('go')}\nprint('second', flush=True)\n"
    name = emulator.create(pool(code + SLEEP))
    eventually(lambda: emulator.printed(name) == ["first"])
    last = emulator.entries(name, 'resource.labels.task_name="workerpool0-0"')[-1]
    (emulator.flags / "go").touch()
    newer = f'resource.labels.task_name="workerpool0-0" AND timestamp>"{last["timestamp"]}"'
    eventually(lambda: emulator.entries(name, newer))
    assert messages(emulator.entries(name, newer)) == ["second"]


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"filter": ""}, 400, "resource_names"),
        ({"resourceNames": ["folders/1"]}, 400, "folders/1"),
        ({"resourceNames": ["projects/p"], "colour": 1}, 400, 'Unknown name "colour"'),
        ({"resourceNames": ["projects/p"], "orderBy": "severity"}, 400, "orderBy"),
        ({"resourceNames": ["projects/p"], "filter": "colour=1"}, 400, "'colour' cannot be filtered by"),
        ({"resourceNames": ["projects/p"], "filter": "severity>LOUD"}, 400, "'LOUD' is not a severity"),
        ({"resourceNames": ["projects/p"], "pageSize": -1}, 400, "page_size"),
        ({"resourceNames": ["projects/p"], "pageToken": "x"}, 400, "page token"),
        ([], 400, "not an object"),
    ],
)
def test_bad_requests(idle: JobEmulator, body: Any, status: int, words: str) -> None:
    answer = idle.call("POST", "/v2/entries:list", body)
    assert answer.status == status
    assert words in answer.message


def test_other_projects_see_nothing(emulator: JobEmulator) -> None:
    name = emulator.create(pool("print('mine')"))
    emulator.wait(name)
    assert emulator.entries(name, resourceNames=["projects/other"]) == []
    by_number = emulator.entries(name, resourceNames=[f"projects/{name.split('/')[1]}"])
    assert "mine" in messages(by_number)


@pytest.mark.parity("Custom jobs: logs", same="stored in the folder of the job")
def test_googles_own_logging_client(emulator: JobEmulator) -> None:
    from google.cloud import logging

    name = emulator.create(pool("print('for the client')"))
    emulator.wait(name)
    client = logging.Client(
        project="local",
        credentials=Token(emulator.daemon.token),
        _use_grpc=False,
        client_options={"api_endpoint": emulator.daemon.url},
    )
    with client._http as session:
        session.trust_env = False
        found = list(
            client.list_entries(
                filter_=f'resource.type="ml_job" AND resource.labels.job_id="{job_id(name)}"',
                order_by=logging.ASCENDING,
                page_size=2,
            )
        )
    assert "for the client" in [entry.payload["message"] for entry in found]
    [entry] = [entry for entry in found if entry.payload["message"] == "for the client"]
    assert (entry.severity, entry.resource.labels["task_name"]) == ("INFO", "workerpool0-0")
    assert abs(entry.timestamp.timestamp() - time.time()) < 60
