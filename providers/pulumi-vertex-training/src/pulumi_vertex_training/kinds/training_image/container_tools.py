"""Build a Dockerfile with RUN instructions by docker, podman or buildah.

The tool builds the image and saves it as an archive in docker's format. The provider pushes it, so the tool's
registry credentials do not matter.

The build context is a copy without the files that .dockerignore and `exclude` leave out, so every tool sees
exactly the files that were hashed.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import tarfile
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pulumi_vertex_training.images import ImagePlan
from pulumi_vertex_training.images.files.context import Context, ignore_rules, read_context
from pulumi_vertex_training.images.files.tree import Node
from pulumi_vertex_training.images.stages.origins import read_named_context
from pulumi_vertex_training.kinds.training_image.spec import Builder
from pulumi_vertex_training.packaging.errors import PackagingError
from pulumi_vertex_training.timeouts import ORDINARY, Timeouts
from vertex_training.findings.problems import Problem
from vertex_training.findings.words import all_of, shown

ToolName = Literal["docker", "podman", "buildah"]
TOOLS: tuple[ToolName, ...] = ("docker", "podman", "buildah")

_SOCKETS = (Path("/var/run/docker.sock"), Path.home() / ".docker/run/docker.sock")
_LAST_LINES = 12

Tell = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A container tool on this machine."""

    name: ToolName
    path: str


def find_tool(names: Sequence[ToolName] = TOOLS) -> Tool | None:
    """Return the first tool that is installed and usable, or None. docker needs its daemon's socket."""
    for name in names:
        path = shutil.which(name)
        if path and (name != "docker" or _has_daemon()):
            return Tool(name=name, path=path)
    return None


def build(tool: Tool, plan: ImagePlan, folder: Path, *, tell: Tell, timeouts: Timeouts = ORDINARY) -> Path:
    """Build the plan's Dockerfile, and return the archive of the image, a file in `folder`.

    `tell` is called with each line that the tool prints. Raises PackagingError, at the line of the first RUN,
    with the last lines of the tool.
    """
    context, dockerfile = write_context(plan, folder)
    image_id = folder / "image-id"
    options = ["--file", str(dockerfile), "--iidfile", str(image_id), *build_options(plan)]
    for name, path in write_named_contexts(plan, folder).items():
        options += ["--build-context", f"{name}={path}"]
    if tool.name == "buildah" and "BUILDAH_ISOLATION" not in os.environ:
        # chroot needs no network set-up and no privileges; the other tools keep their configured isolation.
        options += ["--isolation", "chroot"]
    _run(tool, plan, ["build", *options, str(context)], tell)
    built = image_id.read_text().strip()
    archive = folder / "image.tar"
    try:
        if tool.name == "buildah":
            _run(tool, plan, ["push", built, f"docker-archive:{archive}"], tell)
        elif tool.name == "podman":
            _run(tool, plan, ["save", "--format", "docker-archive", "--output", str(archive), built], tell)
        else:
            _run(tool, plan, ["save", "--output", str(archive), built], tell)
    finally:
        subprocess.run(  # noqa: S603  no shell, and the tool's own path
            [tool.path, "rmi", built], check=False, capture_output=True, timeout=timeouts.image_removal
        )
    return archive


def build_options(plan: ImagePlan) -> tuple[str, ...]:
    """Return the options that the `build` command of every tool takes."""
    source = plan.source
    arguments = [f"{name}={value}" for name, value in source.build_args.items()]
    return (
        *("--platform", source.platform),
        *(part for argument in arguments for part in ("--build-arg", argument)),
        *(("--target", source.target) if source.target else ()),
    )


_INSTEAD: Mapping[str, str] = {
    "chmod": "write COPY --chmod=755 SOURCE DESTINATION, or set the mode of the file itself",
    "chown": "write COPY --chown=USER SOURCE DESTINATION",
    "mkdir": "WORKDIR FOLDER and COPY make missing folders",
}


def choose_builder(
    plan: ImagePlan, *, builder: Builder, build_bucket: str | None, on_google: bool
) -> Tool | str | Problem:
    """Choose the builder of a plan with a RUN.

    Return a tool on this machine, or the name of the bucket for Cloud Build's source, or a problem at the
    line of the RUN if there is no builder.
    """
    run = plan.needs_tool
    if run is None:
        raise ValueError("a plan without RUN needs no tool")
    path = f"{run.file}:{run.line}"
    if plan.needs_wheels:
        message = "requirements do not go with RUN. Install them in the Dockerfile, or remove the RUN"
        return Problem(path="requirements", message=f"{message} ({path})")
    if plan.source.build_contexts and (
        builder == "cloud_build" or (builder == "auto" and find_tool() is None and build_bucket is not None)
    ):
        message = "Cloud Build gets only the source. Use docker, podman or buildah on this machine, or copy "
        return Problem(path="build_contexts", message=f"{message}the folders into the source")
    if builder == "cloud_build":
        if on_google and build_bucket is not None:
            return build_bucket
        message = "Cloud Build runs only on Google Cloud. Leave builder out for the emulator"
        return Problem(path="builder", message=message)
    names = TOOLS if builder == "auto" else (builder,)
    found = find_tool(names)
    if found is not None:
        return found
    if builder == "auto" and on_google and build_bucket is not None:
        return build_bucket
    here = all_of([*names]) if len(names) == 1 else f"none of {all_of([*names])}"
    missing = (
        f"{here} is not usable on this machine" if len(names) == 1 else f"{here} is usable on this machine"
    )
    return Problem(
        path=path, message=f"{shown(run.text)} needs a container tool, but {missing}. {_instead(run.text)}"
    )


def _instead(run: str) -> str:
    """Return what to do instead of a RUN, by the programs that it runs."""
    programs = {(words.split() or [""])[0] for words in re.split(r"&&|;|\n", run.removeprefix("RUN"))}
    if programs <= _INSTEAD.keys():
        ways = [_INSTEAD[program] for program in sorted(programs)]
        return f"No RUN is needed for it: {'; '.join(ways)}"
    return (
        "Install one, use requirements= instead of a RUN for Python packages, or, on Google Cloud, use Cloud "
        "Build: build_bucket="
    )


def describe_builder(plan: ImagePlan, builder: Tool | str, *, on_google: bool) -> str:
    """Describe the builder that `choose_builder` returned, in one line for the preview."""
    run = plan.needs_tool
    where = f"{run.file}:{run.line}" if run else "source"
    if isinstance(builder, str):
        return f"{where}: a RUN, so Cloud Build builds the image from its source in bucket {builder}"
    line = f"{where}: a RUN, so {builder.name} on this machine ({builder.path}) builds the image"
    if on_google or not plan.base_images:
        return line
    # The tool does not see the emulator's registry, where stand-ins for Google's images are.
    return f"{line}, and pulls {all_of([*plan.base_images])} from the real registry, not from the emulator"


def _has_daemon() -> bool:
    host = os.environ.get("DOCKER_HOST")
    if host and not host.startswith("unix://"):
        return True  # on another machine: assume that it works
    sockets = [Path(host.removeprefix("unix://"))] if host else _SOCKETS
    return any(socket.exists() for socket in sockets)


def _run(tool: Tool, plan: ImagePlan, arguments: Sequence[str], tell: Tell) -> None:
    last: deque[str] = deque(maxlen=_LAST_LINES)
    with subprocess.Popen(  # noqa: S603  no shell, and the tool's own path
        [tool.path, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        try:
            for line in process.stdout or ():
                if line := line.rstrip():
                    last.append(line)
                    tell(f"{tool.name}: {line}")
        except BaseException:
            process.kill()
            raise
    status = process.returncode
    if status:
        raise PackagingError([_failed(tool, plan, arguments[0], status, list(last))])


_NO_BASE = re.compile(
    r"pinging container registry|no such host|pull access denied|manifest unknown|initializing source|"
    r"failed to resolve source metadata|i/o timeout",
    re.IGNORECASE,
)


def _failed(tool: Tool, plan: ImagePlan, what: str, status: int, last: list[str]) -> Problem:
    run = plan.needs_tool
    path = f"{run.file}:{run.line}" if run else "source"
    words = "; ".join(last) or "it printed nothing"
    message = f"`{tool.name} {what}` ended with status {status}. Its last lines: {words}"
    if _NO_BASE.search(words):
        message += (
            f". {tool.name} pulls base images itself from their registries, even with the emulator. It "
            "must be able to reach them, and be logged in if they are not public"
        )
    return Problem(path=path, message=message)


def write_context(plan: ImagePlan, folder: Path) -> tuple[Path, Path]:
    """Copy the build context to `folder`, and return the paths of the context and of the Dockerfile.

    Raises OSError, and ValueError if the plan has no Dockerfile.
    """
    source = plan.source
    if source.dockerfile is None:
        raise ValueError("the plan has no Dockerfile")
    ignore, _ = ignore_rules(source.source, source.dockerfile, source.exclude)
    context = _write_tree(read_context(source.source, ignore), folder / "context")
    dockerfile = folder / "Dockerfile"
    shutil.copyfile(source.source / source.dockerfile, dockerfile)
    return context, dockerfile


def write_named_contexts(plan: ImagePlan, folder: Path) -> dict[str, Path]:
    """Copy the named build contexts to `folder`, and return the path of each. Raises OSError."""
    (folder / "contexts").mkdir()
    return {
        name: _write_tree(
            read_named_context(name, outside, defaults=plan.source.context_excludes.get(name, ())),
            folder / "contexts" / str(number),
        )
        for number, (name, outside) in enumerate(sorted(plan.source.build_contexts.items()))
    }


def pack_context(plan: ImagePlan, folder: Path) -> Path:
    """Pack `context/` and `Dockerfile` into a tar.gz for Cloud Build, and return its path."""
    write_context(plan, folder)
    packed = folder / "source.tar.gz"
    with tarfile.open(packed, "w:gz", compresslevel=1) as archive:
        archive.add(folder / "context", "context", filter=_anonymous)
        text = (folder / "Dockerfile").read_bytes()
        member = _anonymous(tarfile.TarInfo("Dockerfile"))
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text))
    return packed


def _write_tree(context: Context, folder: Path) -> Path:
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


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mtime = 0
    return member
