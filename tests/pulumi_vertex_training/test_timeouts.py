"""The timeouts of the client are scaled once in each process, never below the emulator's, and in order."""

from __future__ import annotations

from pathlib import Path

import pytest

from pulumi_vertex_training import configuration_keys as keys
from pulumi_vertex_training.cli.main import main
from pulumi_vertex_training.core import connection, settings
from pulumi_vertex_training.program.waiting import completion, interruption
from pulumi_vertex_training.timeouts import ORDINARY, Timeouts, timeouts_of
from pulumi_vertex_training.ui.server import watcher
from pulumi_vertex_training.views import target
from vertex_emulator.client import launcher
from vertex_emulator.kernel.timeouts import DAEMON
from vertex_training.timeouts import VARIABLE

SCALES = (1.0, 1.5, 3.0, 10.0, 100.0)
WRONG = f"{VARIABLE} is 'fast', but must be a number from 1 to 100."


@pytest.mark.parametrize("emulators", SCALES)
@pytest.mark.parametrize("own", SCALES)
def test_who_waits_for_a_wait_waits_longer(own: float, emulators: float) -> None:
    """Compare timeouts, and times that are not scaled. The names are the reasons."""
    client = ORDINARY.at_least(own).at_least(emulators)
    daemon = DAEMON.at_least(emulators)
    ends = (client.record_deletion, client.job_end, client.resource_deletion, client.resource_busy)
    operations = (client.model_operation, client.repository_operation)
    chains = {
        # Times that are not scaled come first: longer timeouts cannot break these.
        "a job is cancelled before the engine kills the program": (
            completion.CANCEL_SECONDS,
            interruption.ENGINE_KILL_SECONDS,
        ),
        "and so is its last line": (interruption.ANNOUNCE_SECONDS, interruption.ENGINE_KILL_SECONDS),
        "a request that waits for a change ends before it is given up": (watcher._WAIT_SECONDS, client.call),
        "a preview outlasts the longest lookups that a stack can set": (
            2 * keys.MOST_LOOKUP_SECONDS,
            client.pulumi_preview,
        ),
        # Between processes.
        "the emulator answers a request that waits for the database": (daemon.database, client.call),
        "the emulator reports a body that stops before the client gives it up": (daemon.body, client.content),
        "a plan that cannot find the emulator reports that it is busy": (client.probe, client.remote_query),
        "a plan reports why its query fails, not that it takes long": (
            client.retry_emulator,
            client.remote_query,
        ),
        "the tries of a call on the emulator end before a followed log does": (
            client.retry_emulator,
            client.outage,
        ),
        "one slow answer does not end a wait for an operation": (client.call, min(*ends, *operations)),
        "nor a command that reads the state of a stack": (client.call, client.pulumi),
        "nor the end of a log": (client.drain_emulator, client.drain_google),
        "the log of a failed job is read again": (client.retry_emulator, client.diagnosis),
        "a job that appears late is still cancelled": (client.last_submission, client.last_cancel),
        "a preview outlasts its lookups and its preflight": (
            client.lookups + client.preflight,
            client.pulumi_preview,
        ),
    }
    assert {name: pair for name, pair in chains.items() if not pair[0] < pair[1]} == {}


def test_the_variable_scales_all_timeouts_alike() -> None:
    tripled = timeouts_of({VARIABLE: "3"})
    assert (tripled.scale, tripled.call, tripled.start) == (3.0, 3 * ORDINARY.call, 3 * ORDINARY.start)
    assert timeouts_of({}) == ORDINARY


def read(environment: dict[str, str], **configured: str) -> settings.Settings:
    values = {f"{keys.NAMESPACE}:{name}": value for name, value in configured.items()}
    return settings.read(values.get, environment)


def test_a_stack_scales_its_defaults_and_no_value_that_it_sets() -> None:
    found = read({VARIABLE: "3"}, endpoint="google", lookupTimeout="5")
    assert (found.lookup_seconds, found.preflight_seconds) == (5.0, 3 * ORDINARY.preflight)
    assert connection.connect("google", "p", "l", found).timeouts == ORDINARY.at_least(3)


def test_a_stack_refuses_a_wrong_scale_together_with_its_other_faults() -> None:
    with pytest.raises(settings.SettingsError) as refused:
        read({VARIABLE: "fast"}, endpoint="goggle")
    assert WRONG in str(refused.value)
    assert "vertex-training:endpoint is 'goggle'" in str(refused.value)


def test_a_slower_emulator_makes_its_clients_wait_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "3")
    launcher.ensure(tmp_path)
    monkeypatch.delenv(VARIABLE)
    try:
        found = read({}, dataDir=str(tmp_path))
        # The endpoint takes the scale from the answer, also with settings from before the emulator's start.
        early = settings.Settings(data_dir=tmp_path)
        joined = connection.connect_if_running("emulator", "p", "l", early)
        chosen = target.resolve(target.Choice(data_dir=tmp_path, timeouts=ORDINARY.at_least(2)), {})
    finally:
        launcher.stop(tmp_path)
    assert joined is not None
    scales = [one.scale for one in (found.timeouts, joined.timeouts, chosen.timeouts)]
    assert scales == [3.0, 3.0, 3.0]
    assert found.lookup_seconds == 3 * ORDINARY.lookups
    assert Timeouts().for_emulator(tmp_path / "none") == ORDINARY


def test_a_command_refuses_a_wrong_scale(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(VARIABLE, "fast")
    assert main(["prices"]) == 2
    assert WRONG in capsys.readouterr().err
