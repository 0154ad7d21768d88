"""Names, modules, metadata and warnings of packages made from a script or a folder of modules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from pulumi_vertex_training.packaging.errors import PackagingError
from pulumi_vertex_training.packaging.package import Package
from support.client.builds.packages import build_sdist

WriteTree = Callable[[str, Mapping[str, str]], Path]


def problem(source: Path, **options: object) -> str:
    with pytest.raises(PackagingError) as caught:
        build_sdist(source, **options)  # type: ignore[arg-type]
    (found,) = caught.value.problems
    assert found.level == "error"
    return str(found)


def file(package: Package, path: str) -> str:
    assert not isinstance(package.content, Path)
    (content,) = [entry.content for entry in package.content if entry.path == path]
    return content.decode() if isinstance(content, bytes) else content.read_text()


@pytest.mark.parametrize(
    ("script", "name", "file_name", "module"),
    [
        ("task.py", None, "trainer-0.1.0.tar.gz", "trainer.task"),
        ("train-mnist v2.py", None, "trainer-0.1.0.tar.gz", "trainer.train_mnist_v2"),
        ("task.py", "digits", "digits-0.1.0.tar.gz", "digits.task"),
        ("task.py", "My-Digits.v2", "my_digits_v2-0.1.0.tar.gz", "My_Digits_v2.task"),
        ("__main__.py", None, "trainer-0.1.0.tar.gz", "trainer"),
    ],
)
def test_a_script_becomes_a_module(
    tree: WriteTree, script: str, name: str | None, file_name: str, module: str
) -> None:
    package = build_sdist(tree("some folder", {script: "print()"}) / script, name=name)
    assert (package.kind, package.file_name, package.python_module) == ("script", file_name, module)
    assert package.python_modules == (module,)
    assert package.problems == ()


@pytest.mark.parametrize(
    ("folder", "files", "file_name", "module", "modules"),
    [
        ("digits", ["task.py"], "digits-0.1.0.tar.gz", "digits.task", ["digits.task"]),
        (
            "my-net.2",
            ["task.py", "__init__.py", "a/b.py"],
            "my_net_2-0.1.0.tar.gz",
            "my_net_2.task",
            ["my_net_2.a.b", "my_net_2.task"],
        ),
        ("_net", ["__main__.py", "model.py"], "net-0.1.0.tar.gz", None, ["_net", "_net.model"]),
        ("net", ["__main__.py", "model.py"], "net-0.1.0.tar.gz", "net", ["net", "net.model"]),
        ("net", ["train.py"], "net-0.1.0.tar.gz", "net.train", ["net.train"]),
        ("net", ["train.py", "model.py"], "net-0.1.0.tar.gz", None, ["net.model", "net.train"]),
        ("net", ["x.py", "a/task.py"], "net-0.1.0.tar.gz", "net.a.task", ["net.a.task", "net.x"]),
        (
            "net",
            ["x.py", "a/task.py", "b/task.py"],
            "net-0.1.0.tar.gz",
            None,
            ["net.a.task", "net.b.task", "net.x"],
        ),
        ("net", ["task.py", "a/task.py"], "net-0.1.0.tar.gz", "net.task", ["net.a.task", "net.task"]),
        ("net", ["task.py", "a-b/c.py", "2.py"], "net-0.1.0.tar.gz", "net.task", ["net.task"]),
    ],
)
def test_a_folder_becomes_the_package_of_its_name(
    tree: WriteTree, folder: str, files: list[str], file_name: str, module: str | None, modules: list[str]
) -> None:
    package = build_sdist(tree(folder, dict.fromkeys(files, "print()")))
    assert (package.kind, package.file_name, package.python_module) == ("folder", file_name, module)
    assert package.python_modules == tuple(modules)


def test_name_and_version_of_a_folder_rename_the_distribution_only(tree: WriteTree) -> None:
    package = build_sdist(tree("digits", {"task.py": ""}), name="acme-digits", version="1.02-rc3")
    assert package.file_name == "acme_digits-1.2rc3.tar.gz"
    assert package.python_module == "digits.task"
    assert file(package, "PKG-INFO") == "Metadata-Version: 2.2\nName: acme-digits\nVersion: 1.02-rc3\n"


def test_requirements_are_metadata(tree: WriteTree) -> None:
    given = ["torch >= 2 ; sys_platform == 'linux'", "numpy", "x @ https://example.org/x-1.whl", " numpy "]
    package = build_sdist(tree("digits", {"task.py": ""}), requirements=given)
    cleaned = ("numpy", "torch >= 2 ; sys_platform == 'linux'", "x @ https://example.org/x-1.whl")
    assert package.requirements == cleaned
    assert f"install_requires={list(cleaned)!r}" in file(package, "setup.py")
    assert [line[15:] for line in file(package, "PKG-INFO").splitlines()[3:]] == list(cleaned)


@pytest.mark.parametrize(
    ("requirement", "reason"),
    [
        ("numpy>=", "expected"),
        ("-r requirements.txt", "a package cannot have options of pip."),
        ("--index-url https://example.org", "a package cannot have options of pip."),
        ("./wheels/net-1-py3-none-any.whl", "a path does not exist on a replica."),
        ("", "expected"),
    ],
)
def test_other_requirements_are_refused(tree: WriteTree, requirement: str, reason: str) -> None:
    found = problem(tree("digits", {"task.py": ""}), requirements=["numpy", requirement])
    assert found.startswith(f"requirements[1]: {requirement!r} is not a requirement: {reason}")


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("gone", {}, "source: {root}/gone does not exist. Correct the path."),
        ("empty", {}, "source: {root}/empty has no Python file. Use the folder with the program."),
        ("data", {}, "source: {root}/data has no Python file. Use the folder with the program."),
        ("empty.py", {}, "source: {root}/empty.py is empty. Write a program into it."),
        ("notes.txt", {}, "source: {root}/notes.txt is not a Python script, a folder, a .whl or a .tar.gz."),
        (
            "outer",
            {},
            "source: {root}/outer has no modules, only folders with modules (such as net).",
        ),
        (
            "2024-run",
            {},
            "source: the module would be called '2024_run', which Python cannot import. Rename the folder.",
        ),
        (
            "json",
            {},
            "source: the module would be called 'json', like one of Python's standard library. Rename the",
        ),
        (
            "1.py",
            {},
            "source: the module would be called '1', which Python cannot import. Rename the script.",
        ),
        (
            "class.py",
            {},
            "source: the module would be called 'class', which Python cannot import. Rename the script.",
        ),
        (
            "ok.py",
            {"name": "code"},
            "name: the module would be called 'code', like one of Python's standard library.",
        ),
        ("net", {"name": "-net"}, "name: '-net' is not a package name:"),
        ("net", {"name": "net\n"}, "name: 'net\\n' is not a package name:"),
        ("net", {"version": "latest"}, "version: 'latest' is not a version that pip understands."),
    ],
)
def test_what_cannot_be_packed(
    tree: WriteTree, source: str, options: dict[str, object], message: str
) -> None:
    root = tree(
        "root",
        {
            "data/x.csv": "",
            "empty.py": "",
            "notes.txt": "x",
            "outer/net/task.py": "",
            "outer/README.md": "",
            "2024-run/task.py": "",
            "json/task.py": "",
            "1.py": "print()",
            "class.py": "print()",
            "ok.py": "print()",
            "net/task.py": "",
        },
    )
    (root / "empty").mkdir()
    assert problem(root / source, **options).startswith(message.format(root=root))


def test_a_relative_source_is_looked_for_in_the_working_folder(
    tree: WriteTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree("digits", {"task.py": "print()"})
    monkeypatch.chdir(root)
    assert build_sdist(Path()).python_module == "digits.task"
    assert build_sdist(Path("task.py")).python_module == "trainer.task"
    assert problem(Path("tsk.py")) == f"source: tsk.py does not exist in {root}. Correct the path."


def warnings(source: Path, **options: object) -> list[str]:
    package = build_sdist(source, **options)  # type: ignore[arg-type]
    assert {found.level for found in package.problems} <= {"warning"}
    unchecked = build_sdist(source, check_sources=False, **options)  # type: ignore[arg-type]
    assert unchecked.problems == ()
    assert unchecked.sha256 == package.sha256
    return [str(found) for found in package.problems]


def test_syntax_errors_are_warnings_with_file_and_line(tree: WriteTree) -> None:
    sources = {
        "task.py": "x = 1\n\ndef f(:\n    pass\n",
        "sub/print.py": "print 'old'\n",
        "null.py": "x = '\0'",
        "escape.py": r"x = '\d'" + "\n",
        "coding.py": "# -*- coding: nonsense -*-\n",
        "await.py": "await f()\n",
        "fine.py": "def f() -> None: ...\n",
        "data.txt": "def def",
    }
    found = warnings(tree("digits", sources))
    assert [message.partition(": ")[0] for message in found] == [
        "await.py:1",
        "coding.py",
        "null.py",
        "sub/print.py:1",
        "task.py:3",
    ]
    assert found[-1].endswith(
        "cannot compile it: invalid syntax. Correct it unless the replicas' Python is newer."
    )


def test_many_syntax_errors_are_cut_short(tree: WriteTree) -> None:
    found = warnings(tree("digits", {f"m{number:02}.py": "(" for number in range(25)}))
    assert len(found) == 21
    assert found[-1] == "5 more files have syntax errors."


def test_imports_of_siblings_as_top_level_modules_are_warned_of(tree: WriteTree) -> None:
    sources = {
        "task.py": "import os\nimport model, layers.conv\n\ndef main():\n    from model import Net\n",
        "model.py": "from . import layers\nfrom digits import task\nimport random\nimport cluster\n",
        "layers/conv.py": "try:\n    import model\nexcept ImportError:\n    from digits import model\n",
        "layers/pool.py": "if True:\n    from model import Net\n",
        "random.py": "",
        "cluster.py": "",
        "notes.py": "'''\nimport model\n'''\n",
    }
    root = tree("digits", sources)
    found = warnings(root, extra_files={"cluster": root / "layers"})
    assert [message.partition(", but in")[0] for message in found] == [
        "layers/pool.py:2: imports 'model'",
        "task.py:2: imports 'model'",
        "task.py:2: imports 'layers'",
    ]
    assert found[0].endswith(
        "in the package it is 'digits.model'. Write `from digits import model`, or add a "
        "pyproject.toml with another layout."
    )


def test_a_script_that_imports_its_neighbours_is_warned_of(tree: WriteTree) -> None:
    sources = {
        "task.py": "import numpy, helpers\nfrom nets.conv import Net\nimport data\n",
        "helpers.py": "",
        "nets/__init__.py": "",
        "data/x.csv": "",
    }
    script = tree("digits", sources) / "task.py"
    script.with_name("other.py").write_text("import numpy, helpers\n")
    assert len(warnings(script.with_name("other.py"))) == 1
    found = warnings(script)
    assert [message.partition(", which")[0] for message in found] == [
        "task.py:1: imports 'helpers'",
        "task.py:2: imports 'nets'",
    ]
    assert warnings(script, extra_files={"helpers.py": script, "nets": script.parent / "nets"}) == []
