// Talking to the scheduler: the same JSON API as everybody's, with the session's token and our own mark.
const csrf = document.querySelector('meta[name="csrf"]')?.content || "";
const WAIT_MS = 30000;

export class Refused extends Error {
  constructor(status, body) {
    super(body?.error || `the scheduler answered ${status}`);
    this.status = status;
    this.mend = body?.mend || "";
    this.problems = body?.problems || [];
  }
}

/** Whether asking the same again may go better: nobody answered, or not now. */
export const mayPass = (error) => !(error instanceof Refused) || error.status === 429 || error.status >= 500;

/** Return the error for a refusal; who is nobody any more is sent to sign in, and comes back here. */
function refused(status, body) {
  if (status === 401) location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
  return new Refused(status, body);
}

/** Return the JSON of an answer. Throws Refused for a refusal, and an Error where nobody answers in time. */
export async function api(method, path, body) {
  const headers = { Accept: "application/json", "X-Pysched": "1" };
  if (csrf) headers["X-CSRF-Token"] = csrf;
  if (method !== "GET") headers["Content-Type"] = "application/json";
  let answer;
  try {
    const sent = body === undefined ? undefined : JSON.stringify(body);
    answer = await fetch(path, { method, headers, body: sent, signal: AbortSignal.timeout(WAIT_MS) });
  } catch (error) {
    throw new Error(error.name === "TimeoutError" ? "no answer within 30 s" : "the scheduler is out of reach");
  }
  const found = await answer.json().catch(() => null);
  if (!answer.ok) throw refused(answer.status, found);
  return found;
}

/** Return the text of a fragment of HTML that our own server renders and escapes. */
export async function fragment(path) {
  const answer = await fetch(path, { headers: { "X-Pysched": "1" }, signal: AbortSignal.timeout(WAIT_MS) });
  if (!answer.ok) throw refused(answer.status, await answer.json().catch(() => null));
  return answer.text();
}

/** Make an element: tag, properties (class, text, and attributes), children. */
export function make(tag, given = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (name === "text") element.textContent = value;
    else if (name === "class") element.className = value;
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** Make one of the house's marks. */
export function mark(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "mark");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", `#m-${name}`);
  svg.append(use);
  return svg;
}

const SHOWN_MS = 6000;

/** Say something in the corner; bad news stays until it is clicked away. */
export function toast(text, { bad = false } = {}) {
  const note = make("div", { class: bad ? "toast bad" : "toast", text });
  document.getElementById("toasts").append(note);
  note.addEventListener("click", () => note.remove());
  if (!bad) setTimeout(() => note.remove(), SHOWN_MS);
}

export function failed(error) {
  toast(error.mend ? `${error.message} — ${error.mend}` : error.message, { bad: true });
}
