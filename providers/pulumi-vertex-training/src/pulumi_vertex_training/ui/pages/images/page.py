"""The views of repositories, of the images of one, and of one image."""

from __future__ import annotations

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.ui.pages.page import MissingError, missing_if_refused
from pulumi_vertex_training.ui.pages.view import Query, View
from pulumi_vertex_training.ui.source.storage import images
from pulumi_vertex_training.ui.source.storage.images import Image, Images

PATH = "/images"


def _images(endpoint: Endpoint, query: Query) -> Images:
    repository = query.one("repository")
    if not repository:
        raise MissingError("This is not the address of a repository. The page Images lists them.")
    with missing_if_refused():
        return images.images(endpoint, repository, page=query.one("page"))


def _image(endpoint: Endpoint, query: Query) -> Image:
    try:
        with missing_if_refused():
            return images.image(endpoint, query.one("uri"))
    except ValueError as error:
        raise MissingError(f"{error}. The page Images lists the repositories.") from error


IMAGES = (
    View(
        path=PATH,
        template="images/repositories.html",
        title=lambda _model: "Images",
        read=lambda endpoint, query: images.repositories(endpoint, page=query.one("page")),
        label="Images",
    ),
    View(
        path=f"{PATH}/repository",
        template="images/repository.html",
        title=lambda model: model.repository,
        read=_images,
    ),
    View(
        path=f"{PATH}/image",
        template="images/image.html",
        title=lambda model: model.uri.partition("@")[0].rpartition("/")[2],
        read=_image,
    ),
)
