"""Lean packages: what they do not load, and that nobody can tell the difference afterwards."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
import uuid
from pathlib import Path

import pytest

from pulumi_vertex_training.cloud.imports import import_lean


def in_fresh_process(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a package whose `__init__` counts its runs and imports names from its submodule."""
    name = f"big_{uuid.uuid4().hex}"
    folder = tmp_path / name
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "import time\n"
        "runs = globals().get('runs', 0) + 1\n"
        "time.sleep(0.05)\n"
        "from .small import Small\n"
        "from . import other\n"
        "__all__ = ('Small', 'other', 'answer')\n"
        "answer = 42\n"
    )
    (folder / "small.py").write_text("class Small: pass\n")
    (folder / "other.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


def test_a_submodule_is_imported_without_running_the_package(package: str) -> None:
    small = import_lean(f"{package}.small", packages=frozenset({package}))
    assert small.Small.__module__ == f"{package}.small"
    assert "runs" not in vars(sys.modules[package])


def test_a_name_of_the_package_runs_it_once_and_keeps_what_was_loaded(package: str) -> None:
    small = import_lean(f"{package}.small", packages=frozenset({package}))
    lean = sys.modules[package]
    assert lean.answer == 42
    assert (lean.runs, lean.Small) == (1, small.Small)
    assert sys.modules[package] is lean
    assert "__getattr__" not in vars(lean) and "__dir__" not in vars(lean)
    with pytest.raises(AttributeError, match="has no attribute 'missing'"):
        _ = lean.missing


def test_threads_that_need_the_package_at_once_run_it_once(package: str) -> None:
    import_lean(f"{package}.small", packages=frozenset({package}))
    lean, start, seen = sys.modules[package], threading.Barrier(8), []

    def use() -> None:
        start.wait()
        seen.append((lean.answer, lean.other.value, lean.Small))

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 8
    assert len(set(seen)) == 1
    assert lean.runs == 1


def test_a_missing_name_says_so_and_a_failed_run_is_tried_again(tmp_path: Path, package: str) -> None:
    import_lean(f"{package}.small", packages=frozenset({package}))
    source = tmp_path / package / "__init__.py"
    whole = source.read_text()
    source.write_text("raise RuntimeError('half installed')\n")
    lean = sys.modules[package]
    with pytest.raises(RuntimeError, match="half installed"):
        _ = lean.answer
    source.write_text(whole + "# longer, so that the bytecode of the first is not taken\n")
    assert lean.answer == 42
    with pytest.raises(AttributeError, match="no attribute 'missing'"):
        _ = lean.missing


def test_star_import_and_dir_see_the_whole_package(package: str) -> None:
    import_lean(f"{package}.small", packages=frozenset({package}))
    names: dict[str, object] = {}
    exec(f"from {package} import *", names)
    assert names["answer"] == 42
    assert {"Small", "answer", "other"} <= set(dir(sys.modules[package]))


def test_dir_alone_loads_it(package: str) -> None:
    import_lean(f"{package}.small", packages=frozenset({package}))
    assert "answer" in dir(sys.modules[package])


def test_a_package_that_was_imported_before_stays_as_it_is(package: str) -> None:
    before = __import__(package)
    import_lean(f"{package}.small", packages=frozenset({package}))
    assert sys.modules[package] is before
    assert before.runs == 1


def test_importing_the_package_imports_no_google_package() -> None:
    out = in_fresh_process(
        """
        import sys
        before = set(sys.modules)
        import pulumi_vertex_training.kinds.custom_job.gateway
        import pulumi_vertex_training.kinds.staging_bucket.gateway
        import pulumi_vertex_training.cloud.objects
        import pulumi_vertex_training.cloud.logs
        import pulumi_vertex_training.cloud.emulator_api
        heavy = ("google", "requests", "urllib3", "grpc", "proto")
        print(sorted(m for m in set(sys.modules) - before if m.partition(".")[0] in heavy))
        """
    )
    assert out.strip() == "[]"


def test_the_job_client_leaves_most_of_the_package_alone() -> None:
    out = in_fresh_process(
        """
        import sys
        from pulumi_vertex_training.cloud import clients
        from pulumi_vertex_training.cloud.endpoint import Endpoint
        local = dict(kind="emulator", project="p", location="l", url="http://127.0.0.1:1", token="t")
        clients.job_service(Endpoint(**local))
        print(sorted(m for m in sys.modules if m.startswith("google.cloud.aiplatform_v1.services.")
                     and m.count(".") == 4))
        print("google.cloud.aiplatform" in sys.modules)
        """
    )
    assert out.split("\n")[:2] == ["['google.cloud.aiplatform_v1.services.job_service']", "False"]


@pytest.mark.slow
def test_googles_own_packages_work_after_the_lean_import() -> None:
    out = in_fresh_process(
        """
        import warnings
        from pulumi_vertex_training.cloud.imports import import_lean
        lean = import_lean("google.cloud.aiplatform_v1.services.job_service")
        import google.cloud.aiplatform_v1 as v1
        assert "EndpointServiceClient" not in vars(v1)
        assert v1.EndpointServiceClient.__name__ == "EndpointServiceClient"
        assert v1.JobServiceClient is lean.JobServiceClient
        assert v1.types.CustomJob is v1.types.custom_job.CustomJob is v1.CustomJob
        warnings.simplefilter("default")
        from google.cloud import aiplatform
        assert aiplatform.CustomJob
        """
    )
    assert out == ""
