// The keyboard. A row is any [data-row]; it may have a link ([data-open] or its first one) to open with Enter.
// A key that means something for a row is told as a `rowkey` event on it, and pages decide.
const ROW_KEYS = new Set(["r", "h", "x"]);
const GO_MS = 1500;
let goUntil = 0;

const isField = (element) => element?.closest?.("input, textarea, select, [contenteditable]");

export const rows = () => [...document.querySelectorAll("[data-row]")].filter((row) => row.offsetParent !== null);
export const currentRow = () => document.querySelector("[data-row].current");

export function moveTo(row) {
  currentRow()?.classList.remove("current");
  if (!row) return;
  row.classList.add("current");
  row.scrollIntoView({ block: "nearest" });
  const link = row.querySelector("[data-open]") || row.querySelector("a[href]");
  link?.focus({ preventScroll: true });
}

function step(by) {
  const all = rows();
  if (!all.length) return;
  const at = all.indexOf(currentRow());
  moveTo(all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + by))]);
}

function open(row) {
  const link = row?.querySelector("[data-open]") || row?.querySelector("a[href]");
  link?.click();
}

function go(key) {
  goUntil = 0;
  const link = document.querySelector(`[data-go="${CSS.escape(key)}"]`);
  if (link) location.assign(link.href);
}

function onKey(event) {
  if (event.defaultPrevented || event.altKey) return;
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    document.dispatchEvent(new CustomEvent("palette"));
    return;
  }
  if (event.ctrlKey || event.metaKey || document.querySelector("dialog[open]")) return;
  if (isField(event.target) && event.target.type !== "checkbox") {
    if (event.key === "Escape") {
      event.preventDefault(); // a search field would be emptied, and the filter with it
      event.target.blur();
    }
    return;
  }
  if (event.timeStamp < goUntil) { // of the keys, not of us: a busy page gets to the second one late
    event.preventDefault();
    go(event.key);
    return;
  }
  const acts = {
    "/": () => document.querySelector("[data-filter]")?.focus(),
    j: () => step(1),
    k: () => step(-1),
    g: () => (goUntil = event.timeStamp + GO_MS),
    "?": () => document.getElementById("help")?.showModal(),
  };
  if (acts[event.key]) {
    event.preventDefault();
    acts[event.key]();
  } else if (event.key === "Enter" && currentRow() && !event.target.closest("a, button, summary")) {
    event.preventDefault();
    open(currentRow());
  } else if (ROW_KEYS.has(event.key)) {
    const target = currentRow() || document.querySelector("[data-only-row]");
    if (target) {
      event.preventDefault();
      target.dispatchEvent(new CustomEvent("rowkey", { bubbles: true, detail: { key: event.key } }));
    }
  }
}

export function startKeys() {
  document.addEventListener("keydown", onKey);
  document.querySelector("[data-open-help]")?.addEventListener("click", () => document.getElementById("help")?.showModal());
  document.addEventListener("pointerdown", (event) => {
    const row = event.target.closest("[data-row]");
    if (row && row !== currentRow()) {
      currentRow()?.classList.remove("current");
      row.classList.add("current");
    }
  });
}
