"""A promoted image: it is in the repository already, or is copied there from where it was tried."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pulumi_vertex_training.cloud import errors
from pulumi_vertex_training.cloud.container_registry import client as registry
from pulumi_vertex_training.cloud.container_registry import copying
from pulumi_vertex_training.cloud.container_registry.image_names import ImageName, parse
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.core.promotion.entries import PromotedImage
from pulumi_vertex_training.core.remote_queries import QUERIES
from pulumi_vertex_training.core.settings import Target
from vertex_training.findings.problems import Problem


def problems(image: ImageName | None, promoted: PromotedImage, target: Target | None) -> list[Problem]:
    """Return the problem of a promoted image that exists nowhere any more.

    `image` is its name in the stack, None if that is not known yet. A service that does not answer gives a
    warning.
    """
    source = parse(promoted.source).at(promoted.digest)
    names = [source] if image is None else [image.at(promoted.digest), source]

    def exists(endpoint: Endpoint) -> bool:
        return any(registry.digest_at(endpoint, name) == promoted.digest for name in names)

    unanswered = f"whether the promoted image {source} still exists"
    if QUERIES.ask_endpoint(target, exists, unknown=unanswered) is not False:
        return []
    return [Problem(path="promoted", message=_gone(promoted, names))]


def ensure(
    endpoint: Endpoint, image: ImageName, promoted: PromotedImage, *, on_progress: Callable[[int, int], None]
) -> copying.Copied:
    """Copy a promoted image to its name as far as it is not there. Raises NotFound if it is nowhere."""
    source, target = parse(promoted.source).at(promoted.digest), image.at(promoted.digest)
    try:
        tree = copying.read(endpoint, source)
    except errors.NotFound:
        found = registry.find_manifest(endpoint, target)
        if found is None:
            raise errors.NotFound(
                _gone(promoted, [target, source]), code=404, resource=str(source), endpoint=endpoint
            ) from None
        tree = copying.read(endpoint, target)
    except errors.PermissionDenied:
        # The copy that `vertex-training promote` made is enough.
        if registry.digest_at(endpoint, target) != promoted.digest:
            raise
        tree = copying.read(endpoint, target)
    return copying.copy(endpoint, tree, image, on_progress=on_progress)


def _gone(promoted: PromotedImage, names: Sequence[ImageName]) -> str:
    return promoted.gone(f"the image {promoted.digest}", [f"in {name.repository}" for name in names])
