"""A promoted image: it is in the repository already, or is copied there from where it was tried."""

from __future__ import annotations

from collections.abc import Callable, Collection

from pulumi_vertex_training.cloud import errors
from pulumi_vertex_training.cloud.container_registry import client as registry
from pulumi_vertex_training.cloud.container_registry import copying
from pulumi_vertex_training.cloud.container_registry.image_names import ImageName, parse
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.core.promotion import PromotedImage
from pulumi_vertex_training.core.remote_queries import QUERIES
from pulumi_vertex_training.core.settings import Target
from pulumi_vertex_training.kinds.training_image.build import PushedImage
from pulumi_vertex_training.kinds.training_image.spec import TrainingImageSpec
from vertex_training.findings.problems import Problem

_PLACE = {"repository", "name"}


def problems(
    spec: TrainingImageSpec, promoted: PromotedImage, target: Target | None, *, unknown: Collection[str]
) -> list[Problem]:
    """Return the problem of a promoted image that exists nowhere any more.

    Its repository is looked up as far as it is known. A service that does not answer gives a warning.
    """
    source = parse(promoted.source).at(promoted.digest)
    own = None if _PLACE & set(unknown) else spec.image.at(promoted.digest)
    names = [source] if own is None else [own, source]

    def exists(endpoint: Endpoint) -> bool:
        return any(registry.digest_at(endpoint, name) == promoted.digest for name in names)

    unanswered = f"whether the promoted image {source} still exists"
    if QUERIES.ask_endpoint(target, exists, unknown=unanswered) is not False:
        return []
    return [Problem(path="promoted", message=_gone(promoted, names))]


def ensure(
    endpoint: Endpoint,
    spec: TrainingImageSpec,
    promoted: PromotedImage,
    *,
    on_progress: Callable[[ImageName], Callable[[int, int], None]],
) -> PushedImage:
    """Copy a promoted image to its repository as far as it is not there. Raises NotFound if it is nowhere."""
    source, target = parse(promoted.source).at(promoted.digest), spec.image.at(promoted.digest)
    try:
        tree = copying.read(endpoint, source)
    except errors.NotFound:
        found = registry.find_manifest(endpoint, target)
        if found is None:
            raise errors.NotFound(
                f"image {spec.name}: {_gone(promoted, [target, source])}",
                code=404,
                resource=str(source),
                endpoint=endpoint,
            ) from None
        tree = copying.read(endpoint, target)
    except errors.PermissionDenied:
        # The copy that `vertex-training promote` made is enough.
        if registry.digest_at(endpoint, target) != promoted.digest:
            raise
        tree = copying.read(endpoint, target)
    copied = copying.copy(endpoint, tree, spec.image, on_progress=on_progress(spec.image))
    return PushedImage(image=copied.image, size=copied.size, sent_bytes=copied.sent_bytes)


def _gone(promoted: PromotedImage, names: list[ImageName]) -> str:
    places = " nor in ".join(name.repository for name in names)
    where = f"neither in {places}" if len(names) > 1 else f"not in {places}"
    return f"the image {promoted.digest}, {promoted.words}, no longer exists, {where}. {promoted.remedy}"
