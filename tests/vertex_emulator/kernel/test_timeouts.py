"""Timeouts of processes that wait for each other keep their order at every scale."""

from __future__ import annotations

import pytest

from vertex_emulator.kernel.timeouts import CLIENT, DAEMON, DETACHED, SUPERVISOR, ClientTimeouts
from vertex_emulator.replicas.plan import GRACE_SECONDS

SCALES = (1.0, 1.5, 3.0, 10.0, 100.0)


@pytest.mark.parametrize(("own", "other", "used"), [(1, 1, 1), (1, 3, 3), (3, 1, 3), (2, 3, 3), (3, 3, 3)])
def test_the_larger_scale_of_two_processes_counts(own: float, other: float, used: float) -> None:
    timeouts = ClientTimeouts().at_least(own).at_least(other)
    assert timeouts.scale == used
    assert timeouts.probe == CLIENT.probe * used


@pytest.mark.parametrize("scale", SCALES)
def test_who_waits_for_a_wait_waits_longer(scale: float) -> None:
    """Compare sums of timeouts, and of times that are not scaled. The names are the reasons."""
    client, daemon = CLIENT.at_least(scale), DAEMON.at_least(scale)
    detached, supervisor = DETACHED.at_least(scale), SUPERVISOR.at_least(scale)
    end_of_job = GRACE_SECONDS + 2 * supervisor.kill + supervisor.strays + supervisor.private_files
    end_of_daemon = (
        daemon.threads_end  # the proxy
        + daemon.calls_end  # gRPC
        + daemon.tasks_end
        + daemon.tidy
        + daemon.calls_end  # HTTP
        + daemon.threads_end  # connections
        + daemon.threads_end  # the listener
    )
    chains = {
        "a start looks for a running emulator, and still has time to start one": (client.probe, client.start),
        "a stop looks for the emulator first": (client.probe, client.stop),
        "a start replaces an outdated emulator, which it stops": (client.stop, client.start),
        "a started daemon reports who holds its folder before the start is given up": (
            detached.folder,
            client.start,
        ),
        "a daemon ends all its waits before the client that stops it gives up": (end_of_daemon, client.stop),
        "a client gets the answer of a request that waits for the database": (
            daemon.database,
            client.control,
        ),
        "a client gets the answer of a request that tries the sandbox": (daemon.sandbox, client.control),
        "a daemon waits for a job until its supervisor has killed it": (end_of_job, daemon.jobs_end),
        "a client that has stopped the daemon waits for the same": (end_of_job, client.jobs_end),
        "the reset of a running emulator is answered, with the removal of files": (
            daemon.jobs_end + daemon.supervisor_end,
            client.transfer,
        ),
        "the files of an ended job are removed after its supervisor has": (
            supervisor.private_files,
            daemon.supervisor_end,
        ),
        "a supervisor sees the start of a replica whose first process loads late": (
            supervisor.init,
            supervisor.start,
        ),
        "a supervisor that waits for strays still sees that others are killed": (
            supervisor.strays,
            supervisor.kill,
        ),
        "a client of a job's network waits for the one before it": (
            supervisor.network_request,
            client.forward,
        ),
        "a connection is refused before a client gives up its request": (daemon.refusal, client.probe),
        "a client that shows its secret late is not cut off before one without": (
            daemon.first_byte,
            daemon.head,
        ),
    }
    assert {name: pair for name, pair in chains.items() if not pair[0] < pair[1]} == {}
