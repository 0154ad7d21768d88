"""The effects of `sitecustomize` on PYTHONPATH on a program, and no others."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from vertex_emulator.client.addresses import REDIRECT

ADDRESS = "http://127.0.0.1:9"


def run(code: str, *flags: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *flags, "-c", code],
        env={
            "PATH": "/usr/bin:/bin",
            "VERTEX_EMULATOR_HOST": ADDRESS,
            "PYTHONPATH": str(REDIRECT),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=300,
    )


def results(code: str, **environment: str) -> Any:
    done = run(f"import json\nfound = {{}}\n{code}\nprint(json.dumps(found))", **environment)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return json.loads(done.stdout)


CLIENTS = """
from google.auth.credentials import AnonymousCredentials
from google.cloud import aiplatform_v1
from google.api_core.client_options import ClientOptions
def made(client, **options):
    one = client(credentials=AnonymousCredentials(), **options)
    return [one.transport.kind, one.transport._host]
J = aiplatform_v1.JobServiceClient
WHOLE = "https://us-central1-aiplatform.googleapis.com"
found.update(
    plain=made(J),
    persistent=made(aiplatform_v1.PersistentResourceServiceClient),
    regional=made(J, client_options={"api_endpoint": "us-central1-aiplatform.googleapis.com"}),
    options=made(J, client_options=ClientOptions(api_endpoint="europe-west4-aiplatform.googleapis.com:443")),
    quota=made(J, client_options={"quota_project_id": "other"}),
    grpc=made(J, transport="grpc"),
    rest=made(J, transport="rest"),
    whole=made(J, client_options={"api_endpoint": WHOLE}, transport="rest"),
    other=made(J, client_options={"api_endpoint": "vertex.example.com:8443"}, transport="rest"),
)
given = {"api_endpoint": "us-central1-aiplatform.googleapis.com"}
made(J, client_options=given)
found["given"] = given
own = aiplatform_v1.services.job_service.transports.JobServiceRestTransport(
    host="own.example.com", credentials=AnonymousCredentials())
found["transport"] = J(transport=own).transport is own
try:
    aiplatform_v1.JobServiceAsyncClient(credentials=AnonymousCredentials())
except RuntimeError as error:
    found["asynchronous"] = str(error)
from google.cloud import logging
def logs(**options):
    one = logging.Client(project="p", credentials=AnonymousCredentials(), **options)
    return [one._use_grpc, one._connection.API_BASE_URL]
found.update(logs=logs(), other_logs=logs(client_options={"api_endpoint": "https://logging.example.com"}))
import inspect
found["parameters"] = list(inspect.signature(J).parameters)
"""


@pytest.fixture(scope="module")
def clients() -> Any:
    return results(CLIENTS)


@pytest.mark.parity("The interface: programs that call Google's clients")
@pytest.mark.parametrize(
    "case",
    [
        pytest.param("plain", id="without an endpoint"),
        pytest.param("persistent", id="of persistent resources"),
        pytest.param("regional", id="with a regional endpoint"),
        pytest.param("options", id="with an endpoint with a port"),
        pytest.param("quota", id="with other options only"),
        pytest.param("grpc", id="with gRPC by name"),
        pytest.param("rest", id="with REST by name"),
    ],
)
def test_a_client_goes_to_the_emulator(clients: Mapping[str, Any], case: str) -> None:
    assert clients[case] == ["rest", ADDRESS]


PACKAGES = (
    *("aiplatform_v1", "aiplatform_v1beta1", "artifactregistry_v1", "resourcemanager_v3"),
    *("cloudquotas_v1", "service_usage_v1", "secretmanager_v1"),
)
"""Google's packages whose clients are redirected."""

ALIKE = """
import google.cloud, importlib
google.cloud.__path__ = [FOLDER, *google.cloud.__path__]
for package in PACKAGES:
    module = importlib.import_module(f"google.cloud.{package}.services.some_service.client")
    client = module.SomeServiceClient()
    found[package] = [client.transport, client.client_options.api_endpoint]
"""


def test_clients_of_these_packages_go_to_the_emulator(tmp_path: Path) -> None:
    """Use a client with a constructor like Google's in each package: theirs take seconds to import."""
    for package in PACKAGES:
        folder = tmp_path / package / "services" / "some_service"
        folder.mkdir(parents=True)
        (tmp_path / package / "__init__.py").touch()
        (folder / "client.py").write_text(
            "class SomeServiceClient:\n"
            "    def __init__(self, *, transport=None, client_options=None):\n"
            "        self.transport, self.client_options = transport, client_options\n"
        )
    code = ALIKE.replace("PACKAGES", repr(PACKAGES)).replace("FOLDER", repr(str(tmp_path)))
    assert results(code) == {package: ["rest", ADDRESS] for package in PACKAGES}


OTHERS = """
from google.auth.credentials import AnonymousCredentials
from google.cloud import aiplatform_v1beta1, artifactregistry_v1, resourcemanager_v3
clients = (
    aiplatform_v1beta1.JobServiceClient,
    artifactregistry_v1.ArtifactRegistryClient,
    resourcemanager_v3.ProjectsClient,
)
for client in clients:
    one = client(credentials=AnonymousCredentials())
    found[client.__name__] = [one.transport.kind, one.transport._host]
"""


@pytest.mark.slow
@pytest.mark.parity("The interface: programs that call Google's clients")
def test_googles_clients_of_other_packages_go_to_the_emulator() -> None:
    names = ("JobServiceClient", "ArtifactRegistryClient", "ProjectsClient")
    assert results(OTHERS) == {name: ["rest", ADDRESS] for name in names}


@pytest.mark.parametrize(
    ("case", "host"),
    [
        pytest.param("whole", "https://us-central1-aiplatform.googleapis.com", id="with its scheme"),
        pytest.param("other", "https://vertex.example.com:8443", id="of another host"),
    ],
)
def test_an_address_that_is_left_as_it_is(clients: Mapping[str, Any], case: str, host: str) -> None:
    assert clients[case] == ["rest", host]


def test_a_transport_of_its_own_is_left_as_it_is(clients: Mapping[str, Any]) -> None:
    assert clients["transport"] is True


def test_the_callers_options_are_not_changed(clients: Mapping[str, Any]) -> None:
    assert clients["given"] == {"api_endpoint": "us-central1-aiplatform.googleapis.com"}


def test_an_asynchronous_client_says_that_it_cannot(clients: Mapping[str, Any]) -> None:
    assert "emulator env --proxy" in clients["asynchronous"]


WITH_PROXY = """
import os, sys
from google.cloud import logging
found.update(
    changed=[name for name in sys.modules if name.startswith("vertex_training")],
    finders=[type(each).__module__ for each in sys.meta_path if "vertex" in type(each).__module__],
    variables="STORAGE_EMULATOR_HOST" in os.environ,
)
"""


def test_with_the_proxy_nothing_is_changed() -> None:
    found = results(WITH_PROXY, https_proxy="http://emulator:secret@127.0.0.1:9")
    assert found == {"changed": [], "finders": [], "variables": False}


def test_the_signature_of_a_client_stays(clients: Mapping[str, Any]) -> None:
    assert clients["parameters"] == ["credentials", "transport", "client_options", "client_info"]


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        pytest.param("logs", [False, ADDRESS], id="without an endpoint"),
        pytest.param("other_logs", [True, "https://logging.example.com"], id="with another endpoint"),
    ],
)
def test_clients_of_cloud_logging(clients: Mapping[str, Any], case: str, expected: list[Any]) -> None:
    assert clients[case] == expected


@pytest.mark.parity("The interface: programs that call Google's clients")
def test_without_the_variable_clients_go_to_google() -> None:
    code = (
        "from google.auth.credentials import AnonymousCredentials\n"
        "from google.cloud.resourcemanager_v3 import ProjectsClient\n"
        "found['host'] = ProjectsClient(credentials=AnonymousCredentials()).transport._host"
    )
    assert results(code, VERTEX_EMULATOR_HOST="") == {"host": "cloudresourcemanager.googleapis.com:443"}


def test_nothing_is_imported_for_a_program_that_does_not_ask_for_it() -> None:
    code = "import sys\nfound['modules'] = sorted(sys.modules)"
    without = set(results(code, PYTHONPATH="")["modules"])
    assert set(results(code)["modules"]) - without <= {
        *(
            "sitecustomize",
            "vertex_training_redirect",
            "importlib.machinery",
            "importlib.util",
            "functools",
        ),
        *("collections", "collections.abc", "re", "sre_compile", "sre_constants", "sre_parse", "copyreg"),
        *("enum", "types", "typing", "operator", "_operator", "keyword", "reprlib", "_collections"),
        *(
            "_functools",
            "_sre",
            "_typing",
            "_weakrefset",
            "itertools",
            "contextlib",
            "typing.io",
            "typing.re",
        ),
        *("importlib", "importlib._abc", "importlib._bootstrap", "importlib._bootstrap_external", "warnings"),
        *("re._casefix", "re._compiler", "re._constants", "re._parser", "__future__", "threading", "_thread"),
    }


def test_another_sitecustomize_is_run_as_well(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import builtins\nbuiltins.mine = __file__\n")
    code = "import sitecustomize\nfound.update(mine=mine, module=sitecustomize.__file__)"
    path = f"{REDIRECT}:{tmp_path}"
    file = str(tmp_path / "sitecustomize.py")
    assert results(code, PYTHONPATH=path) == {"mine": file, "module": file}


def test_another_sitecustomize_is_run_without_the_emulator(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import builtins\nbuiltins.mine = 1\n")
    path = f"{REDIRECT}:{tmp_path}"
    assert results("found['mine'] = mine", PYTHONPATH=path, VERTEX_EMULATOR_HOST="") == {"mine": 1}


def test_the_failure_of_another_sitecustomize_is_its_own(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("raise ValueError('broken here')\n")
    done = run("print('runs')", PYTHONPATH=f"{REDIRECT}:{tmp_path}")
    assert (done.returncode, done.stdout, "broken here" in done.stderr) == (0, "runs\n", True)


def test_an_import_that_fails_fails_as_it_would_have() -> None:
    code = """
try:
    import google.cloud.resourcemanager_v3.services.no_such.client
except ModuleNotFoundError as error:
    found["name"] = error.name
"""
    assert results(code) == {"name": "google.cloud.resourcemanager_v3.services.no_such"}


def test_a_client_module_that_is_built_otherwise_is_imported_all_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "google/cloud/logging_v2"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "client.py").write_text("value = 7\n")
    code = "import google.cloud.logging_v2.client as c\nprint(c.value)"
    # Without site-packages, where `google` is a package of another kind.
    bare = "import sys\nsys.path = [each for each in sys.path if 'site-packages' not in each]\n"
    forget = "for name in ('google', 'google.cloud'): sys.modules.pop(name, None)\n"
    done = run(bare + forget + code, PYTHONPATH=f"{REDIRECT}:{tmp_path}")
    assert (done.returncode, done.stdout) == (0, "7\n")
    assert "logging_v2.client" in done.stderr
