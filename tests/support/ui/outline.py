"""The outline of a page: where each of its parts is and how large, and which texts are cut.

An outline shows a part that is gone or new, has moved or is squeezed, as a picture does. It is text, so a
difference names the part, and a few pixels more or less are tolerated. Colours are axe's matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from playwright.sync_api import Page

Box = list[int]
"""Left, top, width and height in pixels."""

Outline = Mapping[str, Box]

_TOLERANCE, _SHARE = 16, 0.08
"""A part may differ by so many pixels, or by this share of its own position or size."""

_ROWS = 2
"""Rows of each table that are part of an outline."""

_OUTLINE = """(most) => {
  // Ages, times and the states of replicas that end beside the chief differ from run to run.
  for (const one of document.querySelectorAll("time[data-age]")) one.textContent = "10m00s";
  for (const one of document.querySelectorAll(".pool .word")) one.textContent = "";
  for (const row of document.querySelectorAll(".compare tbody tr")) {
    if (/^(Created|Cost|Ran for)/.test(row.textContent.trim())) row.remove(); // it is there if it differs
  }
  const found = {};
  const add = (name, one) => {
    const box = one.getBoundingClientRect();
    if (!box.width || !box.height || box.width <= 1) return;
    if (!one.checkVisibility({visibilityProperty: true, opacityProperty: true})) return;
    found[name] = [box.left + scrollX, box.top + scrollY, box.width, box.height].map(Math.round);
  };
  const all = (selector, name) =>
    document.querySelectorAll(selector).forEach((one, i) => add(i ? `${name} ${i + 1}` : name, one));
  add("header", document.querySelector("header"));
  add("place", document.querySelector(".place"));
  all("header nav li", "tab");
  all("main h1", "h1");
  all("main h2", "h2");
  all("main section", "section");
  all("main .tools", "tools");
  all("main .tools > *", "control");
  all("main .counts li", "count");
  all("main .head .buttons > *", "button");
  all("main .strip > div", "figure");
  all("main .pool", "pool");
  all("main figure .plot", "plot");
  all("main svg.plot", "picture");
  all("main details.fold", "fold");
  for (const part of ["facts", "summary", "log", "metric-values", "trouble"]) {
    const one = document.getElementById(part);
    if (one) add(part, one);
  }
  document.querySelectorAll("main table:not(.u-legend)").forEach((table, number) => {
    const name = `table ${number + 1}`;
    add(name, table);
    table.querySelectorAll("thead th").forEach((cell, column) => add(`${name} head ${column + 1}`, cell));
    const rows = [...table.querySelectorAll("tbody tr")].filter((row) => row.getBoundingClientRect().height);
    rows.slice(0, most).forEach((row, place) => {
      add(`${name} row ${place + 1}`, row);
      [...row.children].forEach((cell, column) => add(`${name} row ${place + 1} cell ${column + 1}`, cell));
    });
  });
  return found;
}"""

_SETTLED = """async () => {
  const boxes = () => [...document.querySelectorAll("main section, main figure .plot")]
    .map((one) => `${one.getBoundingClientRect().width} ${one.getBoundingClientRect().height}`).join();
  for (let seen = "", same = 0; same < 3; ) {
    await new Promise(requestAnimationFrame);
    const now = boxes();
    same = now === seen ? same + 1 : 0;
    seen = now;
  }
}"""

_NARROW = """() => {
  const context = document.createElement("canvas").getContext("2d");
  const found = [];
  for (const cell of document.querySelectorAll("main td, main th")) {
    if (!cell.getBoundingClientRect().width || cell.closest(".scroll")) continue;
    const style = getComputedStyle(cell);
    context.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    const inner = cell.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    const text = cell.innerText.trim();
    const needed = Math.min(context.measureText("abcdef").width, context.measureText(text).width);
    if (inner + 1 < needed) found.push(`narrow: ${text}`);
    for (const node of cell.childNodes) {
      if (node.nodeType !== Node.TEXT_NODE || !node.data.trim()) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      const part = range.getBoundingClientRect();
      const seen = cell.getBoundingClientRect().right - parseFloat(style.paddingRight) - part.left;
      const least = Math.min(context.measureText("abcdef").width, part.width);
      if (part.width && seen + 1 < least) found.push(`narrow: ${node.data.trim()}`);
    }
    const isFigure = cell.classList.contains("number") || cell.closest(".strip");
    if (isFigure && cell.scrollWidth > cell.clientWidth + 1) found.push(`cut: ${text}`);
  }
  for (const figure of document.querySelectorAll("main .strip .figure")) {
    if (figure.scrollWidth > figure.clientWidth + 1) found.push(`cut: ${figure.innerText}`);
  }
  const groundOf = (one) => {
    for (let each = one; each; each = each.parentElement) {
      const ground = getComputedStyle(each).backgroundColor;
      if (ground !== "rgba(0, 0, 0, 0)") return ground;
    }
    return "";
  };
  for (const one of document.querySelectorAll("main :is(h1, h2, h3, th, dt, dd, .state)")) {
    const text = one.innerText.trim();
    if (text && getComputedStyle(one).color === groundOf(one)) found.push(`unseen: ${text}`);
  }
  for (const one of document.querySelectorAll("main button, main .pool, main .pool h3, main h2")) {
    const isShown = one.getBoundingClientRect().width > 1;
    if (isShown && one.scrollWidth > one.clientWidth + 1) found.push(`cut: ${one.innerText}`);
  }
  return found;
}"""


def settle(page: Page) -> None:
    """Wait until curves have the size of their place: they are drawn again in a later frame."""
    page.evaluate(_SETTLED)


def outline(page: Page) -> dict[str, Box]:
    """Return the box of each visible part of a page."""
    return page.evaluate(_OUTLINE, _ROWS)


def cramped(page: Page) -> list[str]:
    """Return the cells that are narrower than six letters of their text, and texts that are cut or unseen."""
    return page.evaluate(_NARROW)


def differences(expected: Outline, found: Outline) -> Iterator[str]:
    """Yield how an outline differs from the expected one, a line for each part."""
    for name in expected.keys() - found.keys():
        yield f"{name} is gone; it was at {expected[name]}"
    for name in found.keys() - expected.keys():
        yield f"{name} is new, at {found[name]}"
    for name in expected.keys() & found.keys():
        pairs = list(zip(expected[name], found[name], strict=True))
        if any(abs(one - other) > max(_TOLERANCE, _SHARE * abs(one)) for one, other in pairs):
            yield f"{name} is {found[name]}, not {expected[name]} (left, top, width, height)"
