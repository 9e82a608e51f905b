// The page of a job: its forms, and looking again when one of its runs moves.
import { lookAgainOn } from "./again.js";
import { act } from "./act.js";
import { startForms } from "./forms.js";
import { fragment } from "./talk.js";

startForms();
startWhy();
const name = decodeURIComponent(location.pathname.split("/")[2]);
lookAgainOn((kind, data) => kind === "reset" || kind === "reload" || data?.job === name);

/** Ask why the job has run on a date, or has not; an older answer never replaces a newer one. */
function startWhy() {
  const form = document.getElementById("why-form");
  const box = document.getElementById("why-answer");
  let asked = 0;
  const ask = async () => {
    const mine = ++asked;
    const day = document.getElementById("why-date");
    if (!day.checkValidity()) return;
    try {
      const html = await fragment(`${form.dataset.why}?run_date=${day.value}`);
      if (mine === asked) box.innerHTML = html;
    } catch (error) {
      if (mine === asked) box.textContent = error.mend ? `${error.message}: ${error.mend}` : error.message;
    }
  };
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", ask);
  ask();
}

// r and h on a row of the list of runs
document.addEventListener("rowkey", (event) => {
  const run = event.target.dataset?.run;
  const held = event.target.querySelector?.('[data-state="held"]');
  if (!run || !document.body.hasAttribute("data-may-act")) return;
  if (event.detail.key === "r") act("rerun", [run]);
  if (event.detail.key === "h") act(held ? "release" : "hold", [run]);
});
