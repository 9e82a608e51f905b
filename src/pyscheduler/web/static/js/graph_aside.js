// What is said about the chosen job of the graph: its state, why, whom it waits for, who waits for it.
import { lookOf } from "./graph.js";
import { api, make, mark } from "./talk.js";

const SHOWN = 12;

export class Aside {
  constructor(element, graph) {
    this.element = element;
    this.graph = graph;
    this.asked = 0;
  }

  get width() {
    return this.element.hidden ? 0 : this.element.offsetWidth + 24;
  }

  focusOn(node) {
    const said = new URLSearchParams(location.search);
    said.set("focus", node.name);
    said.delete("page");
    location.assign(`/graph?${said}`);
  }

  tell(node) {
    const mine = ++this.asked;
    this.element.hidden = !node;
    if (!node) return;
    const [word, shape, tone] = lookOf(node.state);
    const close = make("button", { type: "button", class: "quiet icon", "aria-label": "Close" }, mark("close"));
    close.addEventListener("click", () => this.graph.choose(null));
    const why = make("p", { class: "muted", text: node.reason });
    const focus = make("button", { type: "button", text: "Only what hangs together" });
    focus.addEventListener("click", () => this.focusOn(node));
    const state = make("span", { class: `badge tone-${tone}` }, mark(shape), word);
    const run = node.run ? make("a", { href: `/runs/${encodeURIComponent(node.run)}`, text: "run" }) : "";
    this.element.replaceChildren(
      make("h2", {}, make("a", { href: `/jobs/${encodeURIComponent(node.name)}`, text: node.name }), close),
      make("p", {}, state, " ", run), why,
      ...this.names("Waits for", this.graph.before.get(node.name)), ...this.names("Is waited for by", this.graph.after.get(node.name)),
      make("p", { class: "buttons" }, focus),
    );
    this.explain(node, why, mine);
  }

  names(title, some) {
    const all = [...new Set(some || [])];
    if (!all.length) return [];
    const buttons = all.slice(0, SHOWN).map((name) => {
      const other = this.graph.nodes.get(name);
      const button = make("button", { type: "button", title: lookOf(other.state)[0] }, mark(lookOf(other.state)[1]), name);
      button.addEventListener("click", () => this.graph.choose(other, { show: true }));
      return button;
    });
    const more = all.length > SHOWN ? [make("span", { class: "muted", text: `and ${all.length - SHOWN} more` })] : [];
    return [make("h3", { text: title }), make("div", { class: "names" }, ...buttons, ...more)];
  }

  async explain(node, box, mine) {
    const day = this.graph.svg.dataset.day;
    const question = node.run ? `run=${encodeURIComponent(node.run)}` : `job=${encodeURIComponent(node.name)}&run_date=${day}`;
    try {
      const { why } = await api("GET", `/api/why?${question}`);
      if (mine !== this.asked) return;
      box.textContent = why.text;
      if (why.release) box.after(make("p", { class: "muted" }, mark("right"), ` ${why.release}`));
    } catch (error) {
      if (mine === this.asked && !node.reason) box.textContent = error.message;
    }
  }
}
