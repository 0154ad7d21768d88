"""A process that stops reporting prints the stacks of its threads, a last line, and exits with code 1."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import vertex_cluster
from vertex_cluster.watchdog import EXIT_SECONDS, STALL_VARIABLE, seconds_of
from vertex_training.job import stall_timeout

WORKER = (
    '{"cluster": {"workerpool0": ["a:2222"], "workerpool1": ["b:2222", "c:2222"]}, '
    '"task": {"type": "workerpool1", "index": 1}}'
)
PROGRAM = """
import ctypes, os, socket, sys, threading, time
from vertex_cluster.watchdog import Watchdog

watchdog = Watchdog(1, exit_seconds=2)
watchdog.reported(39)
watchdog.reported(40)

def the_line_that_hangs():
    {hang}

the_line_that_hangs()
"""
HANGS = {
    "sleeps in C and holds the interpreter's lock": "ctypes.PyDLL(None).sleep(600)",
    "waits for a peer": "a, b = socket.socketpair(); a.recv(1)",
    "waits for a lock": "lock = threading.Lock(); lock.acquire(); lock.acquire()",
    "loops without a report": "while True: sum(range(1000))",
    "has another thread": "threading.Thread(target=time.sleep, args=(600,)).start(); time.sleep(600)",
}


def run(program: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program], env=environ, capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize("hang", HANGS.values(), ids=HANGS)
def test_a_silent_process_shows_its_stacks_and_exits_with_a_code_that_is_not_retried(hang: str) -> None:
    done = run(PROGRAM.format(hang=hang), CLUSTER_SPEC=WORKER)
    assert done.returncode == 1
    stacks, last = done.stderr.rstrip("\n").rsplit("\n", 1)
    assert "Timeout (0:00:01" in stacks
    assert "in the_line_that_hangs" in stacks
    assert re.search(
        r"vertex_cluster: workerpool1-1 has reported nothing since [0-9T:.-]+Z, after step 40 "
        r"\(stall_timeout 1 s\)\. It exits with code 1\.$",
        last,
    )


def test_a_report_winds_it_up_and_none_ends_it() -> None:
    program = """
import time, vertex_cluster
until = time.monotonic() + 7
while time.monotonic() < until:
    vertex_cluster.report(step=1)
    time.sleep(0.1)
vertex_cluster.set_stall_timeout(None)
time.sleep(36)
print("done")
"""
    done = run(program, **{STALL_VARIABLE: "5"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_a_process_that_never_reports_is_not_watched() -> None:
    done = run("import time, vertex_cluster; time.sleep(3); print('done')", **{STALL_VARIABLE: "1"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_a_fork_of_a_watched_process_reports_too() -> None:
    program = """
import os, vertex_cluster
vertex_cluster.report(step=1)
child = os.fork()
vertex_cluster.report(step=2)
if child:
    print("parent", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = run(program, **{STALL_VARIABLE: "60"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "parent 0\n", "")


def test_without_timers_in_the_c_library_the_stacks_come_with_the_exit() -> None:
    without = "import vertex_cluster.watchdog as module; module._timers = lambda line: None\n"
    program = PROGRAM.replace("watchdog = W", without + "watchdog = W", 1)
    program = program.format(hang="ctypes.PyDLL(None).sleep(600)")
    done = run(program)
    assert done.returncode == 1
    assert "in the_line_that_hangs" in done.stderr


@pytest.mark.parametrize("text", ["0", "-1", "inf", "nan", "soon"])
def test_a_variable_that_is_no_time_is_a_warning_and_the_training_goes_on(text: str) -> None:
    program = "from vertex_cluster import report; report(step=1); report(); print('trained')"
    done = run(program, **{STALL_VARIABLE: text})
    assert (done.returncode, done.stdout) == (0, "trained\n")
    assert done.stderr.count("the progress is not reported") == 1
    with pytest.raises(ValueError):
        seconds_of({STALL_VARIABLE: text})


def test_less_than_a_second_is_refused() -> None:
    with pytest.raises(ValueError, match="give at least 1"):
        vertex_cluster.set_stall_timeout(0.5)


def test_the_job_and_the_replica_have_the_same_constants() -> None:
    assert (stall_timeout.STALL_VARIABLE, stall_timeout.EXIT_SECONDS) == (STALL_VARIABLE, EXIT_SECONDS)
