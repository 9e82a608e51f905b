// The run page: follows the run, shows its log, and does what its buttons say (act.js).
import { act } from "./act.js";
import { harmless } from "./ansi.js";
import { listen } from "./live.js";
import { LogView } from "./log.js";
import { api, failed, fragment, make, mark, mayPass } from "./talk.js";

const PARTS = ["head", "why", "attempts", "facts", "upstream", "downstream", "logbook"];
const MERGE_MS = 250;
const AGAIN_MS = 5000; // after a look that failed: what it would have shown may be the last that happens
const head = () => document.getElementById("head");
const run = head().dataset.run;
const box = document.getElementById("log");
const byId = (id) => document.getElementById(id);

// ----------------------------------------------------------------- following the run

let timer = 0;
let asked = 0;
let shown = 0; // an older answer never replaces a newer one

async function refresh() {
  timer = 0;
  const mine = ++asked;
  const html = await fragment(location.pathname);
  if (mine < shown) return;
  shown = mine;
  const found = new DOMParser().parseFromString(html, "text/html");
  for (const id of PARTS) {
    const [old, fresh] = [byId(id), found.getElementById(id)];
    if (!old || !fresh || old.innerHTML === fresh.innerHTML || old.contains(document.activeElement)) {
      if (!old?.contains(document.activeElement)) continue;
      // What somebody is in the middle of using keeps its place; its texts are put right around it.
      if (old.dataset.state === fresh?.dataset.state) continue;
    }
    old.replaceWith(fresh);
  }
  document.title = found.title;
  const fresh = found.getElementById("log");
  if (fresh.dataset.attempt !== box.dataset.attempt || fresh.dataset.streams !== box.dataset.streams) newAttempt(fresh);
  await showAlerts();
}

function newAttempt(fresh) {
  box.dataset.attempt = fresh.dataset.attempt;
  box.dataset.streams = fresh.dataset.streams;
  for (const id of ["log-stream", "log-attempt"]) byId(id).replaceWith(fresh.querySelector(`#${id}`));
  byId("log-tools").hidden = !box.dataset.streams;
  bindChoices();
  openLog();
}

const soon = (after = MERGE_MS) => (timer ||= setTimeout(() => refresh().catch((error) => mayPass(error) && soon(AGAIN_MS)), after));

function onNews(kind, data) {
  if (kind === "reset" || kind === "reload" || data?.run_id === run) soon();
}

async function showAlerts() {
  const { alerts } = await api("GET", `/api/runs/${encodeURIComponent(run)}`);
  byId("alerts").hidden = !alerts?.length;
  byId("alert-list").replaceChildren(...(alerts || []).map((alert) => make(
    "li", {}, make("b", { text: alert.kind?.replaceAll("_", " ") || "alert" }), ` ${alert.message || ""} `,
    make("span", { class: "muted", text: (alert.deliveries || []).map((each) => `${each.notifier}: ${each.status}`).join(", ") }),
  )));
}

// ----------------------------------------------------------------- the log

const view = new LogView(run);
const wrap = byId("log-wrap");
let worker = null;
let isChosen = false; // somebody has chosen the stream: it stays
let opening = Promise.resolve(); // until it is known which log is shown, nothing can be looked for in it

const whenOpen = (work) => opening.then(work).catch(failed);

function openLog() {
  stopSearch();
  if (box.dataset.streams) opening = chooseAndOpen();
}

async function chooseAndOpen() {
  const [stream, attempt] = [byId("log-stream"), byId("log-attempt")];
  try {
    if (!isChosen && stream.options.length > 1) stream.value = await view.telling(attempt.value, attempt.selectedOptions[0]?.dataset.bad !== undefined);
    await view.open(stream.value || "stdout", attempt.value);
  } catch (error) {
    failed(error);
  }
}

function bindChoices() {
  byId("log-stream").addEventListener("change", () => { isChosen = true; openLog(); });
  byId("log-attempt").addEventListener("change", openLog);
}

function startLog() {
  try {
    wrap.checked = localStorage.getItem("pysched.wrap") !== "no";
  } catch {
    // The choice then lasts as long as the page.
  }
  const drawWrap = () => view.window.classList.toggle("wrap", wrap.checked);
  wrap.addEventListener("change", () => {
    drawWrap();
    try {
      localStorage.setItem("pysched.wrap", wrap.checked ? "yes" : "no");
    } catch {
      // as above
    }
  });
  drawWrap();
  bindChoices();
  byId("log-follow").addEventListener("change", (event) => event.target.checked && whenOpen(() => view.end()).then(() => view.schedule()));
  byId("log-top").addEventListener("click", () => { unfollow(); whenOpen(() => view.openAt(0)); });
  byId("log-end").addEventListener("click", () => whenOpen(() => view.end()));
  byId("log-line-form").addEventListener("submit", (event) => { event.preventDefault(); whenOpen(() => toLine(Number(byId("log-line").value))); });
  byId("log-search-form").addEventListener("submit", (event) => { event.preventDefault(); whenOpen(() => search(byId("log-search").value)); });
  openLog();
}

function unfollow() {
  byId("log-follow").checked = false;
}

function stopSearch() {
  worker?.terminate();
  worker = null;
  byId("log-found").hidden = true;
}

function startWorker(asked, onTold) {
  worker?.terminate();
  const mine = new Worker(new URL("./log-worker.js", import.meta.url), { type: "module" });
  worker = mine;
  mine.onmessage = ({ data }) => mine === worker && onTold(data);
  mine.onerror = (event) => onTold({ error: event.message || "the search has failed" });
  mine.postMessage({ url: new URL(view.query({ raw: "1" }), location.origin).href, ...asked });
}

function panel(text, onStop) {
  const words = make("span", { text });
  const list = make("ol", {});
  const close = make("button", { type: "button", class: "quiet push", text: "Close" });
  close.addEventListener("click", onStop);
  byId("log-found").replaceChildren(make("div", { class: "head" }, words, close), list);
  byId("log-found").hidden = false;
  return { words, list };
}

const counted = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

function search(pattern) {
  if (!pattern || !box.dataset.streams) return stopSearch();
  unfollow();
  const { words, list } = panel("Searching …", stopSearch);
  let hits = 0;
  startWorker({ pattern, ignoreCase: true }, (told) => {
    for (const hit of told.hits || []) {
      hits += 1;
      const button = make("button", { type: "button", class: "quiet" }, make("span", { class: "num", text: hit.line.toLocaleString("en") }), make("span", { text: harmless(hit.text) }));
      button.addEventListener("click", () => view.openAt(hit.offset, { mark: true }).catch(failed));
      list.append(make("li", {}, button));
      if (hits === 1) button.click();
    }
    if (told.error) words.replaceChildren(mark("failed"), ` ${told.error}`);
    else if (told.done) words.textContent = `${counted(hits, "line")}${told.capped ? ", and perhaps more," : ""} of ${counted(told.lines, "line")} ${hits === 1 ? "matches" : "match"}`;
    else words.textContent = `Searching … ${counted(hits, "line")} so far${told.seen ? `, ${Math.floor((100 * told.seen) / (view.size || 1))} %` : ""}`;
  });
  return undefined;
}

function toLine(line) {
  if (!(line >= 1) || !box.dataset.streams) return;
  unfollow();
  if (line === 1) { view.openAt(0).catch(failed); return; }
  const { words } = panel(`Looking for line ${line} …`, stopSearch);
  let found = false;
  startWorker({ line }, (told) => {
    for (const hit of told.hits || []) {
      found = true;
      stopSearch();
      view.openAt(hit.offset, { mark: true }).catch(failed);
    }
    if (told.error) words.textContent = told.error;
    else if (told.done && !found) words.textContent = `There are only ${counted(told.lines, "line")}.`;
  });
}

// ----------------------------------------------------------------- what people do

document.addEventListener("click", (event) => {
  const chosen = event.target.closest("[data-log-attempt]");
  if (chosen) {
    byId("log-attempt").value = chosen.dataset.logAttempt;
    openLog();
    box.scrollIntoView({ block: "start" });
  }
});
document.addEventListener("rowkey", (event) => {
  if (!document.body.hasAttribute("data-may-act")) return;
  if (event.detail.key === "r") act("rerun", [run]);
  if (event.detail.key === "h") act(head().dataset.hold, [run]);
});
document.addEventListener("acted", () => soon());
startLog();
listen(onNews, refresh);
showAlerts().catch(() => {});
