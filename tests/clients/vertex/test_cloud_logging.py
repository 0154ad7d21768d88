"""google-cloud-logging in a program that was written for Google Cloud."""

from __future__ import annotations

import sysconfig
from collections.abc import Mapping
from typing import Any

import pytest

from support.emulated.job_emulator import JobEmulator, pool, raise_flag, wait_for_flags
from support.tables import every_row

LINES = 250

PROGRAM = """
import sys
from datetime import datetime, timezone
from google.cloud import logging

client = logging.Client()
job = sys.argv[1]
base = f'resource.type="ml_job" AND resource.labels.job_id="{job}"'

def texts(more="", **options):
    text = base + (" AND " + more if more else "")
    return [each.payload["message"] for each in client.list_entries(filter_=text, **options)]

entries = list(client.list_entries(filter_=base + ' AND resource.labels.task_name="workerpool1-0"'))
last = entries[-1]
tell(
    type=type(last).__name__,
    severity=last.severity,
    task=last.resource.labels["task_name"],
    resource=last.resource.type,
    log=last.log_name,
    aware=last.timestamp.tzinfo is not None,
    chief=texts('resource.labels.task_name="workerpool0-0" AND severity=INFO', page_size=7),
    limited=texts('resource.labels.task_name="workerpool0-0" AND severity=INFO', max_results=3),
    newest=texts(order_by=logging.DESCENDING, max_results=1),
    errors=texts("severity>=ERROR"),
    levels=texts("severity=(ERROR OR WARNING) AND jsonPayload.message:trouble"),
    other=texts('jsonPayload.message="line 5"'),
    containing=texts('jsonPayload.message:"LINE 24"'),
    pattern=texts('jsonPayload.message=~"^line 1[0-2]$"'),
    anywhere=texts('"line 24"'),
    none=texts('timestamp>="2100-01-01T00:00:00Z"'),
    empty=[e.payload["message"] for e in client.list_entries(filter_='resource.labels.job_id="1"')],
)

# As `tail -f` by polling would: what is newer than the last entry that was seen.
seen, position = [], None
while True:
    more = ""
    if position:
        time, insert_id = position
        at = time.isoformat().replace("+00:00", "Z")
        more = f' AND ((timestamp="{at}" AND insertId>"{insert_id}") OR timestamp>"{at}")'
    page = list(client.list_entries(filter_=base + more, order_by=logging.ASCENDING, max_results=40))
    if not page:
        break
    seen += [[each.insert_id, each.payload["message"]] for each in page]
    position = page[-1].timestamp, page[-1].insert_id
tell(seen=seen, all=texts())
"""


@pytest.fixture(scope="module")
def results(script: Any, emulator: JobEmulator) -> Any:
    chatty = f"for n in range({LINES}): print('line', n)\n" + wait_for_flags("1")
    trouble = f"import sys; print('fine'); print('trouble here', file=sys.stderr)\n{raise_flag('1')}"
    name = emulator.create(pool(chatty), pool(trouble))
    emulator.wait(name)
    return script(PROGRAM, name.rpartition("/")[2])


@every_row(
    ("what", "expected"),
    [
        pytest.param("type", "StructEntry", id="entries have a structure"),
        pytest.param("resource", "ml_job", id="their resource"),
        pytest.param("task", "workerpool1-0", id="their task"),
        pytest.param("log", "projects/local/logs/workerpool1-0", id="their log"),
        pytest.param("severity", "ERROR", id="what goes to standard error is an error"),
        pytest.param("aware", True, id="times have a zone"),
        pytest.param("chief", [f"line {n}" for n in range(LINES)], id="all of many pages, in order"),
        pytest.param("limited", ["line 0", "line 1", "line 2"], id="the first few"),
        pytest.param("newest", ["Job completed successfully."], id="the newest first"),
        pytest.param("errors", ["trouble here"], id="by severity"),
        pytest.param("levels", ["trouble here"], id="by one of several severities"),
        pytest.param("other", ["line 5"], id="by the message"),
        pytest.param("containing", ["line 24", *(f"line 24{n}" for n in range(10))], id="by a part of it"),
        pytest.param("pattern", ["line 10", "line 11", "line 12"], id="by a pattern"),
        pytest.param("anywhere", ["line 24", *(f"line 24{n}" for n in range(10))], id="by words anywhere"),
        pytest.param("none", [], id="by time"),
        pytest.param("empty", [], id="of a job that is not there"),
    ],
)
def test_what_the_program_sees(results: Mapping[str, Any], what: str, expected: Any) -> None:
    assert results[what] == expected


@pytest.mark.parity("The interface: Cloud Logging")
def test_polling_brings_every_entry_once(results: Mapping[str, Any]) -> None:
    assert [message for _, message in results["seen"]] == results["all"]


def test_insert_ids_are_unique(results: Mapping[str, Any]) -> None:
    ids = [insert_id for insert_id, _ in results["seen"]]
    assert len(set(ids)) == len(ids) > LINES


WRITER = f"""
import sys; sys.path.append({sysconfig.get_path("purelib")!r})  # more than Google's image has
"""
WRITER += """
import logging as standard, os
from datetime import datetime, timezone
from google.cloud import logging
client = logging.Client()
assert client._use_grpc
logger = client.logger("train", labels={"run": "1"})
logger.log_text("a text", severity="WARNING")
logger.log_struct({"message": "a structure", "loss": 0.25, "step": {"number": 7}}, severity="NOTICE")
logger.log_struct({"message": "once"}, insert_id="same", timestamp=datetime(2026, 1, 1, tzinfo=timezone.utc))
logger.log_struct({"message": "once"}, insert_id="same", timestamp=datetime(2026, 1, 1, tzinfo=timezone.utc))
batch = logger.batch()
batch.log_text("in a batch")
batch.log_struct({"message": "in a batch too"})
batch.commit()
client.setup_logging(log_level=standard.INFO)
standard.getLogger("trainer").info("by the standard library, %s", os.environ["CLOUD_ML_JOB_ID"])
standard.getLogger("trainer").error("trouble by the standard library")
client.close()  # without it, the library sends nothing at the end of a program
"""

READER = """
import sys
from google.cloud import logging
client = logging.Client()

def found(text, **options):
    return [each.payload if isinstance(each.payload, str) else each.payload.get("message")
            for each in client.list_entries(filter_=text, **options)]

log = 'logName="projects/local/logs/train"'
structure = next(iter(client.list_entries(filter_=log + " AND jsonPayload.loss<0.5")))
tell(
    texts=found(log + " AND textPayload:*"),
    structure=structure.payload,
    severity=structure.severity,
    resource=structure.resource.type,
    labels=structure.labels,
    nested=found("jsonPayload.step.number=7"),
    number=found("jsonPayload.loss>1"),
    label=len(found('labels.run="1"')),
    twice=found(log + ' AND insertId="same" AND timestamp<"2026-02-01T00:00:00Z"'
                      ' AND timestamp>="2026-01-01T00:00:00Z"'),
    standard=found('logName:"logs/python" AND "by the standard library"'),
    errors=found('logName:"logs/python" AND severity=ERROR'),
    beside=found('resource.type="ml_job" AND "a structure"'),
    logger=[each.payload for each in client.logger("train").list_entries(
        filter_='textPayload:"a text" AND timestamp>="2026-01-01T00:00:00Z"')],
)
"""


@pytest.fixture(scope="module")
def written(script: Any, emulator: JobEmulator) -> Any:
    name = emulator.create(pool(WRITER))
    found = emulator.wait(name)
    assert found["state"] == "JOB_STATE_SUCCEEDED", emulator.printed(name)
    return {**script(READER), "job": name.rpartition("/")[2]}


@pytest.mark.parity("The interface: Cloud Logging")
@pytest.mark.parametrize(
    ("what", "expected"),
    [
        pytest.param("texts", ["a text", "in a batch"], id="texts"),
        pytest.param(
            "structure", {"message": "a structure", "loss": 0.25, "step": {"number": 7}}, id="a structure"
        ),
        pytest.param("severity", "NOTICE", id="its severity"),
        pytest.param("labels", {"run": "1"}, id="its labels"),
        pytest.param("nested", ["a structure"], id="by a field of a structure"),
        pytest.param("number", [], id="by a number"),
        pytest.param("twice", ["once"], id="what is written twice is there once"),
        pytest.param("errors", ["trouble by the standard library"], id="the standard library's levels"),
        pytest.param("beside", [], id="not among the entries of jobs"),
        pytest.param("logger", ["a text"], id="of one logger"),
    ],
)
def test_what_a_replica_has_written(written: Mapping[str, Any], what: str, expected: Any) -> None:
    assert written[what] == expected


def test_the_standard_librarys_logging_is_written(written: Mapping[str, Any]) -> None:
    assert f"by the standard library, {written['job']}" in written["standard"]
