"""What a COPY or ADD asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pulumi_vertex_training.images.dockerfile.expansion import Lookup, expand, split_words
from pulumi_vertex_training.images.dockerfile.lines import Instruction
from pulumi_vertex_training.images.dockerfile.parser import Dockerfile, Stage
from pulumi_vertex_training.images.references import canonical_name
from pulumi_vertex_training.images.stages.build_contexts import NamedContext, named_context, stage_context

_REMOTE = re.compile(r"(https?|ftp|git|ssh)://|git@[^/]+:")
_HEREDOC = re.compile(r"\d*<<-?(['\"]?)([^<'\"]+)\1")
_REFUSED = {
    "parents": "Name each folder in a COPY of its own",
    "exclude": "Name what is left out in .dockerignore",
    "checksum": "It is for downloads: download the file into the folder and COPY it",
    "keep-git-dir": "It is for repositories: clone it into the folder and COPY it",
    "unpack": "ADD unpacks archives of the folder by itself, and COPY never does: choose one of them",
}


class NotBuiltHereError(ValueError):
    """Something that only a container tool does; the message says what, and what to do instead."""


class StageError(ValueError):
    """A stage that is not there, or not yet."""


@dataclass(frozen=True, kw_only=True)
class CopyRequest:
    """`sources` are paths or, with `texts`, names of files whose content stands in the Dockerfile.

    `origin` is the index of a stage, the canonical name of an image, a named context, or None for the build
    context. `chown` is expanded and not resolved yet; `chmod` is the permission bits.
    """

    sources: tuple[str, ...]
    texts: tuple[tuple[str, str], ...]
    destination: str
    origin: int | str | NamedContext | None = None
    chown: str | None = None
    chmod: int | None = None
    unpacks: bool = False


def origin_of(
    instruction: Instruction, dockerfile: Dockerfile, stage: Stage
) -> int | str | NamedContext | None:
    """Where --from points: the index of an earlier stage, a named context, the name of an image, None without
    the flag.

    As in BuildKit a context replaces the stage of its name, and comes before an image. Raises StageError.
    """
    name = instruction.flag("from")
    if name is None:
        return None
    if "$" in name:
        message = f"--from={name} has a variable, which is not expanded here."
        raise StageError(f"{message} Name the image in a FROM with AS, where it is.")
    found = dockerfile.stage(name)
    context = None if name.isdecimal() else named_context(dockerfile.contexts, name)
    if context is None and found is not None and found.index < stage.index:
        context = stage_context(dockerfile, found)
    if context is not None:
        return context
    if found is not None:
        if found.index >= stage.index:
            order = "is this stage" if found.index == stage.index else "comes later"
            raise StageError(f"--from={name} {order}. Copy from a stage before this one.")
        return found.index
    image = None if name.isdecimal() or name == "scratch" else canonical_name(name)
    if image is None:
        raise StageError(f"--from={name} is neither a stage nor the name of an image. Correct it.")
    return image


def copy_request(
    instruction: Instruction,
    origin: int | str | NamedContext | None,
    lookup: Lookup,
    source_lookup: Lookup,
    escape: str,
) -> CopyRequest:
    """Reads a COPY or ADD; `source_lookup` is for the variables in sources.

    Raises NotBuiltHereError, and ValueError for everything else.
    """
    name = instruction.name
    for flag, remedy in _REFUSED.items():
        if instruction.flag(flag) is not None:
            raise NotBuiltHereError(
                f"{name} --{flag} is not supported here. {remedy}, or build it with docker."
            )
    words = split_words(instruction.arguments)
    if len(words) < 2:
        raise ValueError(f"{name} {instruction.arguments} has one path. Name a source and a destination.")
    heredocs = {each.name: each for each in instruction.heredocs}
    sources: list[str] = []
    texts: list[tuple[str, str]] = []
    for word in words[:-1]:
        found = _HEREDOC.fullmatch(word) if heredocs else None
        if found and found[2] in heredocs:
            text = heredocs[found[2]]
            content = text.content
            if text.expands:
                content = expand(content, lookup, escape=escape, quotes=False)
            texts.append((text.name, content))
            continue
        source = expand(word, source_lookup, escape=escape)
        if name == "ADD" and _REMOTE.match(source):
            message = f"ADD {source} downloads, which is not done here: the result may change at any time."
            raise NotBuiltHereError(f"{message} Download it into the folder and COPY it.")
        sources.append(source)
    destination = expand(words[-1], lookup, escape=escape)
    return CopyRequest(
        sources=tuple(sources),
        texts=tuple(texts),
        destination=destination,
        origin=origin,
        chown=_expanded(instruction, "chown", lookup, escape),
        chmod=_mode(_expanded(instruction, "chmod", lookup, escape)),
        unpacks=name == "ADD",
    )


def _expanded(instruction: Instruction, flag: str, lookup: Lookup, escape: str) -> str | None:
    value = instruction.flag(flag)
    return None if value is None else expand(value, lookup, escape=escape)


def _mode(text: str | None) -> int | None:
    if text is None:
        return None
    if not re.fullmatch(r"[0-7]{3,4}", text):
        raise ValueError(f"--chmod={text} is not a mode in octal digits. Write it as 755.")
    return int(text, 8)
