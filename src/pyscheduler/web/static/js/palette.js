// Ctrl-K: pages, jobs and runs by a few letters. The server's answer is bounded; an older answer never replaces a newer.
import { fragment, make } from "./talk.js";

const PAUSE_MS = 120;
let timer = 0;
let asked = 0;

function build(dialog) {
  const input = make("input", {
    type: "search", placeholder: "Go to a page, a job, a run …", autocomplete: "off", spellcheck: "false",
    role: "combobox", "aria-expanded": "true", "aria-controls": "palette-list", "aria-label": "Find",
  });
  const list = make("ul", { id: "palette-list", role: "listbox", "aria-label": "Found" });
  dialog.replaceChildren(input, list);
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => look(input.value, list, input), PAUSE_MS);
  });
  dialog.addEventListener("keydown", (event) => onKey(event, list, input));
  list.addEventListener("click", (event) => follow(event.target.closest("[data-href]")));
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  return { input, list };
}

async function look(text, list, input) {
  const mine = ++asked;
  try {
    const html = await fragment(`/palette?q=${encodeURIComponent(text)}`);
    if (mine === asked) {
      list.innerHTML = html;
      choose(list, input, list.querySelector("[data-href]"));
    }
  } catch (error) {
    if (mine === asked) list.replaceChildren(make("li", { class: "nothing", role: "option", "aria-selected": "false", "aria-disabled": "true", text: error.message }));
  }
}

function choose(list, input, item) {
  for (const other of list.querySelectorAll("[aria-selected]")) other.setAttribute("aria-selected", "false");
  item?.setAttribute("aria-selected", "true");
  item?.scrollIntoView({ block: "nearest" });
  input.setAttribute("aria-activedescendant", item?.id || "");
}

function onKey(event, list, input) {
  const items = [...list.querySelectorAll("[data-href]")];
  const at = items.findIndex((item) => item.getAttribute("aria-selected") === "true");
  const moves = { ArrowDown: 1, ArrowUp: -1 };
  if (event.key in moves) {
    event.preventDefault();
    choose(list, input, items[Math.min(items.length - 1, Math.max(0, at + moves[event.key]))]);
  } else if (event.key === "Enter") {
    event.preventDefault();
    follow(items[at]);
  } else if (event.key === "Escape") {
    event.preventDefault(); // a search field would take the first one to empty itself
    input.closest("dialog").close();
  }
}

function follow(item) {
  if (item) location.assign(item.dataset.href);
}

export function startPalette() {
  const dialog = document.getElementById("palette");
  let parts = null;
  const open = () => {
    if (!dialog || dialog.open) return;
    parts ??= build(dialog);
    parts.input.value = "";
    dialog.showModal();
    look("", parts.list, parts.input);
  };
  document.addEventListener("palette", open);
  document.querySelector("[data-open-palette]")?.addEventListener("click", open);
}
