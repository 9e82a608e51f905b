// Hearing of changes: the scheduler's stream where it has one, looking again where it is quiet.
// `age()` is how long ago we last heard anything at all; after STALE_S a banner says so, on every page that listens.
import { durationText } from "./clock.js";

const STALE_S = 10;
const PING_S = 5; // how often the scheduler says that it is there when nothing happens
const QUIET_S = 7; // nothing heard for so long: look for ourselves
const AGAIN_MS = 5000;
let heard = performance.now();
let source = null;
const listeners = new Set();
let wasStale = false;
let known = null; // what the page said of the scheduler before it fell silent
let looking = null;

export const age = () => (performance.now() - heard) / 1000;
export function hear() {
  heard = performance.now();
}

function tell(kind, data) {
  hear();
  for (const listener of listeners) listener(kind, data);
}

function open(path) {
  source = new EventSource(path);
  source.onopen = hear;
  for (const kind of ["run", "attempt", "reload", "reset", "agent", "ping", "message"]) {
    source.addEventListener(kind, (event) => {
      let data = null;
      try {
        data = JSON.parse(event.data);
      } catch {
        // a ping has no words
      }
      tell(kind, data);
    });
  }
  source.onerror = () => {
    // A refusal closes the stream for good; a lost connection the browser repairs by itself.
    if (source.readyState === EventSource.CLOSED) setTimeout(() => open(path), AGAIN_MS);
  };
}

/** Nobody is called well who is not heard of: the word beside the clock gives way, and comes back. */
function drawHealth(isStale) {
  wasStale = isStale;
  const health = document.getElementById("health");
  if (!health) return;
  const [word, shape] = [health.querySelector(".health-word"), health.querySelector("use")];
  if (isStale) known = { phase: health.dataset.phase, word: word.textContent, shape: shape.getAttribute("href") };
  const now = isStale ? { phase: "unheard", word: "not heard", shape: "#m-scheduled" } : known;
  health.dataset.phase = now.phase;
  word.textContent = now.word;
  shape.setAttribute("href", now.shape);
}

function watch(look) {
  setInterval(() => {
    if (!document.hidden && age() > QUIET_S && !looking) {
      looking = Promise.resolve(look()).then(hear, () => {}).finally(() => (looking = null));
    }
    const stale = document.getElementById("stale");
    const isStale = age() > STALE_S;
    if (stale && stale.hidden === isStale) stale.hidden = !isStale;
    if (isStale !== wasStale) drawHealth(isStale);
    if (isStale) {
      document.getElementById("stale-text").textContent =
        `Nothing heard from the scheduler for ${durationText(Math.floor(age()))}: what you see may be out of date.`;
    }
  }, 1000);
}

/** Where the stream begins: after what the page had seen when it was asked for, so that nothing falls in between. */
function streamPath() {
  const { newest } = document.body.dataset;
  return `/events?ping=${PING_S}${newest ? `&after=${encodeURIComponent(newest)}` : ""}`;
}

/** Call `listener(kind, data)` for everything that happens; `look` fetches what is on the page when all is quiet. */
export function listen(listener, look, path = streamPath()) {
  listeners.add(listener);
  if (!source) {
    open(path);
    watch(look);
    document.addEventListener("visibilitychange", () => !document.hidden && age() > QUIET_S && Promise.resolve(look()).then(hear, () => {}));
  }
  addEventListener("pagehide", () => source?.close());
}
