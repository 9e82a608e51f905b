// The logbook follows: new lines come in on top, while "follow" is on and nobody has gone further down or back.
import { listen } from "./live.js";

const PAUSE_MS = 1500;
const KEPT = 200;
let timer = 0;
let busy = false;

async function look() {
  const follow = document.getElementById("follow");
  if (busy || !follow?.checked) return;
  busy = true;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" }, signal: AbortSignal.timeout(30000) });
    if (!answer.ok) throw new Error(`the scheduler answered ${answer.status}`);
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const body = document.getElementById("lines");
    const known = new Set([...body.querySelectorAll("[data-line]")].map((row) => row.dataset.line));
    const added = [...fresh.querySelectorAll("#lines [data-line]")].filter((row) => !known.has(row.dataset.line));
    if (!body.isConnected || (added.length && !body.closest("table.logbook"))) {
      location.reload();
      return;
    }
    for (const row of added) row.classList.add("fresh");
    body.prepend(...added);
    while (body.children.length > KEPT) body.lastElementChild.remove();
  } finally {
    busy = false;
  }
}

if (document.getElementById("follow")) {
  listen(() => {
    if (document.hidden) return;
    clearTimeout(timer);
    timer = setTimeout(() => look().catch(() => {}), PAUSE_MS);
  }, look);
}
