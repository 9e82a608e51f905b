// Forms that act through the JSON API: <form data-post="/api/…" data-then="reload">. A form with `data-preview` shows
// what it will do before it does it; an older preview never replaces a newer one. Errors stay beside the form.
import { api, fragment, toast } from "./talk.js";

const PAUSE_MS = 200;
const AFTER = {
  reload: () => location.reload(),
  run: (found) => location.assign(`/runs/${encodeURIComponent(found.run.run_id)}`),
  backfill: (found) => {
    const count = found.runs.length;
    sessionStorage.setItem("pysched.said", count === 1 ? "1 run was created" : `${count} runs were created`);
    location.reload();
  },
};

function valuesOf(form) {
  const found = {};
  for (const field of form.elements) {
    if (!field.name || field.disabled) continue;
    if (field.type === "checkbox") found[field.name] = field.checked;
    else if (field.value.trim() !== "") found[field.name] = field.value.trim();
  }
  return found;
}

function startPreview(form) {
  const box = form.querySelector(".preview");
  let asked = 0;
  let timer = 0;
  const show = async () => {
    const mine = ++asked;
    const fields = [...form.elements].filter((field) => field.name && field.name !== "reason");
    if (fields.some((field) => !field.checkValidity())) return;
    const said = new URLSearchParams(fields.map((field) => [field.name, field.value]));
    try {
      const html = await fragment(`${form.dataset.preview}?${said}`);
      if (mine === asked) box.innerHTML = html;
    } catch (error) {
      if (mine === asked) box.textContent = error.mend ? `${error.message}: ${error.mend}` : error.message;
    }
  };
  form.addEventListener("input", (event) => {
    if (event.target.name === "reason") return;
    clearTimeout(timer);
    timer = setTimeout(show, PAUSE_MS);
  });
  show();
}

async function send(form, after) {
  const button = form.querySelector("button[type=submit]");
  const alert = form.querySelector("[role=alert]");
  button.disabled = true;
  if (alert) alert.hidden = true;
  try {
    await after(await api("POST", form.dataset.post, valuesOf(form)), form);
  } catch (error) {
    const text = error.mend ? `${error.message}: ${error.mend}` : error.message;
    if (alert) Object.assign(alert, { hidden: false, textContent: text });
    else toast(text, { bad: true });
    form.dispatchEvent(new CustomEvent("form-refused", { bubbles: true, detail: error }));
  } finally {
    button.disabled = false;
  }
}

/** Start all forms of the page; `more` are further things to do after one was answered, by name. */
export function startForms(more = {}) {
  const said = sessionStorage.getItem("pysched.said");
  if (said) {
    sessionStorage.removeItem("pysched.said");
    toast(said);
  }
  for (const form of document.querySelectorAll("form[data-post]")) {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      send(form, { ...AFTER, ...more }[form.dataset.then]);
    });
    if (form.dataset.preview) startPreview(form);
  }
}
