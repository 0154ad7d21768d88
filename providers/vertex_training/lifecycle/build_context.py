"""The build context of a plan as a folder of its own, for whoever builds a Dockerfile with RUN.

What .dockerignore and `exclude` leave out is not in it, so every tool sees what was hashed.
"""

from __future__ import annotations

import io
import shutil
import tarfile
from pathlib import Path

from vertex_training.packaging.images import ImagePlan
from vertex_training.packaging.images.context import ignore_rules, read_context
from vertex_training.packaging.images.tree import Node


def write_context(plan: ImagePlan, folder: Path) -> tuple[Path, Path]:
    """Copy the context below `folder`; the paths of the context and of the Dockerfile beside it.

    Raises OSError, and ValueError for a plan without a Dockerfile.
    """
    source = plan.source
    if source.dockerfile is None:
        raise ValueError("only a Dockerfile can have a RUN")
    ignore, _ = ignore_rules(source.source, source.dockerfile, source.exclude)
    context = folder / "context"
    context.mkdir()
    nodes = read_context(source.source, ignore).tree.nodes
    for path, node in sorted(nodes.items()):
        _write(node, context / path)
    dockerfile = folder / "Dockerfile"
    shutil.copyfile(source.source / source.dockerfile, dockerfile)
    return context, dockerfile


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
