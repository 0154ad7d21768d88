"""All pages, in the order of the navigation."""

from __future__ import annotations

from pulumi_vertex_training.ui.pages.compare.page import COMPARE
from pulumi_vertex_training.ui.pages.experiments.page import EXPERIMENT, EXPERIMENTS
from pulumi_vertex_training.ui.pages.images.page import IMAGES
from pulumi_vertex_training.ui.pages.job.page import JOB
from pulumi_vertex_training.ui.pages.overview.page import OVERVIEW
from pulumi_vertex_training.ui.pages.page import Page
from pulumi_vertex_training.ui.pages.resources.page import RESOURCE_LIST, RESOURCES
from pulumi_vertex_training.ui.pages.storage.page import STORAGE
from pulumi_vertex_training.ui.pages.view import View

PAGES: tuple[Page, ...] = (OVERVIEW, JOB, EXPERIMENTS, EXPERIMENT, RESOURCES)

VIEWS: tuple[View, ...] = (COMPARE, RESOURCE_LIST, *STORAGE, *IMAGES)

NAVIGATION = (
    *((page.label, page.path) for page in PAGES if page.label),
    *((view.label, view.path) for view in VIEWS if view.label),
)
"""The label and the address of each page in the navigation."""


def tab_of(path: str) -> str:
    """Return the address in the navigation under which a page is; "/" for jobs."""
    below = (address for _, address in NAVIGATION if address != "/" and f"{path}/".startswith(f"{address}/"))
    return next(below, "/")
