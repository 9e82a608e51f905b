// Tables whose rows come from the JSON API, a page at a time: <div class="remote">. A column is [title, cell, options];
// a cell is made from a row. What the scheduler has not got is said in words, never as an empty table.
import { clockText } from "./clock.js";
import { api, make, mark, Refused } from "./talk.js";

const dateOnly = new Intl.DateTimeFormat("sv-SE", { timeZone: document.documentElement.dataset.zone || "UTC" });

/** An instant of the API as the pages write it: date, time and offset in the scheduler's zone. */
export function timeCell(text) {
  if (!text) return make("span", { class: "none", text: "–" });
  const [time, offset] = clockText(Date.parse(text));
  return make("time", { datetime: text, title: text }, `${dateOnly.format(Date.parse(text))} ${time}`, make("span", { class: "off", text: offset }));
}

export const link = (href, text) => make("a", { href, text });
export const runLink = (id) => (id ? link(`/runs/${encodeURIComponent(id)}`, id) : "");
export const jobLink = (name) => (name ? link(`/jobs/${encodeURIComponent(name)}`, name) : "");
export const badge = (tone, shape, word) => make("span", { class: `badge tone-${tone}` }, mark(shape), word);

export function note(title, text = "") {
  return make("div", { class: "empty" }, mark("empty"), make("p", { class: "empty-title", text: title }), text ? make("p", { text }) : "");
}

export class Remote {
  constructor(box, { list, columns, empty, absent }) {
    Object.assign(this, { box, list, columns, empty, absent });
    this.asked = 0;
  }

  /** Show what an address answers; resolves to the rows of the first page, null where there is no such thing. */
  async show(path) {
    const mine = ++this.asked;
    let found;
    try {
      found = await api("GET", path);
    } catch (error) {
      if (mine === this.asked) this.fail(error);
      return null;
    }
    if (mine !== this.asked) return null;
    const rows = found[this.list];
    if (!rows.length) {
      this.box.replaceChildren(note(this.empty));
      return rows;
    }
    this.body = make("tbody");
    const head = make("tr", {}, ...this.columns.map(([title]) => make("th", { text: title, scope: "col" })));
    this.box.replaceChildren(make("table", { class: "cards" }, make("thead", {}, head), this.body));
    this.add(rows);
    this.goOn(path, found.next_cursor);
    return rows;
  }

  fail(error) {
    const missing = error instanceof Refused && (error.status === 404 || error.status === 503);
    this.box.replaceChildren(missing ? note(this.absent, error.mend) : note(error.message, error.mend));
  }

  add(rows) {
    for (const row of rows) {
      const cells = this.columns.map(([title, cell, wide]) => {
        const made = [cell(row)].flat().filter((part) => part !== "" && part !== null && part !== undefined);
        return make("td", { "data-label": title, class: `${wide || ""}${made.length ? "" : " blank"}` }, made.length ? make("span", {}, ...made) : "");
      });
      this.body.append(make("tr", { "data-row": true }, ...cells));
    }
  }

  goOn(path, cursor) {
    if (!cursor) return;
    const more = make("button", { type: "button", text: "More" });
    const bar = make("p", { class: "pager" }, more);
    this.box.append(bar);
    more.addEventListener("click", async () => {
      more.disabled = true;
      try {
        const next = new URL(path, location.href);
        next.searchParams.set("cursor", cursor);
        const found = await api("GET", next.pathname + next.search);
        bar.remove();
        this.add(found[this.list]);
        this.goOn(path, found.next_cursor);
      } catch (error) {
        more.disabled = false;
        more.after(make("span", { class: "error", text: error.message }));
      }
    });
  }
}

/** The address of a list with what a form says; empty fields are left out. */
export function address(path, form, given = {}) {
  const said = new URLSearchParams(given);
  for (const field of form?.elements || []) if (field.name && field.value.trim()) said.set(field.name, field.value.trim());
  return `${path}?${said}`;
}
