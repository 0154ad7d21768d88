// Columns of metrics in the overview, which a reader chooses from a menu. They are in the address.
"use strict";

(() => {
  const MOST = 4;
  const PLACE = 3; // after the state, the name and the progress
  const body = document.getElementById("jobs");
  const table = body.closest("table");
  const head = table.tHead.rows[0];
  const menu = document.getElementById("columns");
  const list = menu.querySelector("div");
  const address = new URLSearchParams(location.search);
  let chosen = [...new Set(address.getAll("metric"))].slice(0, MOST);

  function metricsOf(row) {
    const place = row.querySelector("[data-metrics]");
    return place ? JSON.parse(place.dataset.metrics) : {};
  }

  function shown(value) {
    if (value === undefined || value === null) return "";
    return typeof value === "number" ? String(Number(value.toPrecision(4))) : value; // a word such as NaN
  }

  function cellOf(name, value) {
    const cell = document.createElement("td");
    cell.className = "metric number";
    cell.setAttribute("role", "cell");
    cell.dataset.label = name;
    cell.dataset.order = typeof value === "number" ? String(value) : "";
    cell.textContent = shown(value);
    return cell;
  }

  function headOf(name) {
    const cell = document.createElement("th");
    cell.className = "metric number";
    cell.setAttribute("role", "columnheader");
    cell.setAttribute("aria-sort", "none");
    cell.scope = "col";
    cell.title = name;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = name;
    cell.append(button);
    return cell;
  }

  function putCells(row, cells) {
    for (const old of row.querySelectorAll(".metric")) old.remove();
    row.children[PLACE - 1].after(...cells);
  }

  // A row that the stream has replaced has no columns of metrics yet.
  function fillRows() {
    const wanted = JSON.stringify(chosen);
    for (const row of body.children) {
      if ((row.dataset.columns || "[]") === wanted) continue;
      const metrics = metricsOf(row);
      putCells(row, chosen.map((name) => cellOf(name, metrics[name])));
      row.dataset.columns = wanted;
    }
  }

  function showColumns() {
    table.classList.toggle("measured", chosen.length > 0);
    table.style.setProperty("--metrics", String(chosen.length));
    fillRows();
    putCells(head, chosen.map(headOf));
  }

  function choose(event) {
    const { value, checked } = event.target;
    chosen = checked ? [...chosen, value] : chosen.filter((name) => name !== value);
    const url = new URL(location.href);
    url.searchParams.delete("metric");
    for (const name of chosen) url.searchParams.append("metric", name);
    history.replaceState(null, "", url);
    showColumns();
    offer();
  }

  // The metrics of all jobs, the most common first.
  function offer() {
    const counts = new Map(chosen.map((name) => [name, 0]));
    for (const row of body.children) {
      for (const name of Object.keys(metricsOf(row))) counts.set(name, (counts.get(name) || 0) + 1);
    }
    const names = [...counts.keys()].sort((one, other) => counts.get(other) - counts.get(one));
    menu.hidden = !names.length;
    const boxes = [...list.querySelectorAll("input")];
    if (JSON.stringify(boxes.map((box) => box.value)) !== JSON.stringify(names)) {
      list.replaceChildren(
        ...names.map((name) => {
          const label = document.createElement("label");
          label.className = "check";
          const box = document.createElement("input");
          box.type = "checkbox";
          box.value = name;
          box.autocomplete = "off";
          label.append(box, " ", name);
          return label;
        }),
      );
    }
    for (const box of list.querySelectorAll("input")) {
      box.checked = chosen.includes(box.value);
      box.disabled = !box.checked && chosen.length >= MOST;
    }
  }

  list.addEventListener("input", choose);
  document.addEventListener("parts", () => {
    fillRows();
    offer();
  });
  showColumns();
  offer();
})();
