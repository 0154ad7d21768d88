"""The build context of a plan as a folder of its own, for whoever builds a Dockerfile with RUN.

What .dockerignore and `exclude` leave out is not in it, so every tool sees what was hashed.
"""

from __future__ import annotations

import io
import shutil
import tarfile
from pathlib import Path

from pulumi_vertex_training.images import ImagePlan
from pulumi_vertex_training.images.files.context import Context, ignore_rules, read_context
from pulumi_vertex_training.images.files.tree import Node
from pulumi_vertex_training.images.stages.origins import read_named_context


def write_context(plan: ImagePlan, folder: Path) -> tuple[Path, Path]:
    """Copy the context below `folder`; the paths of the context and of the Dockerfile beside it.

    Raises OSError, and ValueError for a plan without a Dockerfile.
    """
    source = plan.source
    if source.dockerfile is None:
        raise ValueError("only a Dockerfile can have a RUN")
    ignore, _ = ignore_rules(source.source, source.dockerfile, source.exclude)
    context = _written(read_context(source.source, ignore), folder / "context")
    dockerfile = folder / "Dockerfile"
    shutil.copyfile(source.source / source.dockerfile, dockerfile)
    return context, dockerfile


def write_named_contexts(plan: ImagePlan, folder: Path) -> dict[str, Path]:
    """Copy the named contexts below `folder`; the path of each. Raises OSError."""
    (folder / "contexts").mkdir()
    return {
        name: _written(read_named_context(name, outside), folder / "contexts" / str(number))
        for number, (name, outside) in enumerate(sorted(plan.source.build_contexts.items()))
    }


def pack_context(plan: ImagePlan, folder: Path) -> Path:
    """The same as one file for Cloud Build: `context/` and `Dockerfile` in a tar.gz."""
    write_context(plan, folder)
    packed = folder / "source.tar.gz"
    with tarfile.open(packed, "w:gz", compresslevel=1) as archive:
        archive.add(folder / "context", "context", filter=_plain)
        text = (folder / "Dockerfile").read_bytes()
        member = _plain(tarfile.TarInfo("Dockerfile"))
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text))
    return packed


def _written(context: Context, folder: Path) -> Path:
    folder.mkdir()
    for path, node in sorted(context.tree.nodes.items()):
        _write(node, folder / path)
    return folder


def _write(node: Node, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if node.kind == "folder":
        target.mkdir(exist_ok=True)
    elif node.kind == "link":
        target.symlink_to(node.link)
    elif node.kind == "file" and isinstance(node.content, Path):
        shutil.copyfile(node.content, target)
        target.chmod(node.mode)


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mtime = 0
    return member
