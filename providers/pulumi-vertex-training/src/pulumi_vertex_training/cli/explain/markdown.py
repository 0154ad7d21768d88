"""The output of `explain --markdown`: the job, its picture, its cost and its findings, for a comment."""

from __future__ import annotations

from pulumi_vertex_training.cli.explain.rule_index import source_of
from pulumi_vertex_training.views import cost_view, markdown
from pulumi_vertex_training.views.explained import Explanation
from pulumi_vertex_training.views.kind_view import view_of_document
from pulumi_vertex_training.views.topology.mermaid import picture
from vertex_training.command_line.output import Output


def show(explained: Explanation, output: Output) -> None:
    """Print the Markdown."""
    is_job = explained.document.spec is not None
    output.title(view_of_document(explained.document).heading(explained) if is_job else "This is not a job")
    for problem in (*explained.errors, *explained.warnings):
        source = source_of(problem.rule)
        output.finding(problem.level, f"{problem} ({source})" if source else str(problem))
    if explained.spec is not None and (drawn := picture(explained.spec.worker_pool_specs)):
        output.line(f"\n{markdown.mermaid(drawn)}")
    cost_view.show_all(explained, output, in_parts=True)
