"""The question for the stack's state: which command is run, how often, and how it fails."""

from __future__ import annotations

import json
import os
import shlex
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pulumi_vertex_training import engine_command
from pulumi_vertex_training.core.call import Call
from pulumi_vertex_training.core.identity.stack_key import OtherFormError, StackKeyProvider
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.settings import Settings
from pulumi_vertex_training.core.state import running_stack
from pulumi_vertex_training.core.state.entries import PROVIDER_TYPE, StackState
from pulumi_vertex_training.core.state.running_stack import StateUnavailableError
from pulumi_vertex_training.engine_command import EngineCommand
from pulumi_vertex_training.timeouts import Timeouts
from support.client.in_process.trials import Trial
from support.client.kills.subjects import CUSTOM_JOB, Declaration

URN = "urn:pulumi:dev::digits::a:b:C::train"
STATE = json.dumps({"deployment": {"resources": [{"urn": URN, "id": "1"}]}})


class Cli:
    """A command `pulumi` that writes down how it is called, and then does as it is told."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder, self.patch = folder, patch
        self.file, self._calls = folder / "bin" / "pulumi", folder / "calls"
        self.file.parent.mkdir()
        self.started("up", "--stack", "acme/dev")

    def does(self, script: str) -> None:
        self.file.write_text(f'#!/bin/sh\necho "$PWD: $*" >>{shlex.quote(str(self._calls))}\n{script}\n')
        self.file.chmod(0o755)

    def started(self, *arguments: str) -> None:
        """Be the command that started this process."""
        command = EngineCommand(program=str(self.file), arguments=arguments, folder=self.folder)
        self.patch.setattr(engine_command, "find", lambda _: command)

    @property
    def has_run(self) -> bool:
        return self._calls.exists()

    @property
    def calls(self) -> list[str]:
        return self._calls.read_text().splitlines()


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    OPERATION.begin()
    return Cli(tmp_path, monkeypatch)


def test_all_threads_of_an_operation_get_the_answer_to_one_question(cli: Cli) -> None:
    cli.does(f"echo a warning >&2; echo {shlex.quote(STATE)}")
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(running_stack.ask, [URN] * 8))
    assert answers == [StackState(ids=frozenset({"1"}))] * 8
    assert cli.calls == [f"{cli.folder}: stack export --stack acme/dev --non-interactive"]
    OPERATION.begin()
    cli.started("up")  # of the selected stack
    running_stack.ask(URN)
    assert cli.calls[1:] == [f"{cli.folder}: stack export --non-interactive"]


def test_without_the_command_that_started_it_the_one_on_path_is_asked_for_the_stack(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.does(f"echo {shlex.quote(STATE)}")
    monkeypatch.setattr(engine_command, "find", lambda _: None)
    monkeypatch.chdir(cli.folder)
    monkeypatch.setenv("PATH", str(cli.file.parent))
    running_stack.ask(URN)
    assert cli.calls == [f"{cli.folder}: stack export --stack dev --non-interactive"]
    OPERATION.begin()
    cli.file.unlink()
    with pytest.raises(StateUnavailableError, match=r"is not on PATH\. Put the Pulumi CLI on PATH"):
        running_stack.ask(URN)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (
            "echo one; echo a warning >&2; echo error: no login. >&2; exit 255",
            "failed with exit code 255: no login. Run it in {folder}, fix what it reports, and run "
            "`pulumi up` again.",
        ),
        ("exec sleep 600", "failed: `pulumi stack` did not end within 0.2 s. Run it in {folder}"),
        ("echo no JSON", "in {folder} printed a state that cannot be used: it is not JSON. Run `pulumi up"),
        ("echo '[]'", "it is not an object"),
        (
            f"echo {shlex.quote(STATE.replace('::digits::', '::other::'))}",
            "it is the state of other/dev, not of digits/dev. Run `pulumi up --stack dev` in the folder of "
            "its project.",
        ),
    ],
)
def test_a_failure_names_command_reason_and_remedy_and_is_not_tried_again(
    cli: Cli, script: str, message: str
) -> None:
    cli.does(script)
    if "sleep" in script:
        OPERATION._settings = Settings(timeouts=Timeouts(pulumi=0.2))
    for _ in range(2):
        with pytest.raises(StateUnavailableError) as refused:
            running_stack.ask(URN)
        text = str(refused.value)
        assert text.startswith("`pulumi stack export --stack acme/dev`")
        assert message.format(folder=cli.folder) in text
    assert len(cli.calls) <= 1  # none if it was ended before it could write


def test_the_first_key_of_a_stack_asks_once_for_the_form_of_its_resources(cli: Cli) -> None:
    provider, check = StackKeyProvider(), Call(urn=URN)
    cli.does(f"echo {shlex.quote(STATE)}")
    for _ in range(2):
        assert not provider.check(check).problems
    assert len(cli.calls) == 1
    OPERATION.begin()
    packaged = {"urn": URN.replace("a:b:C::train", f"{PROVIDER_TYPE}::default"), "type": PROVIDER_TYPE}
    resource = {"urn": URN, "id": "1", "provider": f"{packaged['urn']}::1"}
    cli.does(f"echo {shlex.quote(json.dumps({'deployment': {'resources': [packaged, resource]}}))}")
    with pytest.raises(OtherFormError, match="migrate-state --to dynamic"):
        provider.check(check)
    OPERATION.begin()
    cli.does("exit 1")
    assert not provider.check(check).problems  # a first deployment needs no state


def test_deployments_in_the_process_of_a_test_start_no_command(
    cli: Cli, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that a first deployment starts no command: the kills at every point make many of them."""
    monkeypatch.setenv("PATH", str(cli.file.parent), prepend=os.pathsep)
    cli.does("exit 1")
    for packaged in (False, True):
        trial = Trial(subject=CUSTOM_JOB, data_dir=data_dir, serves_package=packaged)
        trial.up(Declaration())
        trial.up(Declaration(spec="spec-2"), replace=True)
        trial.destroy()
    assert not cli.has_run
