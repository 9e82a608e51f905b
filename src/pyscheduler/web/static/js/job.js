// The page of a job: its forms, and looking again when one of its runs moves.
import { lookAgainOn } from "./again.js";
import { act } from "./act.js";
import { startForms } from "./forms.js";

startForms();
const name = decodeURIComponent(location.pathname.split("/")[2]);
lookAgainOn((kind, data) => kind === "reset" || kind === "reload" || data?.job === name);

// r and h on a row of the list of runs
document.addEventListener("rowkey", (event) => {
  const run = event.target.dataset?.run;
  const held = event.target.querySelector?.('[data-state="held"]');
  if (!run || !document.body.hasAttribute("data-may-act")) return;
  if (event.detail.key === "r") act("rerun", [run]);
  if (event.detail.key === "h") act(held ? "release" : "hold", [run]);
});
