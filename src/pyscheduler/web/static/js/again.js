// Regions that look again when something has happened: [data-again] elements, each with an id, are taken from a fresh
// copy of the page. At most once in PAUSE_MS; never under the fingers of somebody who works in them.
import { listen } from "./live.js";

const PAUSE_MS = 3000;
let last = 0;
let timer = 0;
let busy = false;
let missed = false; // something has happened since the look that is under way was asked for

async function look() {
  if (busy) {
    missed = true;
    return;
  }
  busy = true;
  missed = false;
  last = performance.now();
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" }, signal: AbortSignal.timeout(30000) });
    if (!answer.ok) throw new Error(`the scheduler answered ${answer.status}`);
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const region of document.querySelectorAll("[data-again]")) {
      const other = fresh.getElementById(region.id);
      if (!other || region.contains(document.activeElement) || region.querySelector("details[open]")) continue;
      if (other.innerHTML !== region.innerHTML) region.replaceChildren(...other.childNodes);
    }
    document.dispatchEvent(new CustomEvent("looked-again"));
  } finally {
    busy = false;
    if (missed) soon();
  }
}

function soon() {
  clearTimeout(timer);
  timer = setTimeout(() => look().catch(() => {}), Math.max(0, last + PAUSE_MS - performance.now()));
}

/** Look again soon after `matters(kind, data)` said yes to something that happened. */
export function lookAgainOn(matters) {
  listen((kind, data) => {
    if (!document.hidden && matters(kind, data)) soon();
  }, look);
}
