"""Workflows in the emulator, by Google's own clients over gRPC and by its clock."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud import workflows_v1
from google.cloud.workflows import executions_v1
from google.cloud.workflows.executions_v1.services.executions.transports import ExecutionsGrpcTransport
from google.cloud.workflows_v1.services.workflows.transports import WorkflowsGrpcTransport

from support.emulated.clients.grpc_channel import connected
from support.emulated.emulator import call, running
from support.waiting import eventually
from vertex_emulator.daemon import Daemon

PARENT = "projects/local/locations/us-central1"
JOBS = f"https://us-central1-aiplatform.googleapis.com/v1/{PARENT}/customJobs"
State = executions_v1.Execution.State


class Workflows:
    """An emulator with a frozen clock, and Google's clients of Workflows."""

    def __init__(self, daemon: Daemon) -> None:
        self.daemon = daemon
        channel = connected(daemon, daemon.token)
        self.client = workflows_v1.WorkflowsClient(transport=WorkflowsGrpcTransport(channel=channel))
        self.executions = executions_v1.ExecutionsClient(transport=ExecutionsGrpcTransport(channel=channel))

    def post(self, path: str, body: Any) -> None:
        assert call(self.daemon.url, "POST", path, body=body, token=self.daemon.token).status == 200

    def deploy(self, name: str, *steps: dict[str, Any], **fields: Any) -> workflows_v1.Workflow:
        source = json.dumps({"main": {"params": ["args"], "steps": list(steps)}})
        operation = self.client.create_workflow(
            parent=PARENT, workflow_id=name, workflow={"source_contents": source, **fields}
        )
        return operation.result()

    def start(self, name: str, argument: Any = None) -> str:
        execution = executions_v1.Execution(argument=json.dumps(argument))
        return self.executions.create_execution(parent=f"{PARENT}/workflows/{name}", execution=execution).name

    def wait_until_asleep(self, name: str) -> None:
        """Wait until an execution sleeps: until then its position is not stored."""
        row = "SELECT position FROM workflow_executions WHERE id = ?"
        execution_id = name.rpartition("/")[2]
        eventually(lambda: self.daemon._database.rows(row, (execution_id,))[0]["position"] > 0)

    def ended(self, name: str) -> executions_v1.Execution:
        return eventually(lambda: (one := self.executions.get_execution(name=name)).end_time and one)

    def run(self, name: str, *steps: dict[str, Any], argument: Any = None) -> executions_v1.Execution:
        self.deploy(name, *steps)
        return self.ended(self.start(name, argument))


@pytest.fixture(scope="module")
def workflows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workflows]:
    with running(tmp_path_factory.mktemp("emulator")) as daemon:
        found = Workflows(daemon)
        found.post("/_local/clock/freeze", {})
        yield found


@pytest.mark.parity(
    "Schedules: workflows and executions",
    own_way="one workflow main with assign, call, switch, for, try, next, return, raise; http.get, "
    "http.post, sys.sleep and sys.log; a sleep by the clock, only in main itself",
)
def test_steps_assign_decide_and_return(workflows: Workflows) -> None:
    ended = workflows.run(
        "sum",
        {"first": {"assign": [{"total": 0}, {"seen": {"names": []}}]}},
        {
            "each": {
                "for": {
                    "value": "one",
                    "in": "${args.numbers}",
                    "steps": [
                        {"odd": {"switch": [{"condition": "${one % 2 == 1}", "next": "continue"}]}},
                        {"add": {"assign": [{"total": "${total + one}"}, {"seen.last": "${one}"}]}},
                    ],
                }
            }
        },
        {"check": {"switch": [{"condition": "${total > 100}", "return": "many"}]}},
        {"done": {"return": {"total": "${total}", "seen": "${seen}", "none": '${map.get(args, "x")}'}}},
        argument={"numbers": [1, 2, 3, 4]},
    )
    assert ended.state == State.SUCCEEDED
    assert json.loads(ended.result) == {"total": 6, "seen": {"names": [], "last": 4}, "none": None}


def test_a_page_of_a_negative_size_is_refused(workflows: Workflows) -> None:
    name = workflows.deploy("paged", {"done": {"return": "${1}"}}).name
    with pytest.raises(exceptions.InvalidArgument, match="The page size is -"):
        workflows.client.list_workflows(request={"parent": PARENT, "page_size": -1})
    with pytest.raises(exceptions.InvalidArgument, match="The page size is -"):
        workflows.executions.list_executions(request={"parent": name, "page_size": -1})


@pytest.mark.parity("Schedules: workflows and executions")
def test_a_call_reads_vertex_ai(workflows: Workflows) -> None:
    ended = workflows.run(
        "read",
        {
            "get": {
                "call": "http.get",
                "args": {
                    "url": JOBS,
                    "query": {"filter": 'labels.a="b"', "readMask": "name"},
                    "auth": {"type": "OAuth2"},
                },
                "result": "found",
            }
        },
        {"done": {"return": '${len(default(map.get(found.body, "customJobs"), []))}'}},
    )
    assert (ended.state, ended.result) == (State.SUCCEEDED, "0")


@pytest.mark.parity("Schedules: workflows and executions")
def test_an_error_is_handled_or_ends_the_execution(workflows: Workflows) -> None:
    missing = {"call": "http.get", "args": {"url": f"{JOBS}/1"}, "result": "found"}
    handled = workflows.run(
        "handled",
        {
            "get": {
                "try": missing,
                "except": {
                    "as": "error",
                    "steps": [
                        {"known": {"switch": [{"condition": "${error.code == 404}", "return": "gone"}]}}
                    ],
                },
            }
        },
    )
    assert (handled.state, handled.result) == (State.SUCCEEDED, '"gone"')
    failed = workflows.run("failed", {"get": missing})
    assert failed.state == State.FAILED
    assert json.loads(failed.error.payload)["code"] == 404


@pytest.mark.parity("Schedules: workflows and executions")
def test_a_sleep_ends_by_the_clock(workflows: Workflows) -> None:
    workflows.deploy(
        "sleeper",
        {"before": {"assign": [{"began": "${sys.now()}"}]}},
        {"sleep": {"call": "sys.sleep", "args": {"seconds": 3600}}},
        {"after": {"return": "${int(sys.now() - began)}"}},
    )
    name = workflows.start("sleeper")
    workflows.wait_until_asleep(name)
    workflows.post("/_local/clock/advance", {"seconds": 1})
    assert workflows.executions.get_execution(name=name).state == State.ACTIVE
    workflows.post("/_local/clock/advance", {"seconds": 7200})
    ended = workflows.ended(name)
    assert ended.state == State.SUCCEEDED
    assert int(ended.result) >= 3600


@pytest.mark.parity("Schedules: workflows and executions")
def test_executions_are_listed_newest_first_by_state_and_cancelled(workflows: Workflows) -> None:
    workflows.deploy("listed", {"sleep": {"call": "sys.sleep", "args": {"seconds": 3600}}})
    names = [workflows.start("listed") for _ in range(3)]
    parent = f"{PARENT}/workflows/listed"
    workflows.executions.cancel_execution(name=names[1])
    active = workflows.executions.list_executions(request={"parent": parent, "filter": 'state="ACTIVE"'})
    assert [one.name for one in active] == [names[2], names[0]]
    assert workflows.executions.get_execution(name=names[1]).state == State.CANCELLED
    with pytest.raises(exceptions.FailedPrecondition):
        workflows.executions.cancel_execution(name=names[1])


@pytest.mark.parity("Schedules: workflows and executions")
def test_an_update_makes_a_revision_and_running_executions_keep_theirs(workflows: Workflows) -> None:
    sleep = {"sleep": {"call": "sys.sleep", "args": {"seconds": 60}}}
    before = workflows.deploy("revised", sleep, {"done": {"return": "old"}}, labels={"a": "b"})
    name = workflows.start("revised")
    workflows.wait_until_asleep(name)
    before.source_contents = json.dumps({"main": {"steps": [{"done": {"return": "new"}}]}})
    after = workflows.client.update_workflow(
        workflow=before, update_mask={"paths": ["source_contents"]}
    ).result()
    assert (before.revision_id[:6], after.revision_id[:6], after.labels) == ("000001", "000002", {"a": "b"})
    assert workflows.ended(workflows.start("revised")).result == '"new"'
    workflows.post("/_local/clock/advance", {"seconds": 61})
    assert workflows.ended(name).result == '"old"'


@pytest.mark.parity("Schedules: other steps and connectors of Workflows", not_done="UNIMPLEMENTED, by name")
@pytest.mark.parametrize(
    ("steps", "error", "words"),
    [
        ([{"a": {"call": "sys.sleepy"}}], exceptions.MethodNotImplemented, "sys.sleepy"),
        ([{"a": {"parallel": {}}}], exceptions.MethodNotImplemented, "parallel"),
        ([{"a": {"return": "${1 +}"}}], exceptions.InvalidArgument, "cannot be read"),
        ([{"a": {"return": "${open(1)}"}}], exceptions.InvalidArgument, "no function open"),
        ([], exceptions.InvalidArgument, "list of steps"),
        (
            [{"a": {"steps": [{"b": {"call": "sys.sleep", "args": {"seconds": 1}}}]}}],
            exceptions.MethodNotImplemented,
            "sleeps only in a step of main",
        ),
    ],
)
def test_a_definition_that_cannot_run_is_rejected(
    workflows: Workflows, steps: list[dict[str, Any]], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        workflows.deploy("rejected", *steps)


@pytest.mark.parity("Schedules: other steps and connectors of Workflows")
def test_a_call_elsewhere_fails(workflows: Workflows) -> None:
    ended = workflows.run("elsewhere", {"get": {"call": "http.get", "args": {"url": "https://example.com/"}}})
    assert ended.state == State.FAILED
    assert "only its own APIs" in ended.error.payload


def test_a_step_that_cannot_run_ends_the_execution(workflows: Workflows) -> None:
    ended = workflows.run("odd", {"nap": {"call": "sys.sleep", "args": {"seconds": "${[1]}"}}})
    assert (ended.state, ended.error.payload) == (
        State.FAILED,
        json.dumps("TypeError: float() argument must be a string or a real number, not 'list'"),
    )


@pytest.mark.parity("Schedules: workflows and executions")
def test_a_sleeping_execution_survives_the_emulator(tmp_path: Path) -> None:
    with running(tmp_path / "data") as daemon:
        first = Workflows(daemon)
        first.post("/_local/clock/freeze", {})
        first.deploy(
            "kept",
            {"note": {"assign": [{"noted": "${args.text}"}]}},
            {"sleep": {"call": "sys.sleep", "args": {"seconds": 60}}},
            {"done": {"return": "${noted}"}},
        )
        name = first.start("kept", {"text": "before"})
        first.wait_until_asleep(name)
    with running(tmp_path / "data") as daemon:
        second = Workflows(daemon)
        second.post("/_local/clock/advance", {"seconds": 61})
        assert second.ended(name).result == '"before"'
