// Admin: compare with the files, reload with every problem named, sessions, the audit log and its chain.
import { startForms } from "./forms.js";
import { address, badge, Remote, timeCell } from "./remote.js";
import { api, failed, make, toast } from "./talk.js";

const LINES = 40;

// --------------------------------------------------------------- the configuration

const PARTS = [
  ["added", "jobs added"], ["removed", "jobs removed"], ["changed", "jobs changed"],
  ["settings", "settings"], ["pools", "pools"], ["calendars", "calendars"],
];

function partText(key, found) {
  if (Array.isArray(found)) return found.join(", ");
  const pairs = Object.entries(found);
  if (key === "changed") return pairs.map(([name, keys]) => `${name} (${keys.join(", ")})`).join(", ");
  return pairs.map(([name, [old, now]]) => `${name}: ${old ?? "none"} → ${now ?? "none"}`).join(", ");
}

function compared(found) {
  if (found.same) return [make("p", { text: "The files say what is in force." })];
  const lines = PARTS.map(([key, words]) => [words, partText(key, found[key])]).filter(([, text]) => text);
  const parts = [make("dl", { class: "facts" }, ...lines.flatMap(([words, text]) => [make("dt", { text: words }), make("dd", { text })]))];
  if (!lines.length) parts.push(make("p", { text: "The text differs, and nothing that it says." }));
  const shown = found.firings.slice(0, LINES).map((each) => make("li", { text: each.text }));
  if (shown.length) parts.push(make("h3", { text: `${found.firings.length} firings change` }), make("ul", { class: "problems" }, ...shown));
  return parts;
}

function problemLines(problems) {
  return problems.map((each) => make(
    "li", {}, make("span", { class: "mono", text: each.file ? `${each.file}:${each.line ?? ""} ` : "" }), each.message,
    each.mend ? make("span", { class: "muted", text: ` → ${each.mend}` }) : "",
  ));
}

document.getElementById("compare").addEventListener("click", async (event) => {
  const box = document.getElementById("comparison");
  event.target.disabled = true;
  box.hidden = false;
  box.replaceChildren(make("p", { class: "muted", text: "Comparing …" }));
  try {
    box.replaceChildren(...compared(await api("GET", `/api/diff?days=${document.getElementById("compare-days").value}`)));
  } catch (error) {
    box.replaceChildren(make("p", { text: error.message }), make("ul", { class: "problems" }, ...problemLines(error.problems || [])));
  } finally {
    event.target.disabled = false;
  }
});

startForms({
  reloaded: (found) => {
    const gone = found.cancelled.length ? `, ${found.cancelled.length} runs called off` : "";
    sessionStorage.setItem("pysched.said", found.changed ? `Version ${found.version} is in force${gone}` : "Nothing had changed");
    location.reload();
  },
});
document.addEventListener("form-refused", (event) => {
  const list = document.getElementById("reload-problems");
  const problems = event.target.contains(list) ? event.detail.problems || [] : [];
  list.hidden = !problems.length;
  list.replaceChildren(...problemLines(problems));
});

// --------------------------------------------------------------- sessions and audit

function endButton(session) {
  const button = make("button", { type: "button", class: "danger", text: "End", "aria-label": `End the session of ${session.user}` });
  button.addEventListener("click", async () => {
    if (button.dataset.sure !== "yes") {
      button.dataset.sure = "yes";
      button.textContent = "Really end it?";
      return;
    }
    try {
      await api("POST", `/api/sessions/${encodeURIComponent(session.id)}/revoke`, {});
      toast(`The session of ${session.user} is over`);
      showSessions();
    } catch (error) {
      failed(error);
    }
  });
  return button;
}

const sessions = new Remote(document.getElementById("sessions"), {
  list: "sessions", empty: "Nobody is signed in by a browser", absent: "This scheduler has no sessions",
  columns: [
    ["User", (each) => [make("strong", { text: each.user }), each.is_yours ? badge("live", "running", "this one") : ""]],
    ["Since", (each) => timeCell(each.created_at)], ["Seen", (each) => timeCell(each.seen_at)],
    ["From", (each) => each.address], ["Browser", (each) => each.agent, "muted"], ["", (each) => endButton(each)],
  ],
});
const showSessions = () => sessions.show("/api/sessions");

const RESULTS = { done: ["good", "succeeded"], ok: ["good", "succeeded"] };
const audit = new Remote(document.getElementById("audit"), {
  list: "audit", empty: "Nothing matches", absent: "This scheduler keeps no audit log",
  columns: [
    ["When", (each) => timeCell(each.at)],
    ["Who", (each) => [make("strong", { text: each.actor || "nobody known" }), ` ${each.role}`, each.address ? ` from ${each.address}` : ""]],
    ["What", (each) => `${each.action.replaceAll("_", " ")} ${each.subject}`], ["Reason", (each) => each.reason],
    ["Result", (each) => badge(...(RESULTS[each.result] || ["warn", "blocked"]), each.result)],
  ],
});
const filters = document.getElementById("audit-filters");
const showAudit = () => audit.show(address("/api/audit", filters, { limit: "50" }));
filters.addEventListener("submit", (event) => {
  event.preventDefault();
  showAudit();
});

document.getElementById("verify").addEventListener("click", async (event) => {
  const said = document.getElementById("verified");
  event.target.disabled = true;
  said.textContent = "verifying …";
  try {
    const found = await api("GET", "/api/audit/verify");
    const wrong = found.broken ? `broken at row ${found.broken.id}: ${found.broken.what}` : "broken";
    said.replaceChildren(found.ok ? badge("good", "succeeded", `${found.rows} rows, the chain holds`) : badge("bad", "failed", wrong));
  } catch (error) {
    said.textContent = error.status === 404 ? "no audit log" : error.message;
  } finally {
    event.target.disabled = false;
  }
});

showSessions();
showAudit();
