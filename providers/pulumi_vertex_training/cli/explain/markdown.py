"""The output of `explain --markdown`: the job, its picture, its cost and its findings, for a comment."""

from __future__ import annotations

from collections.abc import Iterator

from pulumi_vertex_training.cli.explain.rule_index import source_of
from pulumi_vertex_training.views import cost_view, markdown
from pulumi_vertex_training.views.explained import Explanation
from pulumi_vertex_training.views.kind_view import view_of_document
from pulumi_vertex_training.views.markdown import escaped
from pulumi_vertex_training.views.topology_picture import picture

_LONGEST_FINDING = 2_000


def lines(explained: Explanation) -> Iterator[str]:
    """Yield the lines of the Markdown."""
    if explained.document.spec is None:
        yield "### This is not a job"
    else:
        yield f"### {escaped(view_of_document(explained.document).heading(explained))}"
    for problem in (*explained.errors, *explained.warnings):
        source = source_of(problem.rule)
        said = f"{problem} ({source})" if source else str(problem)
        yield f"\n- **{problem.level}**: {markdown.message(said, longest=_LONGEST_FINDING)}"
    if explained.spec is not None and (drawn := picture(explained.spec.worker_pool_specs)):
        yield f"\n{markdown.mermaid(drawn)}"
    location, is_default = explained.sample.location, not explained.document.location
    if explained.cost is not None and explained.has_replicas:
        yield ""
        yield from cost_view.as_markdown(explained.cost, location, is_default=is_default)
    if explained.machines_cost is not None:
        yield ""
        yield from cost_view.as_markdown(
            explained.machines_cost, location, of_machines=True, is_default=is_default
        )
