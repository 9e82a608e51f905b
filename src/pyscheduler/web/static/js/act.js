// Acting on runs: every action shows first what it will do, may be given a reason, and tells how each run fared.
// A button says what it does: <button data-action="rerun" data-runs="a.2027-05-20.1">. Errors never vanish silently.
import { api, failed, make, mark, Refused, toast } from "./talk.js";

const SAID = {
  rerun: "Rerun", hold: "Hold", release: "Release", kill: "Kill", "force-start": "Force start",
  skip: "Skip", cancel: "Cancel", "mark-success": "Mark succeeded", "mark-failed": "Mark failed",
};
const MEANS = {
  rerun: "Starts again from the beginning, with a fresh budget of retries.",
  hold: "Stays where it is until somebody releases it.",
  release: "Goes on where it was held, and is decided anew.",
  kill: "The running attempt is asked to end, then made to after its grace.",
  "force-start": "Starts next, whatever it still waits for; pools and slots still count.",
  skip: "Will not run; what depends on its success goes on.",
  cancel: "Will not run; what depends on its success is blocked.",
  "mark-success": "Counts as succeeded from now on; what depends on it is decided anew.",
  "mark-failed": "Counts as failed from now on; what depends on it is decided anew.",
};
const DANGEROUS = new Set(["kill", "cancel", "mark-failed", "skip"]);
const SHOWN = 8;

function plural(count) {
  return count === 1 ? "1 run" : `${count} runs`;
}

const asked = (action, runs, downstream) => ({ action, run_ids: runs, ...(action === "rerun" ? { downstream } : {}) });

/** Return what the scheduler says the action would do, as an element; its refusal where it would refuse. */
async function preview(action, runs, downstream) {
  try {
    const found = runs.length === 1
      ? await api("GET", `/api/runs/${encodeURIComponent(runs[0])}/preview?action=${action}&downstream=${downstream}`)
      : await api("POST", "/api/runs/bulk/preview", asked(action, runs, downstream));
    return previewed(found);
  } catch (error) {
    if (error instanceof Refused) return make("p", { class: "banner bad", role: "alert", text: error.mend ? `${error.message} — ${error.mend}` : error.message });
    throw error;
  }
}

// What an effect is called (the API's `what`), its mark, and its words for one run and for many.
const WHAT = {
  starts: ["running", "starts", "start"],
  queues: ["queued", "stands in line", "stand in line"],
  waits: ["waiting", "waits", "wait"],
  held: ["held", "is held", "are held"],
  blocked: ["blocked", "is blocked", "are blocked"],
  skipped: ["skipped", "is skipped", "are skipped"],
  cancelled: ["cancelled", "is cancelled", "are cancelled"],
  ends: ["cancelled", "ends", "end"],
};

/** Show a preview: for each kind of effect which runs it befalls, then the runs that the action does not apply to. */
export function previewed(found) {
  const box = make("div", { class: "preview" });
  const effects = found?.effects || [];
  for (const [what, [shape, one, many]] of Object.entries(WHAT)) {
    const these = effects.filter((effect) => effect.what === what);
    if (!these.length) continue;
    const count = found.counts?.[what] || these.length;
    const names = these.slice(0, SHOWN).map((effect) => make("li", { title: effect.reason || "" }, make("span", { class: "mono", text: effect.run_id }),
      make("span", { class: "muted", text: effect.reason ? ` ${effect.reason}` : "" })));
    if (count > names.length) names.push(make("li", { class: "muted", text: `and ${count - names.length} more` }));
    box.append(make("p", {}, mark(shape), make("b", { text: ` ${plural(count)} ` }), count === 1 ? one : many), make("ul", { class: "effects" }, ...names));
  }
  const refused = (found?.results || []).filter((each) => !each.ok);
  if (refused.length) {
    const names = refused.slice(0, SHOWN).map((each) => make("li", {}, make("span", { class: "mono", text: each.run_id }), make("span", { class: "muted", text: ` ${each.error}` })));
    if (refused.length > SHOWN) names.push(make("li", { class: "muted", text: `and ${refused.length - SHOWN} more` }));
    box.append(make("p", {}, mark("failed"), make("b", { text: ` ${plural(refused.length)} ` }), "not concerned"), make("ul", { class: "effects" }, ...names));
  }
  if (!box.children.length) box.append(make("p", { class: "muted", text: "Nothing else moves." }));
  return box;
}

/** Ask before acting. Resolves to {reason, downstream}, or null where somebody thought better of it. */
async function confirmed(action, runs) {
  const dialog = document.getElementById("ask");
  const reason = make("textarea", { id: "ask-reason", maxlength: "1000", placeholder: "for the logbook" });
  const mustSay = runs.some((run) => document.querySelector(`[data-run="${CSS.escape(run)}"][data-must-say]`));
  reason.required = mustSay;
  const downstream = make("input", { type: "checkbox", id: "ask-downstream" });
  const what = make("div", { "aria-live": "polite" }, make("p", { class: "muted", text: "Working out what it will do …" }));
  const yes = make("button", { type: "submit", value: "yes", class: DANGEROUS.has(action) ? "danger" : "primary", text: `${SAID[action]}` });
  const form = make(
    "form", { method: "dialog", class: "stack" },
    make("h2", { id: "ask-title", text: runs.length === 1 ? `${SAID[action]} ${runs[0]}?` : `${SAID[action]} ${plural(runs.length)}?` }),
    make("p", { text: MEANS[action] }), what,
  );
  if (action === "rerun") {
    form.append(make("label", { class: "check" }, downstream, " and all ended runs that depend on it"));
  }
  form.append(
    make("label", { for: "ask-reason", text: mustSay ? "Reason (the job asks for one)" : "Reason" }), reason,
    make("div", { class: "buttons" }, make("button", { type: "submit", value: "no", formnovalidate: true, text: "Not now" }), yes),
  );
  dialog.replaceChildren(form);
  dialog.returnValue = "";
  dialog.showModal();
  (mustSay ? reason : yes).focus();
  // Whoever begins to type gives a reason, wherever the focus is: a space in it must not press a button. Enter confirms.
  form.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target !== reason && event.key.length === 1 && event.key !== " ") reason.focus();
    if (event.target === reason && event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      form.requestSubmit(yes);
    }
  });
  let asking = 0; // an older preview never replaces a newer one
  const show = () => {
    const mine = ++asking;
    return preview(action, runs, downstream.checked).then((found) => mine === asking && what.replaceChildren(found), failed);
  };
  downstream.addEventListener("change", show);
  show();
  await new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }));
  return dialog.returnValue === "yes" ? { reason: reason.value.trim(), downstream: downstream.checked } : null;
}

async function one(action, run, { reason, downstream }) {
  const body = action === "rerun" ? { reason, downstream } : { reason };
  return api("POST", `/api/runs/${encodeURIComponent(run)}/${action}`, body);
}

/** Act on many in one request. Returns a result each; a rerun may have reopened more, which are told elsewhere. */
async function many(action, runs, given) {
  const found = await api("POST", "/api/runs/bulk", { ...asked(action, runs, given.downstream), reason: given.reason });
  return found.results.map((each) => ({ run: each.run_id, ok: each.ok, error: each.error || "", mend: each.mend || "" }));
}

function report(action, results) {
  const bad = results.filter((each) => !each.ok);
  if (!bad.length) {
    toast(`${SAID[action]}: ${plural(results.length)}, all done`);
    return;
  }
  const dialog = document.getElementById("ask");
  const lines = [...bad, ...results.filter((each) => each.ok)].map((each) => make(
    "li", { class: each.ok ? "good" : "bad" }, mark(each.ok ? "succeeded" : "failed"),
    make("span", { class: "mono", text: each.run }), make("span", { text: each.ok ? "done" : [each.error, each.mend].filter(Boolean).join(" — ") }),
  ));
  dialog.replaceChildren(
    make("h2", { id: "ask-title", text: `${SAID[action]}: ${results.length - bad.length} done, ${bad.length} not` }),
    make("ul", { class: "results" }, ...lines),
    make("form", { method: "dialog", class: "buttons" }, make("button", { class: "primary", text: "Close" })),
  );
  dialog.showModal();
}

/** Ask, act, and tell. Resolves when all is done; `acted` is told on the document so that pages look again. */
export async function act(action, runs) {
  if (!runs.length || document.querySelector("dialog[open]")) return;
  const given = await confirmed(action, runs);
  if (!given) return;
  let refused = runs;
  try {
    if (runs.length === 1) {
      await one(action, runs[0], given);
      toast(`${SAID[action]}: ${runs[0]}`);
      refused = [];
    } else {
      const results = await many(action, runs, given);
      refused = results.filter((each) => !each.ok).map((each) => each.run);
      report(action, results);
    }
  } catch (error) {
    failed(error);
  }
  document.dispatchEvent(new CustomEvent("acted", { detail: { action, runs, refused } }));
}

export function startActions() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-action]");
    if (!button?.dataset.runs) return;
    button.closest("details")?.removeAttribute("open");
    act(button.dataset.action, button.dataset.runs.split(" "));
  });
}
