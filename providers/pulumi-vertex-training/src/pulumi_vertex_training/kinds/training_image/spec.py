"""The spec of a training image: its sources, its repository, and the effect of each change."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal, TypeVar

from pulumi_vertex_training.cloud.container_registry.image_names import ImageName, is_tag, parse
from vertex_training.fields.effects import Effect, FieldEffect, FieldTable
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import shown

OnDelete = Literal["keep", "delete"]
Builder = Literal["auto", "docker", "podman", "buildah", "cloud_build"]

_GRAMMAR = "the grammar of image references, github.com/distribution/reference"

IMAGE_NAME = Rule(
    name="training-image-name",
    says="the name of an image is a path in lower case: letters, digits and separators between them",
    source=_GRAMMAR,
)
IMAGE_REPOSITORY = Rule(
    name="training-image-repository",
    says="a repository is given as HOST/PATH; Artifact Registry's as LOCATION-docker.pkg.dev/PROJECT/NAME",
    source='Artifact Registry documentation, "Repository and image names"',
)
IMAGE_TAGS = Rule(
    name="training-image-tags",
    says="a tag has 1 to 128 letters, digits, underscores, dots and dashes, and is given once",
    source=_GRAMMAR,
)
BUILD_BUCKET = Rule(
    name="training-image-build-bucket",
    says="builder cloud_build and build_bucket go together",
    source="Cloud Build API, Source.storage_source: the source of a build is in a bucket",
)

_PATH = re.compile(r"[a-z0-9]+(?:(?:\.|_{1,2}|-+|/)[a-z0-9]+)*")


@dataclass(frozen=True, kw_only=True)
class TrainingImageSpec:
    """An image that is built from a folder.

    `source`, `requirements` and `build_contexts` (folders by name) are paths relative to the Pulumi program's
    folder. Three fields are not part of the image: `on_delete` is what happens to it with its resource,
    `builder` builds a Dockerfile that has a RUN, and `build_bucket` holds the source for Cloud Build.
    """

    repository: str
    """Repository to push to: an `ImageRepository`, a `pulumi_gcp.artifactregistry.Repository`, or the address
    LOCATION-docker.pkg.dev/PROJECT/NAME.
    """
    name: str
    """Name of the image in its repository. Default: the resource's name."""
    source: str
    """Folder, relative to the Pulumi program's folder. Without a Dockerfile, its content is copied into the
    image.
    """
    dockerfile: str | None = None
    """Name of the Dockerfile in the folder. Default: `Dockerfile`, if it exists and there is no `base_image`.
    """
    base_image: str | None = None
    """Image that the folder's content is added to: a name, or another image."""
    requirements: str | None = None
    """Lock file with a hash in every line. Its wheels become a layer."""
    entrypoint: tuple[str, ...] | None = None
    """ENTRYPOINT of the image."""
    command: tuple[str, ...] | None = None
    """CMD of the image."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Environment variables of the image. Do not put secrets here: everyone who pulls the image can read
    them.
    """
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of the image."""
    working_dir: str | None = None
    """Working directory of the image."""
    user: str | None = None
    """User that the image runs as."""
    build_args: Mapping[str, str] = field(default_factory=dict)
    """Build arguments of the Dockerfile."""
    build_contexts: Mapping[str, str] = field(default_factory=dict)
    """Further folders, by name. `COPY --from=NAME` in the Dockerfile copies from them; without a Dockerfile,
    each is copied into the image under its name.
    """
    vertex_cluster: bool = False
    """Add the package `vertex_cluster`, as it is installed here, as the build context of this name."""
    target: str | None = None
    """Stage of the Dockerfile to build. Default: the last."""
    platform: str = "linux/amd64"
    """`linux/amd64`, which Vertex AI runs, or `linux/arm64`."""
    python_version: str | None = None
    """Python version of the requirements' wheels, such as "3.11"."""
    exclude: tuple[str, ...] = ()
    """Patterns of files to leave out, as in a .dockerignore file."""
    tags: tuple[str, ...] = ("latest",)
    """Tags of the image."""
    on_delete: OnDelete = "keep"
    """`keep` leaves the image in the repository when the resource is replaced or deleted; `delete` removes
    it, unless it has tags that are not declared here.
    """
    builder: Builder = "auto"
    """Builder of a Dockerfile that has a RUN: `auto`, `docker`, `podman`, `buildah` or `cloud_build`."""
    build_bucket: str | None = None
    """Bucket for Cloud Build's source."""

    @property
    def image(self) -> ImageName:
        """The image's name without tag and digest. Raises ValueError if the name breaks a rule."""
        return parse(f"{self.repository}/{self.name}")


Image = TypeVar("Image", bound=TrainingImageSpec)

_CONTENT = FieldEffect(effect=Effect.REPLACE, reason="the content of an image cannot change")
_PLACE = FieldEffect(effect=Effect.REPLACE, reason="an image cannot move")
_RECORD = FieldEffect(effect=Effect.UPDATE, reason="only the provider uses it; the image does not have it")
_FILES = FieldEffect(effect=Effect.NONE, reason="the content is compared, not its path")

EFFECTS: FieldTable = MappingProxyType(
    {
        "repository": _PLACE,
        "name": _PLACE,
        "source": _FILES,
        "dockerfile": _FILES,
        "base_image": _CONTENT,
        "requirements": _FILES,
        "entrypoint": _CONTENT,
        "command": _CONTENT,
        "env": _CONTENT,
        "labels": _CONTENT,
        "working_dir": _CONTENT,
        "user": _CONTENT,
        "build_args": _CONTENT,
        "build_contexts": _FILES,
        "vertex_cluster": _FILES,
        "target": _CONTENT,
        "platform": _CONTENT,
        "python_version": _CONTENT,
        "exclude": _FILES,
        "tags": FieldEffect(effect=Effect.UPDATE, reason="a tag only points to an image"),
        "on_delete": _RECORD,
        "builder": FieldEffect(effect=Effect.UPDATE, reason="it only affects the next build"),
        "build_bucket": FieldEffect(effect=Effect.UPDATE, reason="it only affects the next build"),
    }
)


def normalise(spec: Image) -> Image:
    """Return the normal form: the repository without scheme and trailing slash, the tags sorted."""
    repository = spec.repository.removeprefix("https://").rstrip("/")
    return replace(spec, repository=repository, tags=tuple(sorted(set(spec.tags))))


def image_name(resource_name: str) -> str:
    """Return the closest valid name of an image: "Train (A)" -> "train-a"."""
    parts = (_near(part) for part in resource_name.lower().split("/"))
    return "/".join(part for part in parts if part) or "image"


def _near(part: str) -> str:
    """Return the closest valid component of a path: letters and digits, with single separators between."""
    words = re.split(r"([^a-z0-9]+)", part)
    joined = "".join(
        word if i % 2 == 0 else word if word in (".", "_", "__") or set(word) == {"-"} else "-"
        for i, word in enumerate(words)
    )
    return joined.strip("._-")


def validate(spec: TrainingImageSpec) -> list[Problem]:
    """Return every problem that can be found without reading files, in the order of the fields."""
    return [
        *_repository_problems(spec.repository.removeprefix("https://").rstrip("/")),
        *_name_problems(spec.name),
        *_tag_problems(spec.tags),
        *_builder_problems(spec),
    ]


def _repository_problems(repository: str) -> Iterator[Problem]:
    try:
        name = parse(f"{repository}/image")
    except ValueError:
        name = None
    if name is None or "/" not in repository or not repository.startswith(f"{name.host}/"):
        yield IMAGE_REPOSITORY.broken(
            "repository",
            f"{shown(repository, longest=200)} is not a repository; give an ImageRepository, or write "
            "LOCATION-docker.pkg.dev/PROJECT/NAME",
        )
    elif name.host.endswith("-docker.pkg.dev") and repository.count("/") < 2:
        yield IMAGE_REPOSITORY.broken(
            "repository",
            f"{shown(repository, longest=200)} names no repository in its project; write "
            f"{name.host}/PROJECT/NAME",
        )


def _name_problems(name: str) -> Iterator[Problem]:
    if not _PATH.fullmatch(name):
        yield IMAGE_NAME.broken(
            "name",
            f"{shown(name)} cannot be the name of an image; write it in lower case, for example "
            f"{image_name(name)}",
        )


def _tag_problems(tags: tuple[str, ...]) -> Iterator[Problem]:
    counts = Counter(tags)
    for i, tag in enumerate(tags):
        if not is_tag(tag):
            yield IMAGE_TAGS.broken(
                f"tags[{i}]",
                f"{shown(tag)} cannot be a tag; it has 1 to 128 letters, digits, underscores, dots and "
                "dashes, and does not begin with a dot or dash",
            )
        elif counts[tag] > 1 and tags.index(tag) != i:
            yield IMAGE_TAGS.broken(
                f"tags[{i}]", f"{shown(tag)} is given twice. Remove one", rests_on=("tags",)
            )


def _builder_problems(spec: TrainingImageSpec) -> Iterator[Problem]:
    both = ("builder", "build_bucket")
    if spec.builder == "cloud_build" and spec.build_bucket is None:
        yield BUILD_BUCKET.broken(
            "build_bucket", "is missing. Cloud Build needs a bucket for the source", rests_on=both
        )
    elif spec.build_bucket is not None and spec.builder not in ("auto", "cloud_build"):
        yield BUILD_BUCKET.broken(
            "build_bucket",
            f"does not go with the builder {spec.builder}. Leave it out, or set builder to cloud_build",
            rests_on=both,
        )
