// On a narrow screen each row of a table is a card (site.css), in which each cell needs the heading of its column.
for (const table of document.querySelectorAll(".md-typeset table:not([class])")) {
  const heads = [...table.querySelectorAll("thead th")].map((head) => head.textContent.trim());
  for (const row of table.tBodies[0]?.rows || []) {
    [...row.cells].forEach((cell, at) => cell.setAttribute("data-head", heads[at] || ""));
  }
}
