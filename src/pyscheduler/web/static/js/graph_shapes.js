// Geometry of the graph: ways of edges, heaps of far boxes, what is in sight, which job lies in a direction. Pure.

const ARROW = 7;
const BEND = 0.5;

function curve(x1, y1, x2, y2) {
  const bend = Math.max(18, (x2 - x1) * BEND);
  return `C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
}

/** The path of an edge within a date, with an arrow at its end; `far` leaves out what nobody can see from far away. */
export function wayOf(edge, from, to, [width, height], far) {
  const points = [[from.x + width, from.y + height / 2], ...edge.via, [to.x, to.y + height / 2]];
  if (far) return `M${points.map((point) => point.join(" ")).join("L")}`;
  let path = `M${points[0].join(" ")}`;
  for (let at = 1; at < points.length; at++) {
    const [x1, y1] = points[at - 1];
    const [x2, y2] = points[at];
    path += y1 === y2 ? `L${x2} ${y2}` : curve(x1, y1, x2, y2);
  }
  const [x, y] = points[points.length - 1];
  return `${path}M${x - ARROW} ${y - ARROW / 2}L${x} ${y}L${x - ARROW} ${y + ARROW / 2}`;
}

/** The path of an edge between dates: below the boxes, apart from all others. A job's own yesterday is a loop. */
export function apartOf(from, to, [width, height], far) {
  const x1 = from.x + width * 0.62;
  const x2 = to.x + width * 0.38;
  const y1 = from.y + height;
  const y2 = to.y + height;
  if (far) return `M${x1} ${y1}L${x2} ${y2}`;
  const low = Math.max(y1, y2) + Math.min(80, 18 + Math.abs(x2 - x1) * 0.12);
  const arrow = `M${x2 - ARROW / 2} ${y2 + ARROW}L${x2} ${y2}L${x2 + ARROW / 2} ${y2 + ARROW}`;
  return `M${x1} ${y1}C${x1} ${low} ${x2} ${low} ${x2} ${y2}${arrow}`;
}

/** The rectangle around everything an edge touches: [left, top, right, bottom]. */
export function boundsOf(edge, from, to, [width, height]) {
  const below = edge.offset ? 90 : 0;
  let [top, bottom] = [Math.min(from.y, to.y), Math.max(from.y, to.y) + height + below];
  for (const [, y] of edge.via) [top, bottom] = [Math.min(top, y), Math.max(bottom, y)];
  return [Math.min(from.x, to.x), top, Math.max(from.x, to.x) + width, bottom];
}

export const meets = (a, b) => a[0] < b[2] && a[2] > b[0] && a[1] < b[3] && a[3] > b[1];

/** Many boxes as one path. */
export function heapOf(nodes, [width, height]) {
  return nodes.map((node) => `M${node.x} ${node.y}h${width}v${height}h${-width}z`).join("");
}

/** The nearest node in a direction (dx, dy of -1, 0, 1): what lies ahead counts, what lies aside counts double. */
export function nextTo(nodes, from, dx, dy) {
  let best = null;
  let least = Infinity;
  for (const node of nodes) {
    const ahead = (node.x - from.x) * dx + (node.y - from.y) * dy;
    if (ahead <= 0) continue;
    const aside = Math.abs((node.x - from.x) * dy) + Math.abs((node.y - from.y) * dx);
    if (ahead + 2 * aside < least) [best, least] = [node, ahead + 2 * aside];
  }
  return best;
}

/** All that can be reached over edges, in one direction. */
export function reach(start, beside) {
  const found = new Set([start]);
  const ahead = [start];
  while (ahead.length) {
    for (const name of beside(ahead.pop())) {
      if (!found.has(name)) {
        found.add(name);
        ahead.push(name);
      }
    }
  }
  return found;
}
