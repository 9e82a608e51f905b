// Draws the graph. One group carries all movement; near by, only boxes and edges in sight are in the page, and far away
// all boxes of a tone are one path: so a frame with two thousand jobs stays short. What is drawn comes from
// /graph/drawing, states follow the scheduler's stream.
import { Aside } from "./graph_aside.js";
import { apartOf, boundsOf, heapOf, meets, nextTo, reach, wayOf } from "./graph_shapes.js";
import { listen } from "./live.js";
import { api, failed } from "./talk.js";

const SVG = "http://www.w3.org/2000/svg";
const LOOKS = {
  failed: ["failed", "failed", "bad"], blocked: ["blocked", "blocked", "warn"], retry_wait: ["retry wait", "retry", "warn"],
  held: ["held", "held", "hand"], waiting: ["waiting", "waiting", "calm"], queued: ["queued", "queued", "calm"],
  scheduled: ["scheduled", "scheduled", "calm"], running: ["running", "running", "live"],
  succeeded: ["succeeded", "succeeded", "good"], skipped: ["skipped", "skipped", "off"],
  cancelled: ["cancelled", "cancelled", "off"], none: ["no run", "empty", "off"],
};
export const lookOf = (state) => LOOKS[state] || LOOKS.none;
const FAR = 0.42; // below this scale words cannot be read
const MARGIN = 0.5; // of the window, around it: what is drawn before it comes into sight
const LETTERS = 20;
const NARROW = 640;
const [LEAST, MOST] = [0.02, 2.5];

function put(parent, tag, given = {}, text = "") {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(given)) element.setAttribute(name, value);
  if (text) element.textContent = text;
  parent.append(element);
  return element;
}

class Graph {
  constructor(svg, drawing) {
    this.svg = svg;
    this.box = drawing.box;
    this.size = [drawing.width, drawing.height];
    this.nodes = new Map(drawing.nodes.map((node) => [node.name, node]));
    this.edges = drawing.edges.map((edge) => this.measured(edge));
    this.before = new Map();
    this.after = new Map();
    for (const edge of this.edges) {
      for (const [map, at, other] of [[this.before, edge.to, edge.from], [this.after, edge.from, edge.to]]) {
        if (!map.has(at)) map.set(at, []);
        map.get(at).push(other);
      }
    }
    this.world = put(svg, "g");
    this.edgeLayer = put(this.world, "g");
    this.nodeLayer = put(this.world, "g");
    this.view = { scale: 1, x: 0, y: 0 };
    this.drawn = null; // the rectangle and kind of what is in the page
    this.chosen = null;
    this.related = null;
    this.frame = 0;
    this.aside = new Aside(document.getElementById("graph-aside"), this);
    this.said = document.getElementById("graph-said");
  }

  measured(edge) {
    const [from, to] = [this.nodes.get(edge.from), this.nodes.get(edge.to)];
    return { ...edge, bounds: boundsOf(edge, from, to, this.box) };
  }

  // ------------------------------------------------------------- where we look

  rectangle(margin = 0) {
    const { width, height } = this.svg.getBoundingClientRect();
    const { scale, x, y } = this.view;
    const [more, over] = [(width / scale) * margin, (height / scale) * margin];
    return [-x / scale - more, -y / scale - over, (width - x) / scale + more, (height - y) / scale + over];
  }

  move(dx, dy) {
    this.view.x += dx;
    this.view.y += dy;
    this.paint();
  }

  zoom(by, px, py) {
    const { width, height } = this.svg.getBoundingClientRect();
    [px, py] = [px ?? width / 2, py ?? height / 2];
    const scale = Math.min(MOST, Math.max(LEAST, this.view.scale * by));
    const real = scale / this.view.scale;
    this.view = { scale, x: px - (px - this.view.x) * real, y: py - (py - this.view.y) * real };
    this.paint();
  }

  /** Show all of it, beside the aside where there is room for both. */
  fit() {
    const { width, height } = this.svg.getBoundingClientRect();
    const room = width - (width > NARROW ? this.aside.width : 0);
    const scale = Math.min(1.15, (room - 48) / this.size[0], (height - 48) / this.size[1]);
    this.view = { scale: Math.max(LEAST, scale), x: 0, y: 0 };
    this.view.x = Math.max(24, (room - this.size[0] * this.view.scale) / 2);
    this.view.y = Math.max(24, (height - this.size[1] * this.view.scale) / 2);
    this.paint();
  }

  /** Begin: all of it where that can be read, else the upper left, or what is in focus. */
  begin(focus) {
    const narrow = this.svg.getBoundingClientRect().width <= NARROW;
    if (focus) this.choose(focus, { quiet: narrow });
    this.fit();
    if (!narrow || this.view.scale >= FAR) return;
    this.view = { scale: 0.8, x: 16, y: 16 };
    if (focus) this.show(focus);
    else this.paint();
  }

  show(node) {
    const { width, height } = this.svg.getBoundingClientRect();
    if (this.view.scale < FAR) this.view.scale = 0.8;
    const [left, top, right, bottom] = this.rectangle(-0.08);
    if (node.x < left || node.y < top || node.x + this.box[0] > right || node.y + this.box[1] > bottom) {
      this.view.x = width / 2 - (node.x + this.box[0] / 2) * this.view.scale;
      this.view.y = height / 2 - (node.y + this.box[1] / 2) * this.view.scale;
    }
    this.paint();
  }

  // ------------------------------------------------------------- drawing

  paint() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  redraw() {
    this.drawn = null;
    this.paint();
  }

  draw() {
    const far = this.view.scale < FAR;
    const sight = this.rectangle();
    const inside = this.drawn && sight[0] >= this.drawn.area[0] && sight[1] >= this.drawn.area[1] && sight[2] <= this.drawn.area[2] && sight[3] <= this.drawn.area[3];
    if (!inside || this.drawn.far !== far) {
      const area = far ? [-Infinity, -Infinity, Infinity, Infinity] : this.rectangle(MARGIN);
      this.drawn = { far, area };
      this.world.setAttribute("class", `${far ? "far" : "near"}${this.chosen ? " some-chosen" : ""}`);
      this.drawEdges(area, far);
      this.drawNodes(area, far);
    }
    this.world.setAttribute("transform", `translate(${this.view.x} ${this.view.y}) scale(${this.view.scale})`);
  }

  drawEdges(area, far) {
    const paths = new Map();
    const words = [];
    for (const edge of this.edges) {
      if (!far && !meets(edge.bounds, area)) continue;
      const [from, to] = [this.nodes.get(edge.from), this.nodes.get(edge.to)];
      const lit = this.related?.edges.has(edge) ? " lit" : "";
      const kind = edge.offset ? `edge apart${lit}` : `edge on-${edge.on}${lit}`;
      const way = edge.offset ? apartOf(from, to, this.box, far) : wayOf(edge, from, to, this.box, far);
      paths.set(kind, (paths.get(kind) || "") + way);
      if (edge.offset && !far) words.push([from, to, edge.offset]);
    }
    this.edgeLayer.replaceChildren();
    for (const [kind, way] of [...paths].sort()) put(this.edgeLayer, "path", { class: kind, d: way });
    for (const [from, to, offset] of words) {
      const low = Math.max(from.y, to.y) + this.box[1] + Math.min(80, 18 + Math.abs(to.x - from.x) * 0.12) * 0.75;
      put(this.edgeLayer, "text", { class: "offset-word", x: (from.x + to.x + this.box[0]) / 2, y: low + 4 }, String(offset).replace("-", "−"));
    }
  }

  drawNodes(area, far) {
    this.nodeLayer.replaceChildren();
    const [width, height] = this.box;
    if (far) {
      const heaps = new Map();
      for (const node of this.nodes.values()) {
        const tone = lookOf(node.state)[2];
        if (!heaps.has(tone)) heaps.set(tone, []);
        heaps.get(tone).push(node);
      }
      for (const [tone, some] of heaps) put(this.nodeLayer, "path", { class: `heap ${tone}`, d: heapOf(some, this.box) });
      if (this.chosen) put(this.nodeLayer, "path", { class: "heap chosen", d: heapOf([this.chosen], this.box) });
      return;
    }
    for (const node of this.nodes.values()) {
      if (meets([node.x, node.y, node.x + width, node.y + height], area)) this.drawNode(node);
    }
  }

  drawNode(node) {
    const [word, shape, tone] = lookOf(node.state);
    const marks = [tone, `is-${node.criticality}`];
    if (!node.enabled) marks.push("disabled");
    if (node === this.chosen) marks.push("chosen");
    if (this.related?.names.has(node.name)) marks.push("related");
    const [width, height] = this.box;
    const group = put(this.nodeLayer, "g", { class: `node ${marks.join(" ")}`, transform: `translate(${node.x} ${node.y})`, "data-name": node.name });
    put(group, "title", {}, `${node.name}: ${word}${node.reason ? `, ${node.reason}` : ""}`);
    put(group, "rect", { class: "box", width, height, rx: 7 });
    put(group, "use", { class: "mark", href: `#m-${shape}`, x: 11, y: 12, width: 16, height: 16 });
    const name = node.name.length > LETTERS ? `${node.name.slice(0, LETTERS - 1)}…` : node.name;
    put(group, "text", { class: "name", x: 36, y: 17 }, name);
    put(group, "text", { class: "word", x: 36, y: 32 }, node.enabled ? word : `disabled, ${word}`);
  }

  // ------------------------------------------------------------- choosing

  choose(node, { show = false, quiet = false } = {}) {
    this.chosen = node;
    this.related = node && this.relatedTo(node);
    this.aside.tell(quiet ? null : node);
    this.said.textContent = node ? `${node.name}: ${lookOf(node.state)[0]}${node.reason ? `, ${node.reason}` : ""}` : "";
    this.drawn = null;
    if (node && show) this.show(node);
    else this.paint();
  }

  relatedTo(node) {
    const above = reach(node.name, (name) => this.before.get(name) || []);
    const below = reach(node.name, (name) => this.after.get(name) || []);
    const edges = this.edges.filter((edge) => (above.has(edge.from) && above.has(edge.to)) || (below.has(edge.from) && below.has(edge.to)));
    return { names: new Set([...above, ...below]), edges: new Set(edges) };
  }

  at(px, py) {
    const [x, y] = [(px - this.view.x) / this.view.scale, (py - this.view.y) / this.view.scale];
    const [width, height] = this.box;
    for (const node of this.nodes.values()) {
      if (x >= node.x && x <= node.x + width && y >= node.y && y <= node.y + height) return node;
    }
    return null;
  }

  step(dx, dy) {
    const all = [...this.nodes.values()];
    const next = this.chosen ? nextTo(all, this.chosen, dx, dy) : all.sort((a, b) => a.x - b.x || a.y - b.y)[0];
    if (next) this.choose(next, { show: true });
  }

  // ------------------------------------------------------------- states

  change(name, state) {
    const node = this.nodes.get(name);
    if (!node || (node.state === state.state && node.run === state.run)) return;
    Object.assign(node, state);
    if (node === this.chosen) this.aside.tell(node);
    this.redraw();
  }
}

function startPointers(graph) {
  const svg = graph.svg;
  const held = new Map();
  let moved = 0;
  const place = (event) => {
    const { left, top } = svg.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  };
  const spread = () => {
    const [a, b] = [...held.values()];
    return { apart: Math.hypot(a[0] - b[0], a[1] - b[1]), x: (a[0] + b[0]) / 2, y: (a[1] + b[1]) / 2 };
  };
  svg.addEventListener("pointerdown", (event) => {
    held.set(event.pointerId, place(event));
    svg.setPointerCapture(event.pointerId);
    if (held.size === 1) moved = 0;
  });
  svg.addEventListener("pointermove", (event) => {
    const last = held.get(event.pointerId);
    if (!last) return;
    const now = place(event);
    if (held.size === 2) {
      const was = spread();
      held.set(event.pointerId, now);
      const is = spread();
      graph.move(is.x - was.x, is.y - was.y);
      graph.zoom(is.apart / Math.max(1, was.apart), is.x, is.y);
    } else {
      held.set(event.pointerId, now);
      graph.move(now[0] - last[0], now[1] - last[1]);
    }
    moved += Math.hypot(now[0] - last[0], now[1] - last[1]);
    svg.classList.toggle("moving", moved > 4);
  });
  const end = (event) => {
    if (!held.delete(event.pointerId)) return;
    svg.classList.remove("moving");
    if (event.type === "pointerup" && moved <= 4 && held.size === 0) graph.choose(graph.at(...place(event)));
  };
  svg.addEventListener("pointerup", end);
  svg.addEventListener("pointercancel", end);
  svg.addEventListener("dblclick", (event) => {
    const node = graph.at(...place(event));
    if (node) location.assign(`/jobs/${encodeURIComponent(node.name)}`);
  });
  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 30 : 1;
    graph.zoom(Math.exp(-event.deltaY * lines * 0.0015), ...place(event));
  }, { passive: false });
}

function startKeys(graph) {
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  graph.svg.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const acts = {
      "+": () => graph.zoom(1.25), "=": () => graph.zoom(1.25), "-": () => graph.zoom(0.8), 0: () => graph.fit(),
      Enter: () => graph.chosen && location.assign(`/jobs/${encodeURIComponent(graph.chosen.name)}`),
      f: () => graph.chosen && graph.aside.focusOn(graph.chosen), Escape: () => graph.choose(null),
    };
    const step = steps[event.key];
    if (step && event.shiftKey) graph.move(-80 * step[0], -80 * step[1]);
    else if (step) graph.step(...step);
    else if (acts[event.key]) acts[event.key]();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  document.getElementById("graph-in").addEventListener("click", () => graph.zoom(1.25));
  document.getElementById("graph-out").addEventListener("click", () => graph.zoom(0.8));
  document.getElementById("graph-fit").addEventListener("click", () => graph.fit());
}

async function start(svg) {
  const graph = new Graph(svg, await api("GET", svg.dataset.source));
  document.getElementById("graph-wait").remove();
  startPointers(graph);
  startKeys(graph);
  new ResizeObserver(() => graph.redraw()).observe(svg);
  graph.begin(graph.nodes.get(new URLSearchParams(location.search).get("focus")));
  const look = async () => {
    const found = await api("GET", svg.dataset.source.replace("/graph/drawing", "/graph/states"));
    for (const [name, state] of Object.entries(found.states)) graph.change(name, state);
  };
  listen((kind, data) => {
    if (kind === "run" && data?.run_date === svg.dataset.day) graph.change(data.job, { state: data.state, run: data.run_id, reason: data.reason || "" });
    if (kind === "reset") look().catch(() => {});
  }, look);
}

const svg = document.getElementById("graph");
if (svg) start(svg).catch(failed);
