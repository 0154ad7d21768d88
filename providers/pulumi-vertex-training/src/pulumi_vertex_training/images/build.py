"""Build the image of a plan."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pulumi_vertex_training.images.dockerfile.parser import Stage, platform_arguments
from pulumi_vertex_training.images.dockerfile.rules import IMAGE_SOURCE
from pulumi_vertex_training.images.files.layer import LAYER_TYPE, Layer, write_layer
from pulumi_vertex_training.images.image import BaseImage, Blob, BuiltImage, repository_of
from pulumi_vertex_training.images.manifests import (
    BASE_DIGEST,
    BASE_NAME,
    CONFIG_TYPE,
    MANIFEST_TYPE,
    base_problems,
    canonical_json,
    oci_layer_type,
)
from pulumi_vertex_training.images.plan import ImagePlan
from pulumi_vertex_training.images.stages.copiers import BuildCopier
from pulumi_vertex_training.images.stages.evaluation import (
    Evaluation,
    change_folder,
    image_state,
    run_stage,
    scratch_state,
    set_entrypoint,
)
from pulumi_vertex_training.images.stages.stage_state import CREATED, StageState
from pulumi_vertex_training.images.wheels.layout import FOLDERS, WheelLayer, add_to_paths
from pulumi_vertex_training.packaging.errors import PackagingError
from vertex_training.findings.problems import Problem, errors

_UNNAMED_LAYER: Final = {"created": CREATED, "created_by": "a layer of the base image"}


def build_image(
    plan: ImagePlan, bases: Mapping[str, BaseImage], wheels: WheelLayer | None, folder: Path
) -> BuiltImage:
    """Build the image; write its files to `folder`.

    `bases` maps each of `plan.base_images` to its image; `wheels` is the layer of its requirements. The same
    plan, bases and layer give the same bytes on every machine. Raises PackagingError with all problems, and
    ValueError if a base or the layer is missing or the plan needs a container tool.
    """
    if plan.needs_tool:
        raise ValueError(f"line {plan.needs_tool.line} is a RUN: this image cannot be built here")
    missing = [name for name in plan.base_images if name not in bases]
    if missing or (plan.needs_wheels and wheels is None):
        raise ValueError(f"the build lacks {', '.join([*missing, *(['the wheels'] if not missing else [])])}")
    problems = _unfit_bases(plan, bases)
    if problems:
        raise PackagingError(problems)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="files-") as spool:
        copier = BuildCopier(selections=plan.selections, bases=bases, folder=Path(spool))
        evaluation = Evaluation(
            dockerfile=plan.dockerfile,
            build_args=plan.source.build_args,
            predefined=platform_arguments(plan.source.platform, plan.source.target),
            copier=copier,
        )
        _run_stages(plan, evaluation, copier, wheels if plan.needs_wheels else None)
        if errors(evaluation.problems):
            raise PackagingError(evaluation.problems)
        state = copier.states[_target(plan).index]
        layers = [layer.written or write_layer(layer.nodes, folder) for layer in state.layers]
    warnings = wheels.problems if wheels and plan.needs_wheels else ()
    return _assembled(plan, state, layers, (*evaluation.problems, *warnings))


def _target(plan: ImagePlan) -> Stage:
    """Return the stage that becomes the image. It comes last: `plan.stages` has only what it needs."""
    return plan.stages[-1]


def _unfit_bases(plan: ImagePlan, bases: Mapping[str, BaseImage]) -> list[Problem]:
    problems: list[Problem] = []
    for stage in plan.stages:
        if isinstance(stage.base, str):
            base = bases[stage.base]
            problems += base_problems(
                json.loads(base.manifest),
                json.loads(base.config),
                place=f"{plan.dockerfile.file}:{stage.line}" if plan.source.dockerfile else "base_image",
                name=base.name,
                platform=plan.source.platform,
            )
    return problems


def _run_stages(
    plan: ImagePlan, evaluation: Evaluation, copier: BuildCopier, wheels: WheelLayer | None
) -> None:
    """Run the stages and apply the source's options to the last one."""
    target = _target(plan)
    for stage in plan.stages:
        if isinstance(stage.base, int):
            state = copier.states[stage.base].next_stage()
        else:
            state = image_state(copier.bases[stage.base]) if stage.base else scratch_state()
        copier.states[stage.index] = state
        if wheels and stage is target and plan.source.dockerfile is None:
            _add_wheels(state, wheels)
        run_stage(evaluation, stage, state)
        if stage is target:
            if wheels and plan.source.dockerfile is not None:
                _add_wheels(state, wheels)
            _apply_options(plan, evaluation, state)


def _add_wheels(state: StageState, wheels: WheelLayer) -> None:
    state.add_written(wheels, FOLDERS)
    add_to_paths(state.env)


def _apply_options(plan: ImagePlan, evaluation: Evaluation, state: StageState) -> None:
    """Apply the options of the source, as literal values, after the last instruction.

    Variables and labels are sorted by name: Pulumi does not keep the order of a mapping.
    """
    source = plan.source
    env, labels = sorted(source.env.items()), sorted(source.labels.items())
    if env:
        state.env.update(env)
        state.record("ENV " + " ".join(f"{name}={value}" for name, value in env))
    if labels:
        state.config.setdefault("Labels", {}).update(labels)
        state.record("LABEL " + " ".join(f"{name}={value}" for name, value in labels))
    if source.user is not None:
        state.config["User"] = source.user
        state.record(f"USER {source.user}")
    if source.working_dir is not None and source.dockerfile is not None:
        try:
            nodes = change_folder(evaluation, state, source.working_dir)
        except ValueError as error:
            evaluation.problems.append(IMAGE_SOURCE.broken("working_dir", str(error)))
            nodes = ()
        state.record(f"WORKDIR {source.working_dir}", nodes)
    if source.command is not None:
        state.config["Cmd"] = list(source.command)
        state.command_is_own = True
        state.record(f"CMD {json.dumps(source.command)}")
    if source.entrypoint is not None:
        set_entrypoint(state, list(source.entrypoint))
        state.record(f"ENTRYPOINT {json.dumps(source.entrypoint)}")


def _assembled(
    plan: ImagePlan, state: StageState, layers: Sequence[Layer | WheelLayer], problems: tuple[Problem, ...]
) -> BuiltImage:
    base = state.base
    base_manifest: Mapping[str, Any] = json.loads(base.manifest) if base else {"layers": []}
    base_config: Mapping[str, Any] = json.loads(base.config) if base else {}
    config = canonical_json(_config(plan, state, layers, base_config, len(base_manifest["layers"])))
    config_digest = f"sha256:{hashlib.sha256(config).hexdigest()}"
    below = [_descriptor(layer) for layer in base_manifest["layers"]]
    own = [{"mediaType": LAYER_TYPE, "digest": layer.digest, "size": layer.size} for layer in layers]
    document: dict[str, Any] = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": {"mediaType": CONFIG_TYPE, "digest": config_digest, "size": len(config)},
        "layers": [*below, *own],
    }
    if base:
        document["annotations"] = {BASE_NAME: base.name, BASE_DIGEST: base.digest}
    manifest = canonical_json(document)
    blobs = [*_blobs_of_base(below, repository_of(base.name) if base else None), *map(_blob_of, layers)]
    return BuiltImage(
        manifest=manifest,
        media_type=MANIFEST_TYPE,
        digest=f"sha256:{hashlib.sha256(manifest).hexdigest()}",
        config=config,
        config_digest=config_digest,
        blobs=tuple({blob.digest: blob for blob in reversed(blobs)}.values())[::-1],
        problems=problems,
    )


def _blobs_of_base(layers: Sequence[Mapping[str, Any]], repository: str | None) -> list[Blob]:
    return [
        Blob(
            digest=layer["digest"],
            size=layer["size"],
            media_type=layer["mediaType"],
            mounted_from=repository,
            urls=tuple(layer.get("urls") or ()),
        )
        for layer in layers
    ]


def _blob_of(layer: Layer | WheelLayer) -> Blob:
    return Blob(
        digest=layer.digest,
        size=layer.size,
        media_type=LAYER_TYPE,
        path=layer.path,
        mounted_from=layer.source if isinstance(layer, WheelLayer) else None,
    )


def _descriptor(layer: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: layer[key] for key in ("digest", "size", "urls", "annotations") if layer.get(key)}
    return {"mediaType": oci_layer_type(layer["mediaType"]), "size": 0, **kept}


def _config(
    plan: ImagePlan,
    state: StageState,
    layers: Sequence[Layer | WheelLayer],
    base: Mapping[str, Any],
    below: int,
) -> dict[str, Any]:
    """Return the image configuration of the OCI image specification, with the fields that Docker adds."""
    settings = {key: value for key, value in state.config.items() if value}
    if state.env:
        settings["Env"] = [f"{name}={value}" for name, value in state.env.items()]
    history = list(base.get("history") or ())
    if sum(not entry.get("empty_layer") for entry in history) != below:
        history = [_UNNAMED_LAYER] * below
    system, _, architecture = plan.source.platform.partition("/")
    document: dict[str, Any] = {
        "created": CREATED,
        "architecture": architecture,
        "os": system,
        "config": settings,
        "rootfs": {
            "type": "layers",
            "diff_ids": [*(base.get("rootfs") or {}).get("diff_ids", ()), *(each.diff_id for each in layers)],
        },
        "history": [*history, *state.history],
    }
    if state.author:
        document["author"] = state.author
    return document | {key: base[key] for key in ("variant", "os.version", "os.features") if base.get(key)}
