"""The provider of `TrainingImage`: each content is built and pushed once, and named by its digest."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pulumi_vertex_training.cloud.container_registry.image_names import ImageName, parse
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.core.call import Call, Checked, Created, Difference, Found, Values
from pulumi_vertex_training.core.connection import endpoint_of
from pulumi_vertex_training.core.engine import print_line
from pulumi_vertex_training.core.interrupted import creation_notes, deletion_notes
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.promotion import entries as promotion
from pulumi_vertex_training.core.promotion.entries import PromotedImage
from pulumi_vertex_training.core.property_changes import property_changes
from pulumi_vertex_training.core.provider import DRIFT, Provider, complete, is_unknown, warnings
from pulumi_vertex_training.core.settings import target_of
from pulumi_vertex_training.kinds.training_image import spec as training_image
from pulumi_vertex_training.kinds.training_image.spec import TrainingImageSpec
from pulumi_vertex_training.packaging.errors import PackagingError
from vertex_training.fields.decode import UNKNOWN, Decoded, decode
from vertex_training.fields.effects import Effect
from vertex_training.findings.problems import Problem, errors

if TYPE_CHECKING:
    from pulumi_vertex_training.images import ImagePlan
    from pulumi_vertex_training.kinds.training_image.build import PushedImage
    from pulumi_vertex_training.kinds.training_image.container_tools import Tool

DERIVED = ("content_hash", "base_images", "tag_uris")
REPLACING = ("endpoint", "repository", "name", "platform", "base_images", "content_hash")
CONTENT = tuple(
    name for name, entry in training_image.EFFECTS.items() if entry.effect is Effect.REPLACE
)  # fmt: skip
UPDATING = tuple(name for name, entry in training_image.EFFECTS.items() if entry.effect is Effect.UPDATE)
_PLACE = ("endpoint", "repository", "name")
"""Inputs whose change replaces a promoted image, beside its digest."""
_TARGET_FIELDS = ("endpoint", "project", "location")
_DESTINATION_FIELDS = (*_TARGET_FIELDS, "repository", "name", "tags", "on_delete", "builder", "build_bucket")
"""Fields that do not change the content of the image: it can be planned before they are known."""


@dataclass(frozen=True, kw_only=True)
class ImageInputs(TrainingImageSpec):
    """A training image's inputs in Pulumi's state."""

    endpoint: str
    project: str
    location: str


class TrainingImageProvider(Provider):
    """Inputs: `ImageInputs`, and those that check derives from the folder. The id is the image's `uri`."""

    names = ("repository", "name")

    def defaults(self, resource: str) -> Values:
        return {"name": training_image.image_name(resource)}

    def check(self, call: Call) -> Checked:
        decoded = _decode(call.inputs)
        if (found := promotion.of_inputs(PromotedImage, call.inputs)) is not None:
            return _check_promoted(decoded, found, call.old_inputs)
        plan, problems = _plan_if_known(decoded)
        builder: Tool | str | Problem | None = None
        if plan is not None:
            builder = _choose_builder(decoded.draft, plan, call.old_inputs)
            problems = [*problems, *plan.problems, *([builder] if isinstance(builder, Problem) else [])]
        if errors(problems):
            return Checked(problems=problems)
        if decoded.spec is None:
            raise ValueError("an image's inputs cannot be read; please report this")
        for line in warnings(f"image {decoded.spec.name}", problems):
            OPERATION.print_once(line)
        if plan is not None and builder is not None and not isinstance(builder, Problem):
            OPERATION.print_once(
                f"image {decoded.spec.name}: {_describe_builder(decoded.spec, plan, builder)}"
            )
        inputs = complete(decoded.spec, unknown=decoded.unknown)
        return Checked(inputs={**inputs, **_derived(inputs, plan)})

    def diff(self, call: Call) -> Difference:
        old, new = call.outputs, call.inputs

        def differs(name: str) -> bool:
            return is_unknown(new.get(name)) or _none_if_empty(old.get(name)) != _none_if_empty(new.get(name))

        promoted = promotion.entry_of(PromotedImage, new)
        if promoted is None:
            replaces = [name for name in REPLACING if differs(name)]
            if "content_hash" in replaces:
                replaces += [name for name in CONTENT if name not in replaces and differs(name)]
        else:
            # Content that is not built takes no part. The image of the digest may have been built here.
            replaces = [name for name in _PLACE if differs(name)]
            if parse(call.id).digest != promoted.digest:
                replaces.append("content_hash")
        updates = [name for name in (*UPDATING, promotion.INPUT) if differs(name)]
        is_checked = call.context.checked is not None
        if not replaces and is_checked:
            # Keep the image if another resource with the same image is deleted in this deployment.
            OPERATION.note_made(call.id)
        if replaces and old.get("content_hash") and promoted is None:
            OPERATION.print_once(_describe_rebuild(new, replaces))
        # An interrupted deletion removes the tags before the image.
        untagged = is_checked and deletion_notes.has_begun(call.id)
        found = Difference(
            changes=bool(replaces or updates or untagged),
            properties=property_changes(old, new, [*replaces, *updates], replacing=replaces),
        )
        return deletion_notes.continued(
            found, call, lambda endpoint: _find_manifest(endpoint, call.id), title=f"image {old.get('name')}"
        )

    def create(self, call: Call) -> Created:
        from pulumi_vertex_training.kinds.training_image import build

        raw = call.inputs
        inputs = _inputs(raw)
        endpoint = endpoint_of(raw)
        if (promoted := promotion.entry_of(PromotedImage, raw)) is not None:
            from pulumi_vertex_training.core.promotion import images

            OPERATION.note_made(str(inputs.image.at(promoted.digest)))
            report = build.teller(inputs.image, print_line)
            copied = images.ensure(endpoint, inputs.image, promoted, on_progress=report)
            made = build.PushedImage(image=copied.image, size=copied.size, sent_bytes=copied.sent_bytes)
            return _created(endpoint, inputs, raw, made)
        plan = _plan(inputs)
        if plan.content_hash != raw["content_hash"]:
            changed = "changed during the deployment. When nothing writes to it, run `pulumi up` again."
            raise PackagingError([Problem(path="source", message=f"{inputs.source} {changed}")])
        key = call.key

        def note(image: ImageName) -> None:
            OPERATION.note_made(str(image))
            creation_notes.remove_others(str(image), key)

        made = build.build_and_push(
            endpoint,
            plan,
            inputs.image,
            tell=print_line,
            before_push=note,
            before_send=functools.partial(self._note_creation, raw, key),
            builder=inputs.builder,
            build_bucket=inputs.build_bucket,
        )
        for line in warnings(f"image {inputs.name}", made.problems):
            OPERATION.print_once(line)
        result = _created(endpoint, inputs, raw, made)
        creation_notes.answered(str(made.image), key)
        return result

    def update(self, call: Call) -> Values:
        from pulumi_vertex_training.kinds.training_image import build

        old, raw = call.outputs, call.inputs
        if promotion.INPUT not in raw:
            old.pop(promotion.INPUT, None)
        was, becomes = _inputs(old).tags, _inputs(raw).tags
        endpoint, image = endpoint_of(raw), parse(call.id)
        creation_notes.remove_others(call.id, call.key)
        deletion_notes.note_tags(call.id, becomes)
        untagged = deletion_notes.has_begun(call.id)
        build.set_tags(endpoint, image, [tag for tag in becomes if untagged or tag not in was])
        deletion_notes.forget(call.id)
        build.remove_tags(endpoint, image, [tag for tag in was if tag not in becomes])
        return {**old, **raw}

    def read(self, call: Call) -> Found | None:
        from pulumi_vertex_training.cloud.container_registry import client as registry
        from pulumi_vertex_training.kinds.training_image import build

        raw = call.outputs
        endpoint, image = endpoint_of(raw), parse(call.id)
        if registry.find_manifest(endpoint, image) is None:
            return None
        drift = build.find_drift(endpoint, image, _inputs(raw).tags, raw.get("base_digests") or {})
        for line in drift:
            print_line(f"image {raw['name']}: {line}. The resource is not changed")
        return Found(outputs={**raw, DRIFT: drift})

    def delete(self, call: Call) -> None:
        from pulumi_vertex_training.kinds.training_image import build

        raw = call.outputs
        if raw.get("on_delete") != "delete" or OPERATION.made(call.id):
            # Another resource of this deployment made or keeps the same image.
            return
        creation_notes.remove_with(call.id)
        deletion_notes.note(call.id)
        tags = {*_inputs(raw).tags, *deletion_notes.noted_tags(call.id)}
        others = build.remove(endpoint_of(raw), parse(call.id), tags)
        if others:
            print_line(
                f"image {call.id} is kept, because it has tags from outside this stack: {', '.join(others)}"
            )

    def _note_creation(self, props: Mapping[str, Any], key: str, image: ImageName) -> None:
        """Note that an image is about to be pushed which its repository does not have."""
        name = str(image)
        if key:
            deletion_notes.note_tags(name, _inputs(props).tags)
        creation_notes.begin(self, props, name, key=key, title=f"image {name}")

    def remove_interrupted(self, endpoint: Endpoint, id_: str, key: str) -> bool:  # noqa: ARG002
        from pulumi_vertex_training.kinds.training_image import build

        if OPERATION.made(id_) or _find_manifest(endpoint, id_) is None:
            raise NotFound(f"there is no image {id_}", resource=id_, endpoint=endpoint)
        return not build.remove(endpoint, parse(id_), deletion_notes.noted_tags(id_))


def _check_promoted(
    decoded: Decoded[ImageInputs], found: Decoded[PromotedImage], olds: Mapping[str, Any]
) -> Checked:
    """Check a promoted image: no source is read. A new one has to be in its repository or its source."""
    problems = [*decoded.problems, *found.problems]
    promoted = found.spec
    if decoded.draft is not None and promoted is not None and not errors(problems):
        before = promotion.entry_of(PromotedImage, olds)
        if before is None or before.digest != promoted.digest:
            from pulumi_vertex_training.core.promotion import images

            unknown = decoded.unknown
            target = None if unknown & {*_TARGET_FIELDS} else target_of(vars(decoded.draft))
            image = None if unknown & {"repository", "name"} else decoded.draft.image
            problems += images.problems(image, promoted, target)
    if errors(problems):
        return Checked(problems=problems)
    if decoded.spec is None or promoted is None:
        raise ValueError("an image's inputs cannot be read; please report this")
    OPERATION.print_once(
        f"image {decoded.spec.name}: {promoted.words}, and not built here: {promoted.digest}"
    )
    inputs = {
        **complete(decoded.spec, unknown=decoded.unknown),
        promotion.INPUT: promotion.as_input(promoted),
    }
    checked = {**inputs, **_derived(inputs, None), "content_hash": promoted.digest, "base_images": []}
    return Checked(inputs=checked)


def _created(endpoint: Endpoint, inputs: ImageInputs, raw: Mapping[str, Any], made: PushedImage) -> Created:
    """Tag a pushed image, and return what the state records of it."""
    from pulumi_vertex_training.kinds.training_image import build

    build.set_tags(endpoint, made.image, inputs.tags)
    facts: dict[str, Any] = {
        "uri": str(made.image),
        "digest": made.image.digest,
        "base_digests": dict(made.base_digests),
        "size": made.size,
        "sent_bytes": made.sent_bytes,
        DRIFT: [],
    }
    deletion_notes.forget(str(made.image))
    return Created(id=str(made.image), outputs={**raw, **facts})


def _find_manifest(endpoint: Endpoint, name: str) -> object | None:
    from pulumi_vertex_training.cloud.container_registry import client as registry

    return registry.find_manifest(endpoint, parse(name))


def _decode(props: Mapping[str, Any]) -> Decoded[ImageInputs]:
    recorded = {*DERIVED, promotion.INPUT, "uri", "digest", "base_digests", "size", "sent_bytes", DRIFT}
    known = {name: value for name, value in props.items() if name not in recorded}
    return decode(ImageInputs, known).then(training_image.normalise, training_image.validate)


def _inputs(props: Mapping[str, Any]) -> ImageInputs:
    inputs = _decode(props).spec
    if inputs is None:
        raise ValueError("the provider received inputs of an image that check rejects; please report this")
    return inputs


def _plan_if_known(decoded: Decoded[ImageInputs]) -> tuple[ImagePlan | None, list[Problem]]:
    """Return the plan, or None if a field that it needs is unknown or wrong; and every problem."""
    problems = list(decoded.problems)
    open_ends = [
        path for path in (*decoded.unknown, *decoded.damaged) if not path.startswith(_DESTINATION_FIELDS)
    ]
    if decoded.draft is None or open_ends:
        return None, problems
    try:
        return _plan(decoded.draft), problems
    except PackagingError as error:
        return None, [*problems, *error.problems]


def _plan(inputs: TrainingImageSpec) -> ImagePlan:
    # Imported here: a program that only declares resources does not need to load the builder.
    from pulumi_vertex_training.images import ImageSource, plan_image
    from pulumi_vertex_training.packaging.cluster_package import CLUSTER, OTHER_FILES, cluster_folder
    from pulumi_vertex_training.packaging.files import check_links

    source = Path(inputs.source)
    check_links(Path.cwd(), source, *map(Path, (*inputs.build_contexts.values(), inputs.requirements or ".")))
    given = {
        field.name: getattr(inputs, field.name)
        for field in dataclasses.fields(ImageSource)
        if field.name not in ("source", "dockerfile", "requirements", "build_contexts", "context_excludes")
    }
    contexts = {name: Path(folder) for name, folder in inputs.build_contexts.items()}
    if inputs.vertex_cluster:
        if CLUSTER in contexts:
            message = "build_contexts has this name already. Remove it there, or leave out this argument."
            raise PackagingError([Problem(path=CLUSTER, message=message)])
        contexts[CLUSTER] = cluster_folder()
    dockerfile = inputs.dockerfile
    if dockerfile is None and inputs.base_image is None and (source / "Dockerfile").is_file():
        dockerfile = "Dockerfile"
    return plan_image(
        ImageSource(
            source=source,
            dockerfile=dockerfile,
            requirements=Path(inputs.requirements) if inputs.requirements else None,
            build_contexts=contexts,
            context_excludes={CLUSTER: OTHER_FILES} if inputs.vertex_cluster else {},
            **given,
        )
    )


def _choose_builder(
    inputs: ImageInputs | None, plan: ImagePlan, olds: Mapping[str, Any]
) -> Tool | str | Problem | None:
    """Choose the builder of a Dockerfile with RUN. Return None if none is needed or the image exists."""
    if inputs is None or plan.needs_tool is None or olds.get("content_hash") == plan.content_hash:
        return None
    from pulumi_vertex_training.kinds.training_image.container_tools import choose_builder

    return choose_builder(
        plan, builder=inputs.builder, build_bucket=inputs.build_bucket, on_google=inputs.endpoint == "google"
    )


def _describe_builder(inputs: ImageInputs, plan: ImagePlan, builder: Tool | str) -> str:
    from pulumi_vertex_training.kinds.training_image.container_tools import describe_builder

    return describe_builder(plan, builder, on_google=inputs.endpoint == "google")


def _derived(inputs: Mapping[str, Any], plan: ImagePlan | None) -> dict[str, Any]:
    """Return the inputs that check derives, known in a preview."""
    place = [inputs["repository"], inputs["name"], inputs.get("tags", [])]
    prefix = f"{inputs['repository']}/{inputs['name']}"
    return {
        "content_hash": UNKNOWN if plan is None else plan.content_hash,
        "base_images": UNKNOWN if plan is None else list(plan.base_images),
        "tag_uris": UNKNOWN if is_unknown(place) else [f"{prefix}:{tag}" for tag in inputs.get("tags", [])],
    }


def _none_if_empty(value: object) -> Any:
    """Return None for an empty value: missing and empty are the same."""
    return value or None


def _describe_rebuild(new: Mapping[str, Any], replaces: list[str]) -> str:
    if "content_hash" in replaces:
        what = "its content"
    elif "base_images" in replaces:
        what = "its base"
    else:
        what = replaces[0]
    return (
        f"image {new.get('name')}: {what} changed. The image is built again, and jobs that use it run again"
    )
