"""Run a suite against an emulator of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from string import Template

from suites import account, installing, left_out_plugin, programs, results
from suites.suite import Flows, GoSuite, GoTests, PytestSuite, PythonSuite, RustTests, Suite
from suites.testbench import in_front_of
from support.emulated.clients.google_hosts import shell_of
from support.emulated.emulator import call, running, shell_variables
from vertex_emulator.daemon.daemon import Daemon

_NOWHERE = "http://127.0.0.1:1"
_FLOWS = Path(__file__).with_name("flows")
_ALSO = (
    "OCI_API_BLOBS_DIGEST_HEADER",
    "OCI_API_BLOBS_UPLOAD_CANCEL",
    "OCI_API_MANIFESTS_DIGEST_HEADER",
)
"""Tests of the registry that are off by default, because the specification does not require them."""


def run(suite: Suite) -> results.Results:
    """Fetch a suite, run it, and return its results. Its output goes to stderr.

    Raises FileNotFoundError without a program that it needs, CalledProcessError if it cannot be fetched, and
    ValueError if it ran no test.
    """
    with tempfile.TemporaryDirectory(prefix="suite-") as temporary, _wheels(suite):
        work = Path(temporary)
        if isinstance(suite, GoSuite):
            program = installing.program_of(suite)
            with running(work / "data") as daemon:
                return _run_program(suite, program, daemon, work)
        if isinstance(suite, PytestSuite):
            python = installing.python_for(suite.requirements)
            _copy_source(suite, work / "source")
            with running(work / "data") as daemon, _environment(suite, daemon, work) as environment:
                return _run_pytest(suite, python, environment, work)
        if isinstance(suite, GoTests):
            tests, folder = programs.go_program(suite)  # before the environment, which no download leaves
            with running(work / "data") as daemon, _environment(suite, daemon, work) as environment:
                return programs.run_go(suite, tests, folder, environment, work)
        assert isinstance(suite, RustTests)
        tests = programs.rust_program(suite)
        with running(work / "data") as daemon, _environment(suite, daemon, work) as environment:
            return programs.run_rust(suite, tests, environment, work)


def _copy_source(suite: PytestSuite, folder: Path) -> None:
    shutil.copytree(installing.source_of(suite) if isinstance(suite, PythonSuite) else _FLOWS, folder)
    if isinstance(suite, Flows) and suite.examples is not None:
        examples = installing.source_of(suite.examples) / suite.examples.folder
        shutil.copytree(examples, folder / "examples")


@contextmanager
def _wheels(suite: Suite) -> Iterator[None]:
    if isinstance(suite, PytestSuite) and suite.wheels:
        with _variable("PIP_FIND_LINKS", str(installing.wheels_of(suite.wheels))):
            yield
    else:
        yield


@contextmanager
def _environment(suite: Suite, daemon: Daemon, work: Path) -> Iterator[dict[str, str]]:
    """Yield the environment that leads the suite's clients to the emulator, and nowhere else."""
    for bucket in suite.buckets:
        path = "/storage/v1/b?project=local"
        body = {"name": bucket, "versioning": {"enabled": suite.versioning}}
        assert call(daemon.url, "POST", path, body=body, token=daemon.token).status == 200
    with _variables(suite, daemon, work) as found:
        more = {name: Template(value).substitute(found) for name, value in suite.variables}
        yield {**os.environ, **found, **more}


@contextmanager
def _variables(suite: Suite, daemon: Daemon, work: Path) -> Iterator[dict[str, str]]:
    # Whatever would leave this machine is refused at once, so no test reaches Google.
    proxies = dict.fromkeys(("http_proxy", "https_proxy", "HTTPS_PROXY"), _NOWHERE)
    local = dict.fromkeys(("no_proxy", "NO_PROXY"), "127.0.0.1,localhost")
    if suite.setting == "testbench":
        with in_front_of(daemon.storage_url) as address:
            yield {**proxies, **local, "STORAGE_EMULATOR_HOST": address}
        return
    if suite.setting == "proxy":
        # The emulator's proxy passes connections to other hosts on to a proxy that does not exist.
        with _variable("https_proxy", _NOWHERE):
            yield {**shell_of(daemon), "HOME": str(work)}
        return
    shell = shell_variables(daemon, os.environ)
    if suite.setting == "account":
        with account.key_file(daemon, work) as key:
            del shell["STORAGE_EMULATOR_HOST"]  # with it, Google's client has no credentials
            credentials = {"GOOGLE_APPLICATION_CREDENTIALS": str(key), "API_ENDPOINT_OVERRIDE": daemon.url}
            yield {**shell, **proxies, **local, **credentials}
        return
    yield {**shell, **proxies, **local}


@contextmanager
def _variable(name: str, value: str) -> Iterator[None]:
    """Set a variable of the emulator's environment, which is that of this process."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]
        if before is not None:
            os.environ[name] = before


def _run_pytest(
    suite: PytestSuite, python: Path, environment: Mapping[str, str], work: Path
) -> results.Results:
    junit, plugins = work / "junit.xml", work / "programs"
    plugins.mkdir()
    shutil.copy(left_out_plugin.__file__, plugins)
    # The conformance tests start storage-testbench with docker. Here it already runs.
    docker = plugins / "docker"
    docker.write_text("#!/bin/sh\n")
    docker.chmod(0o755)
    left_out = [(each.tests, each.why) for each in suite.left_out]
    paths = [str(plugins), environment.get("PYTHONPATH", "")]
    command: list[str | Path] = [python, "-m", "pytest", *suite.tests, "-p", "left_out_plugin"]
    command += ["--quiet", "--color=no", f"--timeout={suite.seconds}", f"--junitxml={junit}", "--tb=short"]
    if suite.workers:
        command += ["-n", str(suite.workers)]
    subprocess.run(
        command,
        check=False,
        cwd=work / "source",
        stdout=sys.stderr,
        env={
            **environment,
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "PATH": f"{plugins}{os.pathsep}{python.parent}{os.pathsep}{os.environ['PATH']}",
            "SUITES_LEFT_OUT": json.dumps(left_out),
            "SUITES_ALIASES": json.dumps(suite.aliases),
        },
    )
    return results.read(suite, junit)


def _run_program(suite: GoSuite, program: Path, daemon: Daemon, work: Path) -> results.Results:
    subprocess.run(
        [program],
        check=False,
        cwd=work,
        stdout=sys.stderr,
        env={
            **os.environ,
            "OCI_REGISTRY": daemon.url.removeprefix("http://"),
            "OCI_TLS": "disabled",
            "OCI_USERNAME": "oauth2accesstoken",
            "OCI_PASSWORD": daemon.token,
            "OCI_REPO1": "docker.io/conformance/one",
            "OCI_REPO2": "docker.io/conformance/two",
            **dict.fromkeys(_ALSO, "true"),
            "OCI_RESULTS_DIR": str(work / "results"),
        },
    )
    return results.read(suite, work / "results" / "junit.xml")
