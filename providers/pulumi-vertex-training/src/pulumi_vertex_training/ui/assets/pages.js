// Sorts tables, shows a trial in the pictures, keeps the choice of runs, and carries out actions.
"use strict";

// Tables with `data-sorts`: the headings are buttons, and the cells have values by which they sort.

function orderOf(cell) {
  if (cell.dataset.from !== undefined) {
    const from = Date.parse(cell.dataset.from);
    return Number.isNaN(from) ? "" : (Date.parse(cell.dataset.to) || serviceTime()) - from;
  }
  const text = cell.dataset.order === undefined ? cell.textContent.trim() : cell.dataset.order;
  if (text.startsWith("$")) return Number.parseFloat(text.slice(1).replaceAll(",", ""));
  if (text === "<1¢") return 0.005;
  return text !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
}

// Numbers come before texts, and cells without a value are last in both directions.
function compare(one, other, sign) {
  if (one === "" || other === "") return one === other ? 0 : one === "" ? 1 : -1;
  if (typeof one !== typeof other) return typeof one === "number" ? -1 : 1;
  return sign * (typeof one === "number" ? one - other : one.localeCompare(other));
}

function sortedColumn(head) {
  return [...head.children].findIndex((cell) => cell.getAttribute("aria-sort") !== "none");
}

function sortTable(body, head, observer) {
  const column = sortedColumn(head);
  if (column < 0) return;
  const sign = head.children[column].getAttribute("aria-sort") === "descending" ? -1 : 1;
  const rows = [...body.children];
  const values = new Map(rows.map((row) => [row, orderOf(row.children[column])]));
  const sorted = [...rows].sort((one, other) => compare(values.get(one), values.get(other), sign));
  if (sorted.every((row, position) => row === rows[position])) return;
  const focused = document.activeElement;
  observer.disconnect();
  body.append(...sorted);
  filterTable(body); // the first row of a resource may be another
  observer.observe(body, { childList: true });
  if (focused && body.contains(focused)) focused.focus({ preventScroll: true });
}

function nameOf(cell) {
  return cell.textContent.replace(/\s+/g, " ").trim();
}

function markSorted(head, cell, direction) {
  for (const each of head.children) each.setAttribute("aria-sort", each === cell ? direction : "none");
}

// On a phone the headings are hidden: a list of columns and a button for the direction take their place.
function sortControls(table) {
  const first = table.dataset.unsorted ? [table.dataset.unsorted] : []; // the order of the server has a name
  const place = document.createElement("p");
  place.className = "tools sorts";
  const label = document.createElement("label");
  const columns = document.createElement("select");
  const turn = document.createElement("button");
  turn.type = "button";
  label.append("Sort by ", columns);
  place.append(label, " ", turn);
  (table.closest(".wide") || table).before(place);
  return {
    start(head, sortBy) {
      const cell = () => head.children[columns.selectedIndex - first.length];
      columns.addEventListener("change", () => (cell() ? sortBy(cell(), "ascending") : location.reload()));
      turn.addEventListener("click", () =>
        sortBy(cell(), cell().getAttribute("aria-sort") === "ascending" ? "descending" : "ascending"),
      );
    },
    show(head) {
      const names = [...first, ...[...head.children].map(nameOf)];
      if (names.join("\n") !== [...columns.options].map((one) => one.text).join("\n")) {
        columns.replaceChildren(...names.map((name) => new Option(name)));
      }
      const column = sortedColumn(head);
      columns.selectedIndex = Math.max(column + first.length, 0);
      turn.disabled = column < 0;
      const isDown = column >= 0 && head.children[column].getAttribute("aria-sort") === "descending";
      turn.textContent = isDown ? "▼ descending" : "▲ ascending";
    },
  };
}

for (const table of document.querySelectorAll("table[data-sorts]")) {
  const body = document.getElementById(table.dataset.sorts);
  const head = table.tHead.rows[table.tHead.rows.length - 1]; // groups of columns may be above
  const observer = new MutationObserver(() => sortTable(body, head, observer));
  observer.observe(body, { childList: true });
  const controls = sortControls(table);
  let chosen = null; // what a user has chosen: it outlives headings that are replaced
  const show = () => {
    const again = chosen && [...head.children].find((cell) => nameOf(cell) === chosen.name);
    if (again) markSorted(head, again, chosen.direction);
    controls.show(head);
    sortTable(body, head, observer);
  };
  const sortBy = (cell, direction) => {
    chosen = { name: nameOf(cell), direction };
    show();
  };
  head.addEventListener("click", (event) => {
    const cell = event.target.closest("th");
    if (cell) sortBy(cell, cell.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending");
  });
  controls.start(head, sortBy);
  new MutationObserver(show).observe(head, { childList: true });
  show();
}

// The trial at which the pointer or the keyboard is, in the pictures and the table.

function showTrial(event) {
  const place = event.target.closest("[data-trial]");
  const trial = place ? place.dataset.trial : null;
  for (const each of document.querySelectorAll(".shown-trial")) each.classList.remove("shown-trial");
  if (trial === null) return;
  for (const each of document.querySelectorAll("[data-trial]")) {
    if (each.dataset.trial === trial) each.classList.add("shown-trial");
  }
}

if (document.querySelector("[data-sorts=trials]")) {
  document.addEventListener("pointerover", showTrial);
  document.addEventListener("focusin", showTrial);
}

// Actions: a button opens the dialog that says what happens; its result is said on the page.

const confirmation = document.getElementById("confirm");
const result = document.getElementById("action-result");
let act = null;

// What is between backticks is code.
function showText(place, text) {
  place.replaceChildren(
    ...text.split("`").map((part, number) => {
      if (number % 2 === 0) return part;
      const code = document.createElement("code");
      code.textContent = part;
      return code;
    }),
  );
}

function askFor(button) {
  const choice = button.dataset.valueOf ? document.getElementById(button.dataset.valueOf) : null;
  const chosen = choice ? choice.selectedOptions[0] : null;
  document.getElementById("confirm-title").textContent =
    button.dataset.does + (chosen ? `: ${chosen.textContent.trim()}` : "") + "?";
  showText(document.getElementById("confirm-text"), button.dataset.asks);
  document.getElementById("confirm-yes").textContent = button.dataset.does;
  act = { address: button.dataset.action, value: choice ? choice.value : "" };
  confirmation.showModal();
}

async function carryOut({ address, value }) {
  result.textContent = "…";
  let answer;
  try {
    const sent = await fetch(address, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Page-Token": document.documentElement.dataset.token },
      body: JSON.stringify({ value }),
    });
    answer = await sent.json();
  } catch {
    answer = { text: "The dashboard did not answer. Look whether it was done before you try again." };
  }
  result.textContent = answer.text;
  if (answer.job) {
    const link = document.createElement("a");
    link.href = `/jobs/${answer.job}`;
    link.textContent = "Show it";
    result.append(" ", link);
  }
  if (typeof answer.ahead === "number") document.documentElement.dataset.ahead = String(answer.ahead);
}

if (confirmation) {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-action]");
    if (button) askFor(button);
  });
  document.getElementById("confirm-yes").addEventListener("click", () => {
    confirmation.close();
    carryOut(act);
  });
  document.getElementById("confirm-no").addEventListener("click", () => confirmation.close());
}

// The choice of runs to compare outlives a row that is replaced, and a page that is loaded again.

const choices = document.querySelector("form[data-chooses]");

function keptChoice(name) {
  try {
    const found = JSON.parse(sessionStorage.getItem(name));
    return Array.isArray(found) ? found : [];
  } catch {
    return [];
  }
}

if (choices) {
  const body = document.getElementById(choices.dataset.chooses);
  const KEPT = "runs to compare";
  const most = Number(choices.dataset.most);
  const chosen = new Set(keptChoice(KEPT));
  const button = choices.querySelector("button");
  const show = () => {
    const boxes = [...body.querySelectorAll("input[name=job]")];
    for (const box of boxes) box.checked = chosen.has(box.value);
    // Jobs that were deleted are not chosen any more. The first view has only the newest ones.
    if (Number(body.dataset.all || 0) <= boxes.length) {
      const known = new Set(boxes.map((box) => box.value));
      for (const key of [...chosen]) if (!known.has(key)) chosen.delete(key);
    }
    button.disabled = chosen.size < 2 || chosen.size > most;
    button.textContent = chosen.size < 2 ? "Compare" : `Compare ${chosen.size} runs`;
    if (chosen.size > most) button.textContent = `Compare at most ${most} runs`;
    sessionStorage.setItem(KEPT, JSON.stringify([...chosen]));
  };
  body.addEventListener("change", (event) => {
    if (event.target.name !== "job") return;
    if (event.target.checked) chosen.add(event.target.value);
    else chosen.delete(event.target.value);
    show();
  });
  choices.addEventListener("submit", (event) => {
    event.preventDefault();
    const query = new URLSearchParams([...chosen].map((key) => ["job", key]));
    location.assign(`${choices.action}?${query}`);
  });
  new MutationObserver(show).observe(body, { childList: true });
  show();
}
