// Keeps an open page up to date, filters tables and logs, and counts ages. It loads nothing from elsewhere.
"use strict";

// Parts are HTML that the dashboard's own templates made, with every text escaped. The policy of the page allows
// HTML here and nowhere else.
const policy = window.trustedTypes
  ? window.trustedTypes.createPolicy("dashboard", { createHTML: (html) => html })
  : { createHTML: (html) => html };

const MOST_LINES = 5000;
const page = document.documentElement;

// Returns the elements of rows: one parse for all of them.
function elementsOf(rows) {
  const template = document.createElement("template");
  template.innerHTML = policy.createHTML(rows.join(""));
  return [...template.content.children];
}

// Runs a change of the page, and then puts the keyboard's focus back where it was.
function keepingFocus(change) {
  const focused = document.activeElement && document.activeElement.id;
  change();
  if (focused && (!document.activeElement || document.activeElement.id !== focused)) {
    const again = document.getElementById(focused);
    if (again) again.focus({ preventScroll: true });
  }
}

function showParts(parts) {
  keepingFocus(() => {
    for (const [id, html] of Object.entries(parts.fragments)) {
      const place = document.getElementById(id);
      if (!place) continue;
      place.innerHTML = policy.createHTML(html);
      const section = place.closest("section");
      if (section && section.hasAttribute("data-hides-if-empty") && html.trim()) section.hidden = false;
    }
    for (const [id, rows] of Object.entries(parts.rows)) {
      const body = document.getElementById(id);
      if (body) showRows(body, rows);
    }
  });
  countAges();
  showTitle();
  document.dispatchEvent(new Event("parts"));
}

// The title and the icon of a tab have the state of its job.
const ICONS = { running: "running", pending: "running", succeeded: "succeeded", failed: "failed", expired: "failed" };

function showTitle() {
  const found = document.querySelector("[data-title]");
  if (!found) return;
  const title = `${found.dataset.title} - vertex-training`;
  if (document.title === title) return;
  document.title = title;
  const icon = ICONS[found.dataset.icon];
  document.getElementById("icon").setAttribute("href", `/assets/icon${icon ? `-${icon}` : ""}.svg`);
}

// A curve stays as it is drawn, with its table open, and gets other points (curves.js).
function replaceRow(old, made) {
  if (!old.dataset.curve || !made.dataset.curve) {
    old.replaceWith(made);
    return;
  }
  old.querySelector("figcaption").replaceWith(made.querySelector("figcaption"));
  old.dataset.curve = made.dataset.curve;
}

function showRows(body, rows) {
  const created = new Map();
  for (const made of elementsOf(Object.values(rows.changed))) {
    const old = document.getElementById(made.id);
    if (old && old.parentElement === body) replaceRow(old, made);
    else created.set(made.id, made);
  }
  if (rows.order) {
    const wanted = new Set(rows.order);
    for (const row of [...body.children]) if (!wanted.has(row.id)) row.remove();
    let next = body.firstElementChild;
    for (const key of rows.order) {
      if (next && next.id === key) {
        next = next.nextElementSibling;
        continue;
      }
      const row = created.get(key) || document.getElementById(key);
      if (row) body.insertBefore(row, next);
    }
  }
  delete body.dataset.all;
  const section = body.closest("section");
  if (section && section.hasAttribute("data-hides-if-empty")) {
    section.hidden = !section.querySelector("tbody > *, .curves > *, dl > *");
  }
  filterTable(body);
}

// Filters of tables

function filterTable(body) {
  const search = document.querySelector(`[data-filter="${body.id}"]`);
  const state = document.querySelector(`[data-filter-state="${body.id}"]`);
  const inner = document.querySelector(`[data-filter-inner="${body.id}"]`);
  const grouped = document.querySelector(`[data-filter-groups="${body.id}"]`);
  const clear = document.querySelector(`[data-filter-clear="${body.id}"]`);
  const note = document.querySelector(`[data-filter-note="${body.id}"]`);
  const wanted = search ? search.value.toLowerCase().split(/\s+/).filter(Boolean) : [];
  let shown = 0;
  let all = 0;
  let inside = 0; // trials and jobs of pipelines count only if they are asked for
  for (const row of body.children) {
    const text = wanted.length ? row.textContent.toLowerCase() : "";
    const fits =
      wanted.every((word) => text.includes(word)) &&
      (!state || !state.value || row.dataset.state === state.value) &&
      (!inner || inner.checked || !row.dataset.inner);
    if (row.hidden === fits) row.hidden = !fits;
    inside += row.dataset.inner && inner && !inner.checked ? 1 : 0;
    all += 1;
    shown += fits ? 1 : 0;
  }
  const fitting = shown;
  if (grouped) shown -= showGroups(body, grouped.checked);
  if (clear) clear.hidden = !(wanted.length || (state && state.value));
  // A first view has the newest rows; the others come as soon as the page is connected.
  const rest = Math.max(Number(body.dataset.all || 0) - all, 0);
  const whole = all + rest - inside;
  const some = shown ? `${shown} of ${whole} shown` : `none of ${whole} fits the filter`;
  const isWhole = fitting === all - inside;
  const words = !isWhole ? some : shown === fitting ? `${whole} in all` : `${whole} in ${shown} rows`;
  if (note) note.textContent = rest ? `${words}, ${rest} are loading` : words;
  markCounts();
}

// With one row per resource, the first of its rows stands for all: the live or the newest run, or the best if the
// table is sorted by the result. A button says how many there are, and shows them. Returns how many rows are hidden.
function showGroups(body, isOn) {
  const firsts = new Map();
  let hidden = 0;
  for (const row of body.children) {
    const button = row.querySelector("[data-runs]");
    if (button) button.hidden = true;
    if (!isOn || row.hidden || !row.dataset.group) continue;
    const first = firsts.get(row.dataset.group);
    firsts.set(row.dataset.group, first ? { ...first, count: first.count + 1 } : { button, count: 1 });
    row.hidden = Boolean(first);
    hidden += first ? 1 : 0;
  }
  for (const { button, count } of firsts.values()) {
    button.hidden = count < 2;
    button.textContent = `${count} runs`;
  }
  return hidden;
}

function setFilters(body, values) {
  for (const control of document.querySelectorAll(FILTERS)) {
    if (bodyOf(control) !== body) continue;
    const value = values[control.id.slice(body.id.length + 1)] || "";
    if (control.type === "checkbox") control.checked = Boolean(value);
    else control.value = value;
  }
  filterTable(body);
  keepFilters();
}

document.addEventListener("click", (event) => {
  const clear = event.target.closest("[data-filter-clear]");
  if (clear) setFilters(document.getElementById(clear.dataset.filterClear), {});
  const runs = event.target.closest("[data-runs]");
  if (runs) setFilters(runs.closest("tbody"), { words: runs.closest("tr").dataset.group });
});

const FILTERS = "[data-filter], [data-filter-state], [data-filter-inner], [data-filter-groups]";

function bodyOf(control) {
  const { filter, filterState, filterInner, filterGroups } = control.dataset;
  return document.getElementById(filter || filterState || filterInner || filterGroups);
}

function filterTables() {
  const given = new URLSearchParams(location.search);
  for (const control of document.querySelectorAll(FILTERS)) {
    const body = bodyOf(control);
    if (control.type === "checkbox") control.checked = given.has(control.id);
    else if (given.has(control.id)) control.value = given.get(control.id);
    control.addEventListener("input", () => {
      filterTable(body);
      keepFilters();
    });
    filterTable(body);
  }
}

// The filters are in the address, so that a link to a filtered table can be sent.
function keepFilters() {
  const address = new URL(location.href);
  for (const control of document.querySelectorAll(FILTERS)) {
    const value = control.type === "checkbox" ? (control.checked ? "1" : "") : control.value;
    if (value) address.searchParams.set(control.id, value);
    else address.searchParams.delete(control.id);
  }
  history.replaceState(null, "", address);
}

// The number of jobs in a state is a button that shows only these jobs, and all of them when pressed again.
function markCounts() {
  const state = document.querySelector("[data-filter-state]");
  for (const count of document.querySelectorAll("[data-counts]")) {
    count.setAttribute("aria-pressed", String(state !== null && state.value === count.dataset.counts));
  }
}

document.addEventListener("parts", markCounts);
document.addEventListener("click", (event) => {
  const count = event.target.closest("[data-counts]");
  const state = document.querySelector("[data-filter-state]");
  if (!count || !state) return;
  state.value = state.value === count.dataset.counts ? "" : count.dataset.counts;
  state.dispatchEvent(new Event("input"));
});

// The log

const log = document.getElementById("log");
const logReplica = document.getElementById("log-replica");
const logSeverity = document.getElementById("log-severity");
const logWords = document.getElementById("log-words");
const logFollow = document.getElementById("log-follow");
const logNote = document.getElementById("log-note");
const logError = document.getElementById("log-error");
const SEVERE = new Set(["ERROR", "CRITICAL", "ALERT", "EMERGENCY"]);

function fitsLog(line) {
  const severity = line.dataset.severity;
  const level = logSeverity.value;
  return (
    (!logReplica.value || line.dataset.replica === logReplica.value) &&
    (!level || SEVERE.has(severity) || (level === "WARNING" && severity === "WARNING")) &&
    (!logWords.value || line.textContent.toLowerCase().includes(logWords.value.toLowerCase()))
  );
}

function lineOf([time, severity, replica, message]) {
  const line = document.createElement("li");
  line.dataset.severity = severity;
  line.dataset.replica = replica;
  const moment = document.createElement("time");
  moment.dateTime = time;
  moment.textContent = new Date(time).toTimeString().slice(0, 8);
  const name = document.createElement("span");
  name.className = "replica";
  name.textContent = replica;
  colourName(name);
  const text = document.createElement("span");
  text.className = "message";
  text.textContent = message;
  line.append(moment, " ", name, " ", text);
  return line;
}

// Each replica has a colour of its own, the service has none; the column is as wide as the longest name.
const colours = new Map();
let longest = 7;

function colourName(name) {
  const replica = name.textContent;
  name.title = replica;
  if (replica.length > longest) {
    longest = replica.length;
    log.style.setProperty("--names", `${Math.min(longest, 24)}ch`);
  }
  if (colourOf(replica)) name.classList.add(colourOf(replica));
}

function colourOf(replica) {
  if (replica.endsWith("service")) return "";
  if (!colours.has(replica)) colours.set(replica, `r${(colours.size % 8) + 1}`);
  return colours.get(replica);
}

// Trials and replicas that appear later can be chosen, too.
function offerReplica(name) {
  for (const option of logReplica.options) if (option.value === name) return;
  logReplica.add(new Option(name, name));
}

function noteLog() {
  let shown = 0;
  for (const line of log.children) shown += line.hidden ? 0 : 1;
  const all = log.children.length;
  const oldest = log.dataset.isCut ? "the newest " : "";
  logError.hidden = !firstError();
  logNote.textContent = shown === all ? `${oldest}${all} lines` : `${shown} of ${oldest}${all} lines`;
}

// Lines of the last seconds are sent again, because a replica's line may arrive after later ones of others.
const known = new Set();

function keyOf(time, replica, message) {
  return `${time} ${replica} ${message}`;
}

function keyOfLine(line) {
  return keyOf(timeOf(line), line.dataset.replica, line.querySelector(".message").textContent);
}

// A notice of the emulator about how replicas run is shown once, not for each of them.
const notices = new Set();

function isKnownNotice(severity, message) {
  if (severity !== "NOTICE" || !message.startsWith("Emulator: ")) return false;
  if (notices.has(message)) return true;
  notices.add(message);
  return false;
}

function timeOf(line) {
  return line.firstElementChild.dateTime;
}

function addLines(lines) {
  for (const each of lines) {
    const [time, severity, replica, message] = each;
    const key = keyOf(time, replica, message);
    if (known.has(key) || isKnownNotice(severity, message)) continue;
    known.add(key);
    const line = lineOf(each);
    offerReplica(replica);
    line.hidden = !fitsLog(line);
    let before = log.lastElementChild;
    while (before && timeOf(before) > time) before = before.previousElementSibling;
    if (before) before.after(line);
    else log.prepend(line);
  }
  while (log.children.length > MOST_LINES) {
    known.delete(keyOfLine(log.firstElementChild));
    log.firstElementChild.remove();
    log.dataset.isCut = "true";
  }
  noteLog();
  if (logFollow.checked) log.scrollTop = log.scrollHeight;
}

function filterLog() {
  const download = document.getElementById("log-download");
  download.search = logReplica.value ? `?replica=${encodeURIComponent(logReplica.value)}` : "";
  for (const line of log.children) line.hidden = !fitsLog(line);
  noteLog();
  if (logFollow.checked) log.scrollTop = log.scrollHeight;
}

function firstError() {
  for (const line of log.children) if (SEVERE.has(line.dataset.severity) && !line.hidden) return line;
  return null;
}

function showFirstError() {
  const line = firstError();
  if (!line) return;
  logFollow.checked = false;
  log.scrollTop += line.getBoundingClientRect().top - log.getBoundingClientRect().top - 40;
  log.focus({ preventScroll: true });
}

function startLog() {
  log.style.setProperty("--names", `${longest}ch`);
  for (const { value } of logReplica.options) if (value) colourOf(value); // in the order of the curves
  for (const name of log.querySelectorAll(".replica")) colourName(name);
  logError.addEventListener("click", showFirstError);
  document.getElementById("log-wrap").addEventListener("input", (event) => {
    log.classList.toggle("cut", !event.target.checked);
  });
  for (const control of [logReplica, logSeverity, logWords]) control.addEventListener("input", filterLog);
  logFollow.addEventListener("input", filterLog);
  const full = document.getElementById("log-full");
  const fill = (isFull) => {
    log.closest(".logs").classList.toggle("full", isFull);
    full.setAttribute("aria-pressed", String(isFull));
  };
  full.addEventListener("click", () => fill(full.getAttribute("aria-pressed") !== "true"));
  document.addEventListener("keydown", (event) => event.key === "Escape" && fill(false));
  log.addEventListener("click", (event) => {
    const notice = event.target.closest("[data-severity=NOTICE]");
    if (notice && getSelection().isCollapsed) notice.classList.toggle("open");
  });
  new ResizeObserver(() => logFollow.checked && (log.scrollTop = log.scrollHeight)).observe(log);
  // Scrolling up stops following, and scrolling to the end follows again.
  log.addEventListener("scroll", () => {
    logFollow.checked = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
  });
  for (const line of log.children) {
    known.add(keyOfLine(line));
    isKnownNotice(line.dataset.severity, line.querySelector(".message").textContent);
    offerReplica(line.dataset.replica);
  }
  filterLog();
}

// Ages

function inWords(seconds) {
  const whole = Math.max(Math.floor(seconds), 0);
  const two = (number) => String(number).padStart(2, "0");
  const minutes = Math.floor(whole / 60);
  const hours = Math.floor(whole / 3600);
  const days = Math.floor(whole / 86400);
  if (!minutes) return `${whole}s`;
  if (!hours) return `${minutes}m${two(whole % 60)}s`;
  if (!days) return `${hours}h${two(minutes % 60)}m`;
  return `${days}d${two(hours % 24)}h`;
}

function serviceTime() {
  return Date.now() + 1000 * Number(page.dataset.ahead || 0); // the clock of the emulator can be moved
}

function countAges() {
  const now = serviceTime();
  for (const each of document.querySelectorAll("time[data-age]")) {
    const text = inWords((now - Date.parse(each.dateTime)) / 1000);
    if (each.textContent !== text) each.textContent = text;
  }
}

// The stream

const trouble = document.getElementById("trouble");

function showTrouble(text) {
  trouble.textContent = text;
  trouble.hidden = !text;
}

let stream = null;
let place = null; // the id of the last event: the place in the log

function follow() {
  const address = new URL(page.dataset.live, location.href);
  if (place === null) {
    address.searchParams.set("seen", page.dataset.seen);
    address.searchParams.set("after", page.dataset.after);
  } else {
    address.searchParams.set("after", place); // the page has changed since its first view: everything is sent again
  }
  const opened = new EventSource(address);
  stream = opened;
  const on = (name, react) =>
    opened.addEventListener(name, (event) => {
      place = event.lastEventId;
      react(JSON.parse(event.data));
    });
  on("well", () => {
    page.dataset.connection = "open";
    showTrouble("");
  });
  on("ahead", (seconds) => {
    page.dataset.ahead = String(seconds);
  });
  on("parts", showParts);
  on("log", addLines);
  on("trouble", showTrouble);
  opened.addEventListener("error", () => {
    if (stream !== opened) return;
    page.dataset.connection = "lost";
    showTrouble("The dashboard does not answer. If it was stopped, run `vertex-training ui` again.");
    if (opened.readyState === EventSource.CLOSED) setTimeout(() => stream === opened && follow(), 2000);
  });
}

// A page that nobody sees is not kept up to date: browsers allow six streams of one host, and an emulator that
// nobody uses stops after a while.
const HIDDEN_MILLISECONDS = 20000;
let hiding = 0;

function followWhileVisible() {
  clearTimeout(hiding);
  if (!document.hidden && !stream) follow();
  if (document.hidden && stream) {
    hiding = setTimeout(() => {
      stream.close();
      stream = null;
    }, HIDDEN_MILLISECONDS);
  }
}

// A page that could not be read is loaded again as soon as it can be.
async function loadAgain() {
  try {
    if ((await fetch(location.href, { method: "HEAD" })).ok) {
      location.reload();
      return;
    }
  } catch {
    // The dashboard was stopped; it may be started again.
  }
  setTimeout(loadAgain, 1000);
}

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, select, textarea");
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "e" && log) showFirstError();
  if (event.key !== "/") return;
  const search = document.querySelector("input[type=search]");
  if (search) {
    event.preventDefault();
    search.focus();
  }
});

// Buttons that copy a text, where the browser has a clipboard

function offerCopies() {
  if (!navigator.clipboard) return;
  for (const button of document.querySelectorAll("button[data-copy][hidden]")) button.hidden = false;
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = "Copy"), 1500);
});
document.addEventListener("parts", offerCopies);
offerCopies();

// On a phone the tab of the page may be out of sight.
function showTab() {
  const tab = document.querySelector("header [aria-current]");
  if (tab) tab.scrollIntoView({ block: "nearest", inline: "center", behavior: "instant" });
}

addEventListener("resize", showTab);
showTab();

// A menu closes when something else is chosen, or with Escape.

function closeMenus(except) {
  for (const menu of document.querySelectorAll("details.menu[open]")) if (menu !== except) menu.open = false;
}

document.addEventListener("click", (event) => {
  const inside = event.target.closest("details.menu");
  closeMenus(event.target.closest("button") && inside ? null : inside);
});
document.addEventListener("keydown", (event) => {
  const menu = event.target.closest("details.menu[open]");
  if (event.key !== "Escape" || !menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});

filterTables();
if (log) startLog();
showTitle();
countAges();
setInterval(countAges, 1000);
if (page.dataset.live) {
  follow();
  document.addEventListener("visibilitychange", followWhileVisible);
}
if (page.dataset.again) setTimeout(loadAgain, 1000);
