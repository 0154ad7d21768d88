"""The examples in YAML, TypeScript and Go train on the real engine; those of the schema compile."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from pulumi_vertex_training.package.wire.messages import SCHEMA
from scripts.arguments.catalog import PACKAGE, ROOT
from scripts.layout import layout
from scripts.tools import client_tools, go_caches, pulumi_languages
from support.client.engine import Engine
from support.client.package_plugin import install_plugin
from support.clients import language_host
from support.clients.tools import missing, tool

_MODULE = "example.com/pulumi-vertex-training/sdk/go/vertextraining"
_SCHEMA = PACKAGE / "package" / SCHEMA
COMPILED = (pytest.mark.slow, pytest.mark.timeout(2400))
"""A busy machine with an empty cache compiles Pulumi's SDK for many minutes."""


def installed(path: Path) -> Path:
    """Return a path of `make tools`. Without it the test is skipped, or fails if CI is set."""
    if not path.exists():
        missing(f"{path.name} is not installed. To run this test, install Go and Node, and run `make tools`")
    return path


def schema_examples(language: str) -> dict[str, str]:
    """Return the examples of the schema in a language by the names of their resources."""
    resources = json.loads(_SCHEMA.read_text())["resources"]
    pattern = re.compile(rf"```{language}\n(.*?)\n```", re.DOTALL)
    return {
        token.rpartition(":")[2]: "\n\n".join(pattern.findall(one["description"]))
        for token, one in resources.items()
    }


def written(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def run(command: list[str | Path], folder: Path) -> None:
    env = {**go_caches.environment(layout().cache, os.environ), "GOFLAGS": "-mod=mod -modcacherw"}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


def sdk(folder: Path, language: str) -> Path:
    """Write the SDK of a language, as `pulumi package add` does. Return its folder."""
    everything = folder / "sdks"
    run([installed(pulumi_languages.generator(layout())), _SCHEMA, everything], folder)
    return everything / language


def prepare_yaml(_folder: Path) -> None:
    tool("pulumi-language-yaml", path=client_tools.path(layout(), os.environ["PATH"]))


def prepare_typescript(folder: Path) -> None:
    """Compile the SDK and the program, and check the types of the schema's examples."""
    tool("node")
    libraries = installed(pulumi_languages.node_modules(layout()))
    package, modules = sdk(folder, "nodejs"), folder / "node_modules"
    modules.mkdir()
    for library in libraries.iterdir():
        (modules / library.name).symlink_to(library)
    compiler = libraries / ".bin/tsc"
    run([compiler, "-p", package], folder)
    shutil.copy(package / "package.json", package / "bin")
    (modules / "pulumi-vertex-training").symlink_to(package)
    written(folder, {f"schema/{name}.ts": text for name, text in schema_examples("typescript").items()})
    run([compiler, "-p", "."], folder)
    options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "--skipLibCheck"]
    run([compiler, *options, *sorted((folder / "schema").iterdir())], folder)
    settings = json.loads((folder / "package.json").read_text())
    (folder / "package.json").write_text(json.dumps({**settings, "main": "bin/index.js"}))


def prepare_go(folder: Path) -> None:
    """Compile the program with the SDK, and check the types of the schema's examples."""
    tool("go")
    shutil.move(sdk(folder, "go") / "vertextraining", folder / "vertextraining")
    shutil.rmtree(folder / "sdks")
    modules = (ROOT / "tools/pulumi-sdk/go.mod").read_text()
    path = f"require {_MODULE} v0.0.0\n\nreplace {_MODULE} => ./vertextraining\n"
    shutil.copy(ROOT / "tools/pulumi-sdk/go.sum", folder / "go.sum")
    written(
        folder, {"go.mod": f"{modules}\n{path}", "vertextraining/go.mod": f"module {_MODULE}\n\ngo 1.24\n"}
    )
    written(folder, {f"schema/{name}/main.go": text for name, text in schema_examples("go").items()})
    run(["go", "vet", "./schema/..."], folder)
    run(["go", "build", "-trimpath", "-buildvcs=false", "-o", "bin/program", "."], folder)


@pytest.mark.parametrize(
    ("language", "runtime", "prepare"),
    [
        # Programs in YAML: test_yaml_programs.py, tests/engine/pages/test_readme_programs.py
        pytest.param("yaml", "yaml", prepare_yaml, marks=pytest.mark.slow),
        pytest.param("typescript", "nodejs", prepare_typescript, marks=COMPILED),
        pytest.param("go", "go", prepare_go, marks=COMPILED),
    ],
)
def test_the_example_trains(
    language: str, runtime: str, prepare: Callable[[Path], None], engine: Engine
) -> None:
    shutil.copytree(ROOT / "examples/digits", engine.folder.parent / "digits")
    shutil.copytree(ROOT / "examples" / language, engine.folder, dirs_exist_ok=True)
    project = yaml.safe_load((engine.folder / "Pulumi.yaml").read_text())
    assert project["runtime"] == runtime
    (engine.folder / "Pulumi.yaml").write_text(yaml.safe_dump({**project, "name": "engine-test"}))
    prepare(engine.folder)
    hosts = engine.folder.parent / "hosts"
    if runtime in language_host.NAMES:
        language_host.install(hosts, runtime)
    engine.environment["PATH"] = f"{hosts}:{client_tools.path(layout(), engine.environment['PATH'])}"
    install_plugin(engine.environment)
    if language == "yaml":
        bound = engine.run("package", "get-schema", "vertex-training").ok().output
        assert json.loads(bound[bound.index("{") :]).keys() == json.loads(_SCHEMA.read_text()).keys()
    created = engine.up().ok()
    assert "5 created" in created.output
    assert engine.outputs()["state"] == "SUCCEEDED"
    assert engine.outputs()["metrics"]["accuracy"] > 0.5
    engine.preview("--expect-no-changes").ok()
