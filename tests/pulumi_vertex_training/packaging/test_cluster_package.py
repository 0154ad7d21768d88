"""`vertex_cluster` in packages and images: its own files, from wherever it is installed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import vertex_cluster
from pulumi_vertex_training.images import ImageSource, plan_image
from pulumi_vertex_training.packaging.build import build_package
from pulumi_vertex_training.packaging.cluster_package import CLUSTER, OTHER_FILES, cluster_files
from pulumi_vertex_training.packaging.errors import PackagingError
from support.builds import built_packages

WriteTree = Callable[[str, Mapping[str, str]], Path]
PROJECT = {"pyproject.toml": '[project]\nname = "net"\nversion = "1"\n', "src/net/task.py": ""}


def names(paths: object) -> set[str]:
    return {str(path) for path in paths if str(path).startswith(f"{CLUSTER}/")}  # type: ignore[attr-defined]


@pytest.mark.parametrize("form", ["wheel", "sdist"])
def test_every_kind_of_source_gets_the_package(tree: WriteTree, form: str) -> None:
    script = tree("x", {"task.py": "import vertex_cluster"}) / "task.py"
    for source, root in (
        (script, ""),
        (tree("net", {"task.py": ""}), ""),
        (tree("p", PROJECT), "src/" if form == "sdist" else ""),
    ):
        package = build_package(source, format=form, vertex_cluster=True)  # type: ignore[arg-type]
        assert isinstance(package.content, tuple)
        found = names(entry.path.removeprefix(root) for entry in package.content)
        assert found == set(cluster_files())
        assert package.python_module in ("trainer.task", "net.task")


def test_an_installed_copy_with_other_bytecode_has_the_same_bytes(tree: WriteTree, tmp_path: Path) -> None:
    """Compare this checkout with a copy that has only the installed files, in another Python process."""
    folder = Path(vertex_cluster.__file__).parent
    installed = tmp_path / "site"
    for path, file in cluster_files().items():
        (installed / path).parent.mkdir(parents=True, exist_ok=True)
        (installed / path).write_bytes(file.read_bytes())
    (installed / CLUSTER / "__pycache__").mkdir()
    (installed / CLUSTER / "__pycache__" / "cluster.cpython-39.pyc").write_bytes(b"other bytecode")
    source = tree("net", {"task.py": "", "Dockerfile": f"FROM scratch\nCOPY --from={CLUSTER} . /c\n"})
    code = (
        f"import sys; sys.path.insert(0, {str(installed)!r})\n"
        "from pathlib import Path\n"
        "from pulumi_vertex_training.images import ImageSource, plan_image\n"
        "from pulumi_vertex_training.packaging.build import build_package\n"
        "from pulumi_vertex_training.packaging.cluster_package import OTHER_FILES, cluster_folder\n"
        f"source = Path({str(source)!r})\n"
        "print(cluster_folder(), build_package(source, vertex_cluster=True).sha256, plan_image(ImageSource(\n"
        "    source=source, dockerfile='Dockerfile', build_contexts={'vertex_cluster': cluster_folder()},\n"
        "    context_excludes={'vertex_cluster': OTHER_FILES})).content_hash)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    plan = plan_image(
        ImageSource(
            source=source,
            dockerfile="Dockerfile",
            build_contexts={CLUSTER: folder},
            context_excludes={CLUSTER: OTHER_FILES},
        )
    )
    ours = build_package(source, vertex_cluster=True).sha256
    assert said.split() == [str(installed / CLUSTER), ours, plan.content_hash]
    taken = {
        node.path for selection in plan.selections.values() for one in selection.picked for node in one.nodes
    }
    assert {path for path in taken if path.endswith((".py", ".toml", ".typed"))} == {
        path.removeprefix(f"{CLUSTER}/") for path in cluster_files()
    }


def test_a_source_that_has_the_package_already_is_refused_once(tree: WriteTree) -> None:
    own = {f"src/{CLUSTER}/{name}": "" for name in ("__init__.py", "cluster.py", "paths.py")}
    for form in ("wheel", "sdist"):
        with pytest.raises(PackagingError) as caught:
            build_package(tree(form, {**PROJECT, **own}), format=form, vertex_cluster=True)  # type: ignore[arg-type]
        (problem,) = caught.value.problems
        assert str(problem).startswith("vertex_cluster: the source has a package of this name already")


def test_it_is_given_once_and_not_for_a_finished_package(tree: WriteTree, tmp_path: Path) -> None:
    with pytest.raises(PackagingError, match="vertex_cluster: extra_files has vertex_cluster already"):
        extra = tree("other", {"__init__.py": ""})
        build_package(tree("net", {"task.py": ""}), extra_files={CLUSTER: extra}, vertex_cluster=True)
    with pytest.raises(PackagingError, match="vertex_cluster: cannot be applied to net"):
        build_package(built_packages.wheel(tmp_path), vertex_cluster=True)


def test_a_package_that_imports_it_and_lacks_it_is_warned_of(tree: WriteTree) -> None:
    source = tree(
        "net", {"task.py": "import os\nimport vertex_cluster.paths\n", "other.py": "vertex_cluster = 1\n"}
    )
    (problem,) = build_package(source).problems
    assert (problem.level, str(problem)) == (
        "warning",
        "net/task.py:2: imports 'vertex_cluster', which is not in the package. Set vertex_cluster=True, "
        "unless another package of the job has it.",
    )
    assert build_package(source, vertex_cluster=True).problems == ()
    assert build_package(source, requirements=["vertex-cluster"]).problems == ()
    optional = tree("opt", {"task.py": "try:\n    import vertex_cluster\nexcept ImportError:\n    pass\n"})
    assert build_package(optional).problems == ()
