"""Violations of accessibility on a page, found by axe."""

from __future__ import annotations

from collections.abc import Sequence

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

COLOURS = ("color-contrast", "link-in-text-block")
"""The rules of axe whose result depends on the colour scheme."""

_SERIOUS = """async (rules) => {
    const only = rules.length ? {runOnly: {type: "rule", values: rules}} : {};
    const seen = {};
    const repeated = [...document.querySelectorAll("tbody tr")].filter((row) => {
        const parts = [row, ...row.querySelectorAll("*")];
        const form = parts.flatMap((one) => [one.tagName, one.className, ...one.getAttributeNames()]).join();
        return (seen[form] = (seen[form] ?? 0) + 1) > 2;
    });
    const found = await axe.run({exclude: repeated}, {resultTypes: ["violations"], ...only});
    return found.violations
        .filter((one) => one.impact !== "minor")
        .flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.html}`));
}"""


def serious(page: Page, rules: Sequence[str] = ()) -> list[str]:
    """Return what axe finds by these rules, or by all of them, except for what it calls minor.

    Of the rows of tables that are built alike, axe sees two.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    return page.evaluate(_SERIOUS, list(rules))
