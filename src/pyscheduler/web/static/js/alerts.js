// Alerts: the list with what became of each at its notifiers, and those that reached nobody, to be sent again.
import { address, badge, jobLink, Remote, runLink, timeCell } from "./remote.js";
import { api, failed, make, toast } from "./talk.js";

const KINDS = {
  failed: ["bad", "failed"], lost: ["bad", "lost"], blocked: ["warn", "blocked"], never_started: ["warn", "scheduled"],
  too_long: ["warn", "running"], too_short: ["warn", "skipped"], retrying: ["warn", "retry"],
  stale: ["warn", "scheduled"], watcher_timeout: ["bad", "scheduled"], reload_failed: ["bad", "failed"],
  scheduler_failed: ["bad", "failed"], recovered: ["good", "succeeded"],
};
const ENDS = { sent: ["good", "succeeded"], delivered: ["good", "succeeded"], dead: ["bad", "failed"], pending: ["calm", "waiting"] };

const kindCell = (alert) => badge(...(KINDS[alert.kind] || ["calm", "waiting"]), alert.kind.replaceAll("_", " "));

function deliveryCell(delivery) {
  const [tone, shape] = ENDS[delivery.status] || ["calm", "waiting"];
  const box = badge(tone, shape, `${delivery.notifier}: ${delivery.status}`);
  if (delivery.last_error) box.title = `${delivery.attempts} tries: ${delivery.last_error}`;
  return box;
}

async function replay(delivery, button) {
  button.disabled = true;
  try {
    await api("POST", `/api/alerts/${encodeURIComponent(delivery.alert.alert_id)}/replay`, { notifier: delivery.notifier });
    toast(`${delivery.notifier} tries again`);
    await showDead();
  } catch (error) {
    failed(error);
    button.disabled = false;
  }
}

function replayCell(delivery) {
  if (!document.body.hasAttribute("data-may-act")) return "";
  const button = make("button", { type: "button", text: "Send again", "aria-label": `Send again by ${delivery.notifier}: ${delivery.alert.message}` });
  button.addEventListener("click", () => replay(delivery, button));
  return button;
}

const dead = new Remote(document.getElementById("dead"), {
  list: "deliveries", empty: "Nothing was given up", absent: "This scheduler sends no alerts",
  columns: [
    ["When", (each) => timeCell(each.updated_at)], ["Notifier", (each) => each.notifier], ["Kind", (each) => kindCell(each.alert)],
    ["Message", (each) => each.alert.message], ["Why", (each) => `${each.last_error || ""} (${each.attempts} tries)`], ["", replayCell],
  ],
});
const alerts = new Remote(document.getElementById("alerts"), {
  list: "alerts", empty: "Nobody had to be told anything", absent: "This scheduler sends no alerts",
  columns: [
    ["Raised", (each) => timeCell(each.raised_at)], ["Kind", kindCell], ["Job", (each) => jobLink(each.job)],
    ["Run", (each) => runLink(each.run_id)], ["Message", (each) => each.message],
    ["Told", (each) => (each.deliveries.length ? each.deliveries.flatMap((delivery) => [deliveryCell(delivery), " "]) : make("span", { class: "muted nowrap", text: "nobody" }))],
  ],
});

async function showDead() {
  const rows = await dead.show("/api/alerts/dead?limit=100");
  document.getElementById("dead-box").hidden = !rows?.length;
}

const form = document.getElementById("alert-filters");
const show = () => alerts.show(address("/api/alerts", form, { limit: "100" }));
form.addEventListener("submit", (event) => {
  event.preventDefault();
  show();
});
show();
showDead();
