// The timeline: its now line goes on, it looks again when runs move, and arrow keys walk the bars of the current lane.
import { lookAgainOn } from "./again.js";
import { serverNow } from "./clock.js";
import { currentRow } from "./keys.js";

const TICK_MS = 10000;

function moveNow() {
  const box = document.getElementById("timeline");
  if (!box || !box.querySelector(".now")) return;
  const [start, end] = [Date.parse(box.dataset.start), Date.parse(box.dataset.end)];
  const part = Math.min(1, Math.max(0, (serverNow() - start) / (end - start)));
  for (const line of box.querySelectorAll(".now")) {
    line.setAttribute("x1", `${(100 * part).toFixed(3)}%`);
    line.setAttribute("x2", `${(100 * part).toFixed(3)}%`);
  }
}

document.addEventListener("keydown", (event) => {
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  const lane = currentRow();
  if (!by || !lane || event.target.closest("input, select, textarea, dialog")) return;
  const bars = [...lane.querySelectorAll(".track a")];
  if (!bars.length) return;
  const at = bars.indexOf(document.activeElement);
  bars[Math.min(bars.length - 1, Math.max(0, at < 0 ? (by > 0 ? 0 : bars.length - 1) : at + by))].focus();
  event.preventDefault();
});

setInterval(moveNow, TICK_MS);
lookAgainOn((kind) => kind === "run" || kind === "attempt" || kind === "reset" || kind === "reload");
