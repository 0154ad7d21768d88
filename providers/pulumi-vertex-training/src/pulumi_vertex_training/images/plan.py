"""Plan the image of a source: read its files and determine what the build needs."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from pulumi_vertex_training.images.dockerfile.lines import Instruction
from pulumi_vertex_training.images.dockerfile.parser import (
    PROXIES,
    Dockerfile,
    Stage,
    argument_pairs,
    platform_arguments,
    read_dockerfile,
)
from pulumi_vertex_training.images.dockerfile.rules import (
    BUILD_ARGUMENT,
    DOCKERFILE_STAGE,
    IMAGE_HABIT,
    NOT_BUILT_HERE,
)
from pulumi_vertex_training.images.files.context import ignore_rules, read_context
from pulumi_vertex_training.images.files.tree import Node
from pulumi_vertex_training.images.image import ImageSource
from pulumi_vertex_training.images.manifests import canonical_json
from pulumi_vertex_training.images.source_check import DEFAULT_EXCLUDES, generated_dockerfile, source_problems
from pulumi_vertex_training.images.stages.copiers import PlanCopier, Selections
from pulumi_vertex_training.images.stages.evaluation import Evaluation, image_state, run_stage, scratch_state
from pulumi_vertex_training.images.stages.origins import (
    base_context,
    context_name_conflicts,
    context_path,
    needed_stages,
    origins,
    stage_context,
    target_stage,
    unused_contexts,
    used_contexts,
)
from pulumi_vertex_training.images.stages.stage_state import StageState
from pulumi_vertex_training.images.wheels import layout as wheels_layout
from pulumi_vertex_training.images.wheels.requirements_lock import Lock, read_lock
from pulumi_vertex_training.packaging.archive import unreadable
from pulumi_vertex_training.packaging.errors import PackagingError
from vertex_training.findings.problems import Problem, errors

_SURROGATE = re.compile("[\ud800-\udfff]")

FORMAT = 1
"""Increase it when the same source gives another image than before."""


@dataclass(frozen=True, kw_only=True)
class RunInstruction:
    """A RUN instruction, for which a container tool is needed: `line` in `file` counts from 1."""

    file: str
    line: int
    text: str


@dataclass(frozen=True, kw_only=True)
class ImagePlan:
    """The plan of an image, with the hash of every file that becomes part of it.

    `base_images` are the canonical names of the images that the build starts from or copies from, each once.
    `needs_tool` is the first RUN, which only a container tool can run, or None. `content_hash` (SHA-256, hex)
    covers everything that determines the image except its base images: files, instructions, options, pinned
    requirements. `needs_layers` tells whether the build may call `BaseImage.open_layer`, `needs_wheels`
    whether it needs the wheels of the lock file, whose layer `requirements_hash` names. `problems` are
    warnings.

    `dockerfile`, `stages` and `selections` are the input of the build.
    """

    source: ImageSource
    base_images: tuple[str, ...]
    needs_tool: RunInstruction | None
    content_hash: str
    summary: str
    needs_layers: bool = False
    needs_wheels: bool = False
    requirements_hash: str = ""
    problems: tuple[Problem, ...] = ()
    dockerfile: Dockerfile = field(repr=False, compare=False)
    stages: tuple[Stage, ...] = field(repr=False, compare=False)
    selections: Selections = field(repr=False, compare=False)


def plan_image(source: ImageSource) -> ImagePlan:
    """Read the folder, its Dockerfile, .dockerignore and requirements, without using the network.

    Raises PackagingError with all problems at once.
    """
    problems = list(source_problems(source))
    if problems:
        raise PackagingError(problems)
    dockerfile, findings = _dockerfile(source)
    dockerfile = replace(dockerfile, contexts=tuple(sorted(source.build_contexts)))
    defaults = () if source.dockerfile else DEFAULT_EXCLUDES
    ignore, ignore_problems = ignore_rules(
        source.source, source.dockerfile, source.exclude, defaults=defaults
    )
    problems += [*findings, *ignore_problems]
    lock = None
    if source.requirements is not None:
        lock, lock_problems = read_lock(
            source.requirements, python_version=source.python_version or "", platform=source.platform
        )
        problems += lock_problems
    target, target_problems = target_stage(dockerfile, source.target)
    problems += [*target_problems, *_replaced_target(dockerfile, target)]
    if target is None or stage_context(dockerfile, target):
        raise PackagingError(problems)
    stages = needed_stages(dockerfile, target)
    used = used_contexts(dockerfile, stages)
    context = read_context(source.source, ignore)
    problems += [*context.problems, *context_name_conflicts(source, context)]
    copier = PlanCopier(
        context=context, folders=source.build_contexts, defaults=defaults, excludes=source.context_excludes
    )
    problems += _walk(dockerfile, stages, source, copier)
    needs_tool = _first_run(dockerfile, stages)
    if needs_tool:
        problems = [problem for problem in problems if problem.rule != NOT_BUILT_HERE.name]
    problems += [problem for name in used for problem in copier.named(name).problems]
    problems += [*_habits(dockerfile, stages, source, copier), *unused_contexts(source, used)]
    if errors(problems):
        raise PackagingError(problems)
    images = [each for stage in stages for each in origins(dockerfile, stage) if isinstance(each, str)]
    files = [node for node in copier.nodes() if node.kind == "file"]
    return ImagePlan(
        source=source,
        base_images=tuple(dict.fromkeys(images)),
        needs_tool=needs_tool,
        content_hash=_content_hash(source, dockerfile, stages, copier, lock, used if needs_tool else None),
        summary=_summary(target, stages, files, lock),
        needs_layers=copier.needs_layers,
        needs_wheels=bool(lock and lock.pins),
        requirements_hash=_requirements_hash(source, lock) if lock else "",
        problems=tuple(problems),
        dockerfile=dockerfile,
        stages=stages,
        selections=copier.selections,
    )


def _dockerfile(source: ImageSource) -> tuple[Dockerfile, list[Problem]]:
    if source.dockerfile is None:
        return generated_dockerfile(source), []
    try:
        text = (source.source / source.dockerfile).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        message = f"is not text in UTF-8: {error.reason} at byte {error.start}. Save it as UTF-8."
        raise PackagingError([Problem(path=source.dockerfile, message=message)]) from error
    except FileNotFoundError as error:
        message = f"does not exist in {source.source}. Correct the name, or name a base_image instead."
        raise PackagingError([Problem(path=source.dockerfile, message=message)]) from error
    except OSError as error:
        raise PackagingError([unreadable(source.dockerfile, error)]) from error
    return read_dockerfile(
        text, source.dockerfile, build_args=source.build_args, platform=source.platform, target=source.target
    )


def _replaced_target(dockerfile: Dockerfile, target: Stage | None) -> Iterator[Problem]:
    """Report a target stage that a build context of the same name replaces."""
    context = stage_context(dockerfile, target) if target else None
    if target and context:
        message = (
            f"the target stage {target.name!r} is replaced by the folder of {context_path(context.name)}. "
            "Rename one of the two."
        )
        yield DOCKERFILE_STAGE.broken(f"{dockerfile.file}:{target.line}", message)


def _walk(
    dockerfile: Dockerfile, stages: tuple[Stage, ...], source: ImageSource, copier: PlanCopier
) -> list[Problem]:
    """Evaluate the stages without building them; return the problems."""
    evaluation = Evaluation(
        dockerfile=dockerfile,
        build_args=source.build_args,
        predefined=platform_arguments(source.platform, source.target),
        copier=copier,
    )
    states: dict[int, StageState] = {}
    for stage in stages:
        folder = base_context(dockerfile, stage)
        if folder:
            message = (
                f"FROM {folder.name} is a folder, {context_path(folder.name)}, not an image. Write "
                f"FROM scratch and COPY --from={folder.name} . /, or rename it."
            )
            problem = NOT_BUILT_HERE.broken(f"{dockerfile.file}:{stage.line}", message)
            evaluation.problems.append(problem)
            state = scratch_state()
        elif isinstance(stage.base, int):
            state = states[stage.base].next_stage()
            if triggers := state.config.get("OnBuild"):
                message = (
                    f"the previous stage has ONBUILD {triggers[0]}, which would run here. Write the "
                    "instruction into this stage, or build it with docker."
                )
                place = f"{dockerfile.file}:{stage.line}"
                evaluation.problems.append(NOT_BUILT_HERE.broken(place, message))
        else:
            state = image_state(None) if stage.base else scratch_state()
        states[stage.index] = state
        run_stage(evaluation, stage, state)
    return evaluation.problems


def _first_run(dockerfile: Dockerfile, stages: tuple[Stage, ...]) -> RunInstruction | None:
    for stage in stages:
        for each in stage.instructions:
            if each.name == "RUN":
                return RunInstruction(file=dockerfile.file, line=each.line, text=each.text)
    return None


def _habits(
    dockerfile: Dockerfile, stages: tuple[Stage, ...], source: ImageSource, copier: PlanCopier
) -> Iterator[Problem]:
    """Yield warnings about things that are accepted but probably a mistake."""
    declared = _declared(dockerfile, stages)
    for name in sorted(set(source.build_args) - declared - set(PROXIES)):
        message = f"no ARG in {dockerfile.file} has this name, so it has no effect. Declare it, or remove it."
        yield BUILD_ARGUMENT.broken(f"build_args[{name!r}]", message)
    for stage in stages:
        for each in stage.instructions:
            if each.name == "HEALTHCHECK":
                message = "Vertex AI ignores HEALTHCHECK. Remove it, unless the image also runs elsewhere."
                yield IMAGE_HABIT.broken(f"{dockerfile.file}:{each.line}", message)
    for name in sorted(copier.top_names() & {".git", ".venv", "venv"}):
        message = "is copied into the image, so the image changes with every build. Add it to .dockerignore."
        yield IMAGE_HABIT.broken(name, message)
    yield from copier.warnings
    for problem in copier.collisions():
        yield replace(problem, level="warning")


def _declared(dockerfile: Dockerfile, stages: tuple[Stage, ...]) -> set[str]:
    """Return the names of all build arguments that the Dockerfile declares."""
    return set(dockerfile.global_arguments) | {
        name
        for stage in stages
        for each in stage.instructions
        if each.name == "ARG"
        for name, _ in argument_pairs(each, dockerfile.escape)
    }


def _content_hash(
    source: ImageSource,
    dockerfile: Dockerfile,
    stages: tuple[Stage, ...],
    copier: PlanCopier,
    lock: Lock | None,
    whole: list[str] | None,
) -> str:
    """Return the hash of everything that determines the image except its base images.

    `whole` are the named contexts in use if a container tool builds the image, else None: a RUN may read
    every file.
    """
    declared = _declared(dockerfile, stages)
    arguments: Mapping[str, str | None] = dockerfile.global_arguments
    content: dict[str, object] = {
        "format": FORMAT,
        "platform": source.platform,
        "target": source.target,
        "escape": dockerfile.escape,
        "arguments": {name: value for name, value in source.build_args.items() if name in declared},
        "global_arguments": dict(arguments),
        "stages": [_stage_facts(stage) for stage in stages],
        "files": _selected_facts(copier.selections),
        "context": [] if whole is None else [_facts(node) for node in copier.whole(None)],
        "requirements": [[pin.requirement, pin.hashes] for pin in lock.pins] if lock else None,
        "python_version": source.python_version if lock else None,
        **({"wheel_format": wheels_layout.FORMAT} if lock else {}),
        "env": dict(source.env),
        "labels": dict(source.labels),
        "working_dir": source.working_dir,
        "user": source.user,
        "entrypoint": source.entrypoint,
        "command": source.command,
    }
    if whole:
        content["contexts"] = {name: [_facts(node) for node in copier.whole(name)] for name in whole}
    return hashlib.sha256(canonical_json(content)).hexdigest()


def _stage_facts(stage: Stage) -> list[object]:
    return [stage.index, stage.base, [_instruction_facts(each) for each in stage.instructions]]


def _selected_facts(selections: Selections) -> list[list[object]]:
    """Return the files that each instruction copies."""
    return [
        [stage, position, picked.name, picked.is_folder, [_facts(node) for node in picked.nodes]]
        for (stage, position), selection in sorted(selections.items())
        for picked in selection.picked
    ]


def _requirements_hash(source: ImageSource, lock: Lock) -> str:
    """Return the hash of everything that determines the layer of the requirements, except its bytecode."""
    content = {
        "format": wheels_layout.FORMAT,
        "requirements": [[pin.requirement, pin.hashes] for pin in lock.pins],
        "options": lock.options,
        "python_version": source.python_version,
        "platform": source.platform,
    }
    return hashlib.sha256(canonical_json(content)).hexdigest()


def _instruction_facts(instruction: Instruction) -> list[object]:
    texts = [[text.name, text.content, text.expands] for text in instruction.heredocs]
    return [instruction.name, instruction.flags, instruction.arguments, texts]


def _facts(node: Node) -> list[object]:
    return [_text(node.path), node.kind, node.mode, node.size, node.sha256, _text(node.link)]


def _text(name: str) -> str:
    """Return a name as it is, or as hexadecimal bytes if it is not valid text."""
    return name if name.isascii() or not _SURROGATE.search(name) else f"\0{os.fsencode(name).hex()}"


def _summary(target: Stage, stages: tuple[Stage, ...], files: list[Node], lock: Lock | None) -> str:
    size = sum(node.size for node in files)
    base = next((stage.base for stage in stages if isinstance(stage.base, str)), "scratch")
    parts = [f"{len(files)} file{'s' * (len(files) != 1)}, {size} bytes, on {base}"]
    if lock and lock.pins:
        parts.append(f"{len(lock.pins)} wheel{'s' * (len(lock.pins) != 1)}")
    if target.name:
        parts.append(f"stage {target.name}")
    return "; ".join(parts)
