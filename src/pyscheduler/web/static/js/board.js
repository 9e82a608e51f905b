// The board: dates, saved views, a selection with its actions, and rows that follow what happens.
// The filter form itself is htmx's: it fetches the page and swaps #board, #chips and #stepper.
import { act } from "./act.js";
import { currentRow } from "./keys.js";
import { format, serverNow } from "./clock.js";
import { listen } from "./live.js";
import { api, failed, fragment, make, mark, mayPass } from "./talk.js";

const MERGE_MS = 250;
const AGAIN_MS = 5000; // after a look that failed: what it would have shown may be the last that happens
const IDLE_MS = 10000;
const MOST = 1000; // runs of one selection: what one bulk request takes
const MOST_ROWS = 200;
const LONGEST = 10000; // characters of ids in one address

const board = () => document.getElementById("board");
const form = document.getElementById("filters");
const picked = new Set();
let lastPick = null;
let touched = 0;
let kept = null; // the row somebody is at, while the table is swapped

// ----------------------------------------------------------------- the address

function address(changes = {}) {
  const found = new URLSearchParams(new FormData(form));
  for (const [name, value] of Object.entries(changes)) found.set(name, value);
  for (const [name, value] of [...found]) if (value === "") found.delete(name);
  return `/?${found}`;
}

function show(path) {
  return htmx.ajax("GET", path, { target: "#board", select: "#board", swap: "outerHTML" }).then(() => history.pushState({}, "", path));
}

function chooseDay(day) {
  location.assign(address({ date: day }));
}

// ----------------------------------------------------------------- saved views: a name and an address without its date

const VIEWS = "pysched.views";

function savedViews() {
  try {
    const found = JSON.parse(localStorage.getItem(VIEWS) || "[]");
    return Array.isArray(found) ? found.filter((view) => typeof view?.name === "string" && /^\/\?/.test(view.path)) : [];
  } catch {
    return [];
  }
}

function keepViews(views) {
  try {
    localStorage.setItem(VIEWS, JSON.stringify(views));
  } catch {
    failed(new Error("this browser keeps nothing: the view lives in its address only"));
  }
  drawViews();
}

function drawViews() {
  const lines = savedViews().map((view) => make(
    "div", { class: "view-line" }, make("a", { href: view.path, text: view.name }),
    make("button", { type: "button", class: "quiet icon", "data-drop": view.name, "aria-label": `Forget ${view.name}` }, mark("close")),
  ));
  const name = make("input", { id: "view-name", maxlength: "60", "aria-label": "Name for this view", placeholder: "Name for this view" });
  const save = make("button", { type: "button", class: "primary", "data-save": true, text: "Save" });
  document.getElementById("views").replaceChildren(...lines, make("div", { class: "stack" }, name, save));
}

function onViews(event) {
  const drop = event.target.closest("[data-drop]");
  if (drop) keepViews(savedViews().filter((view) => view.name !== drop.dataset.drop));
  if (event.target.closest("[data-save]")) {
    const name = document.getElementById("view-name").value.trim();
    if (name) keepViews([...savedViews().filter((view) => view.name !== name), { name, path: address({ date: "" }) }]);
  }
}

// ----------------------------------------------------------------- the selection

const boxes = () => [...document.querySelectorAll("[data-pick]")];
const runOf = (box) => box.closest("[data-run]").dataset.run;

function drawSelection() {
  for (const box of boxes()) {
    box.checked = picked.has(runOf(box));
    box.closest("tr").classList.toggle("picked", box.checked);
  }
  const bar = document.getElementById("action-bar");
  if (!bar) return;
  bar.hidden = picked.size === 0;
  document.getElementById("picked").textContent = String(picked.size);
  const page = document.getElementById("pick-page");
  if (page) page.checked = boxes().length > 0 && boxes().every((box) => box.checked);
}

function pick(box, on, range) {
  const all = boxes();
  const from = range && lastPick ? all.findIndex((other) => runOf(other) === lastPick) : -1;
  const to = all.indexOf(box);
  const chosen = from < 0 ? [box] : all.slice(Math.min(from, to), Math.max(from, to) + 1);
  for (const each of chosen) picked[on ? "add" : "delete"](runOf(each));
  lastPick = runOf(box);
  drawSelection();
}

async function pickAll() {
  try {
    const found = await api("GET", `/board/ids${address({ date: board().dataset.date }).slice(1)}`);
    for (const id of found.ids) picked.add(id);
    if (found.matching > MOST) failed(new Error(`${found.matching} runs match; the worst ${MOST} are selected`));
    drawSelection();
  } catch (error) {
    failed(error);
  }
}

/** A row's menu is made when it is opened: two hundred of them would be half of the page. */
function fillMenu(details) {
  const row = details.closest("[data-run]");
  const offers = document.querySelector(`template[data-offers="${row.dataset.state}"]`);
  if (!offers || details.querySelector(".sheet-menu")) return;
  const menu = offers.content.cloneNode(true);
  const buttons = menu.querySelectorAll("[data-action]");
  for (const button of buttons) button.dataset.runs = row.dataset.run;
  const why = refusal(row);
  if (why) {
    const note = make("p", { class: "note", id: `may-not-${row.dataset.run}`, text: why });
    menu.querySelector(".sheet-menu").prepend(note);
    for (const button of buttons) {
      button.disabled = true;
      button.title = why;
      button.setAttribute("aria-describedby", note.id);
    }
  }
  details.append(menu);
}

/** Why we may not act on a row's job, "" where we may: rows are printed alike for all, and only we know our teams. */
function refusal(row) {
  const allow = row.dataset.allow?.split(" ");
  const teams = document.body.dataset.teams?.split(" ");
  if (!allow || !teams || allow.some((team) => teams.includes(team))) return "";
  return `You may not act on this job: it allows ${allow.join(", ")}`;
}

// ----------------------------------------------------------------- following what happens

const changed = new Set();
let timer = 0;
let fetching = false;

const shownIds = () => [...document.querySelectorAll("#rows [data-run]")].map((row) => row.dataset.run);

function onNews(kind, data) {
  if (kind === "reset" || kind === "reload") return note(shownIds());
  const id = data?.run_id;
  if (!id || !id.includes(`.${board().dataset.date}.`)) return undefined;
  return note([id]);
}

function note(ids) {
  for (const id of ids) changed.add(id);
  timer ||= setTimeout(patch, MERGE_MS);
}

/** Fetch the rows that have changed and put each where it stood; new runs and a new order are offered, not forced. */
async function patch() {
  timer = 0;
  if (fetching || !changed.size) return;
  fetching = true;
  const here = new Set(shownIds());
  const all = [...changed];
  const isNew = all.some((id) => !here.has(id));
  const ids = all.filter((id) => here.has(id)).slice(0, MOST_ROWS);
  let after = MERGE_MS;
  changed.clear();
  try {
    await replaceRows(ids, isNew);
  } catch (error) {
    // The stream may live on, and nothing else would repair these rows.
    if (mayPass(error)) for (const id of all) changed.add(id);
    after = AGAIN_MS;
  } finally {
    fetching = false;
    if (changed.size) timer ||= setTimeout(patch, after);
  }
}

/** Ids in lists that fit into an address: the head of a request is bounded, and names may be long. */
function fitting(ids) {
  const lists = [[]];
  let length = 0;
  for (const id of ids) {
    if (length + id.length > LONGEST) {
      lists.push([]);
      length = 0;
    }
    lists.at(-1).push(id);
    length += id.length + 1;
  }
  return lists;
}

async function replaceRows(ids, isNew) {
  for (const some of fitting(ids)) putRows(await fragment(`/board/rows?date=${board().dataset.date}&ids=${some.join(",")}`), isNew);
}

function putRows(html, isNew) {
  const found = new DOMParser().parseFromString(html, "text/html");
  let moved = isNew;
  for (const row of found.querySelectorAll("tr[data-run]")) {
    const old = document.getElementById(row.id);
    if (!old || old.querySelector("details[open]") || old.outerHTML === row.outerHTML) continue;
    moved ||= old.dataset.state !== row.dataset.state;
    row.classList.toggle("current", old.classList.contains("current"));
    if (old.dataset.state !== row.dataset.state) row.classList.add("changed");
    const focused = old.contains(document.activeElement);
    old.replaceWith(row);
    if (focused) row.querySelector("[data-open]")?.focus({ preventScroll: true });
  }
  for (const count of found.querySelectorAll("[data-count]")) {
    const old = document.querySelector(`#chips [data-count="${count.dataset.count}"]`);
    if (old) {
      old.textContent = count.textContent;
      old.closest(".chip").classList.toggle("zero", count.textContent === "0");
    }
  }
  drawSelection();
  if (moved) orderChanged();
}

const isIdle = () => performance.now() - touched > IDLE_MS && !picked.size && !document.querySelector("details[open], dialog[open]")
  && !document.querySelector("tr.current");

function orderChanged() {
  if (isIdle()) reorder();
  else document.getElementById("reorder")?.removeAttribute("hidden");
}

function reorder() {
  return htmx.ajax("GET", location.pathname + location.search, { source: "#board", target: "#board", select: "#board", swap: "outerHTML" });
}

// A board without a date in its address means today: past midnight that is another day.
const DAY_MS = 5000;
const today = format("en-CA", { year: "numeric", month: "2-digit", day: "2-digit" });
const first = board().dataset.date; // of this page, as it was loaded

const isOver = () => !new URLSearchParams(location.search).get("date") && board().dataset.date === first && today().format(serverNow()) > first;

function newDay() {
  if (!isOver()) return;
  if (isIdle()) location.reload();
  else Object.assign(document.getElementById("reorder"), { hidden: false, textContent: "A new day has begun · show it" });
}
setInterval(newDay, DAY_MS);

async function lookAgain() {
  await replaceRows(shownIds().slice(0, MOST_ROWS), false);
}

// ----------------------------------------------------------------- what people do

document.addEventListener("click", (event) => {
  const day = event.target.closest("button[data-day]");
  const page = event.target.closest(".pager [data-page]");
  const bulk = event.target.closest("[data-bulk]");
  if (day) chooseDay(day.dataset.day);
  else if (page) show(address({ date: board().dataset.date, page: page.dataset.page })).then(() => scrollTo(0, 0));
  else if (bulk) act(bulk.dataset.bulk, [...picked]);
  else if (event.target.closest("#pick-all")) pickAll();
  else if (event.target.closest("#pick-none")) { picked.clear(); drawSelection(); }
  else if (event.target.closest("#reorder")) isOver() ? location.reload() : reorder();
  else if (event.target.matches("[data-pick]")) pick(event.target, event.target.checked, event.shiftKey);
  else if (event.target.matches("#pick-page")) {
    for (const box of boxes()) picked[event.target.checked ? "add" : "delete"](runOf(box));
    drawSelection();
  }
  for (const open of document.querySelectorAll("details.more[open]")) if (!event.composedPath().includes(open)) open.open = false;
});
document.addEventListener("toggle", (event) => event.target.open && event.target.matches?.("[data-menu]") && fillMenu(event.target), true);
document.addEventListener("rowkey", (event) => {
  const row = event.target;
  const { key } = event.detail;
  const box = row.querySelector("[data-pick]");
  if (key === "x" && box) pick(box, !box.checked, false);
  if (!document.body.hasAttribute("data-may-act")) return;
  const runs = picked.size ? [...picked] : [row.dataset.run];
  if (key === "r") act("rerun", runs);
  if (key === "h") act(!picked.size && row.dataset.state === "held" ? "release" : "hold", runs);
});
document.addEventListener("keydown", (event) => {
  touched = performance.now();
  if (event.key !== "Escape" || document.querySelector("dialog[open]")) return;
  const open = document.querySelector("details.more[open]");
  if (open) { open.open = false; open.querySelector("summary").focus(); } else if (picked.size) { picked.clear(); drawSelection(); }
});
document.addEventListener("pointermove", () => (touched = performance.now()), { passive: true });
// What was done is no longer selected; what was refused is, to be tried in another way.
document.addEventListener("acted", (event) => {
  const { runs, refused } = event.detail;
  for (const run of runs) if (!refused.includes(run)) picked.delete(run);
  drawSelection();
  note(runs);
});
// The field is searched while it is typed in; leaving it is no news, and would swap rows under somebody's hands.
document.getElementById("q").addEventListener("change", (event) => event.stopPropagation());
document.addEventListener("htmx:beforeSwap", () => (kept = { run: currentRow()?.dataset.run, focused: currentRow()?.contains(document.activeElement) }));
document.addEventListener("htmx:afterSwap", () => {
  const row = kept?.run && document.getElementById(`r-${kept.run}`);
  row?.classList.add("current");
  if (row && kept.focused) row.querySelector("[data-open]").focus({ preventScroll: true });
  drawSelection();
});
document.addEventListener("htmx:sendError", () => failed(new Error("the scheduler is out of reach")));
document.getElementById("views").addEventListener("click", onViews);
document.getElementById("view-name")?.addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault());
drawViews();
drawSelection();
listen(onNews, lookAgain);
