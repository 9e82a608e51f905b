// A log of any size: a window of a few pieces, each fetched by byte offset. The whole is never here.
//
// The window is a row of neighbouring pieces, oldest first; scrolling to an edge fetches the next piece there and lets
// the farthest one go. Following asks for what came after the last byte; where too much came, it jumps to the end.
import { painted } from "./ansi.js";
import { api, failed, make } from "./talk.js";

const PIECE = 32768; // bytes of one piece
const KEPT = 6; // pieces in the window
const LOOK_MS = 1000;
const SLOW_LOOK_MS = 5000; // when nothing is followed
const EDGE_PX = 400;
const FAR = KEPT * PIECE; // behind by more than this: jump

export class LogView {
  constructor(run) {
    this.run = run;
    this.window = document.getElementById("log-window");
    this.place = document.getElementById("log-place");
    this.follow = document.getElementById("log-follow");
    this.pieces = [];
    this.size = 0;
    this.ended = false;
    this.turn = 0; // an older answer never ends up in a newer window
    this.busy = false;
    this.window.addEventListener("scroll", () => this.onScroll(), { passive: true });
  }

  query(more) {
    const asked = new URLSearchParams({ stream: this.stream, ...(this.attempt ? { attempt: this.attempt } : {}), ...more });
    return `/api/runs/${encodeURIComponent(this.run)}/log?${asked}`;
  }

  /** Name the stream that tells something: of a bad end standard error, of another one standard output; an empty one last. */
  async telling(attempt, isBad) {
    const order = isBad ? ["stderr", "stdout"] : ["stdout", "stderr"];
    const ask = new URLSearchParams({ stream: order[0], ...(attempt ? { attempt } : {}), offset: String(Number.MAX_SAFE_INTEGER), limit: "1" });
    const first = await api("GET", `/api/runs/${encodeURIComponent(this.run)}/log?${ask}`);
    if (first.size || !first.ended) return order[0];
    ask.set("stream", order[1]);
    return (await api("GET", `/api/runs/${encodeURIComponent(this.run)}/log?${ask}`)).size ? order[1] : "stdout";
  }

  async open(stream, attempt) {
    this.stream = stream;
    this.attempt = attempt;
    document.getElementById("log-download").href = this.query({ raw: "1" });
    await this.end();
    this.schedule();
  }

  /** Show the log's end. */
  async end() {
    const turn = ++this.turn;
    try {
      const { size } = await this.fetch(Number.MAX_SAFE_INTEGER, 1);
      if (turn === this.turn) await this.openAt(Math.max(0, size - PIECE), { toEnd: true });
    } catch (error) {
      if (turn === this.turn) this.say(error.mend ? `${error.message} — ${error.mend}` : error.message);
    }
  }

  /** Show the log from a byte on; with `mark` that line is marked. */
  async openAt(offset, { toEnd = false, mark = false } = {}) {
    const turn = ++this.turn;
    const piece = await this.fetch(offset, PIECE);
    if (turn !== this.turn) return;
    this.pieces = [];
    this.window.replaceChildren();
    this.add(piece, "end", mark);
    if (toEnd) {
      await this.forward();
      this.toBottom();
    } else {
      this.window.scrollTop = 0;
      if (mark) {
        await this.back();
        this.window.querySelector(".hit")?.scrollIntoView({ block: "center" });
      }
    }
    this.tell();
  }

  async fetch(offset, limit) {
    const piece = await api("GET", this.query({ offset: String(offset), limit: String(limit) }));
    this.size = piece.size;
    this.ended = piece.ended;
    this.latest = piece.latest_attempt;
    document.getElementById("log-path").textContent = piece.path;
    return piece;
  }

  add(piece, side, mark) {
    const pre = make("pre", {});
    let nodes;
    if (mark) {
      const end = piece.text.indexOf("\n");
      const first = end < 0 ? piece.text : piece.text.slice(0, end);
      pre.append(make("mark", { class: "hit" }, ...painted(first)));
      nodes = end < 0 ? [] : painted(piece.text.slice(end));
    } else nodes = painted(piece.text);
    pre.append(...nodes);
    const held = { from: piece.offset, to: piece.next_offset, pre };
    if (side === "end") {
      this.pieces.push(held);
      this.window.append(pre);
    } else {
      this.pieces.unshift(held);
      this.window.prepend(pre);
    }
  }

  /** Fetch what comes after the window; true where something did. */
  async forward() {
    const last = this.pieces.at(-1);
    if (!last) return false;
    const [turn, from] = [this.turn, last.to];
    const piece = await this.fetch(from, PIECE);
    if (turn !== this.turn) return false;
    // Scrolling and following ask for the same piece where answers are slow: to the second of them it has come already.
    if (last !== this.pieces.at(-1) || last.to !== from) return true;
    if (!piece.text && piece.next_offset === last.to) return false;
    if (piece.size < last.to) {
      await this.openAt(0); // the file was cut and began anew
      return true;
    }
    this.join(last, piece);
    if (this.pieces.length > KEPT) {
      const gone = this.pieces.shift().pre;
      const height = gone.offsetHeight;
      gone.remove();
      this.window.scrollTop -= height;
    }
    return true;
  }

  /** Small additions go into the last piece, so that a chatty log is no row of a thousand elements. */
  join(last, piece) {
    if (last.to - last.from + (piece.next_offset - piece.offset) <= PIECE) {
      last.pre.append(...painted(piece.text));
      last.to = piece.next_offset;
    } else this.add(piece, "end");
  }

  async back() {
    const first = this.pieces[0];
    if (!first || first.from === 0) return false;
    const turn = this.turn;
    const from = Math.max(0, first.from - PIECE);
    const piece = await this.fetch(from, first.from - from);
    if (turn !== this.turn || first !== this.pieces[0]) return false; // as above
    const before = this.window.scrollHeight;
    this.add(piece, "start");
    this.window.scrollTop += this.window.scrollHeight - before;
    if (this.pieces.length > KEPT) this.pieces.pop().pre.remove();
    return true;
  }

  async onScroll() {
    const { scrollTop, scrollHeight, clientHeight } = this.window;
    const atEnd = scrollTop + clientHeight > scrollHeight - 4;
    if (!atEnd && this.follow.checked && !this.settling) this.follow.checked = false;
    if (this.busy) return;
    this.busy = true;
    try {
      if (scrollTop < EDGE_PX) await this.back();
      else if (scrollTop + clientHeight > scrollHeight - EDGE_PX) await this.forward();
      this.tell();
    } catch (error) {
      failed(error);
    } finally {
      this.busy = false;
    }
  }

  toBottom() {
    this.settling = true;
    this.window.scrollTop = this.window.scrollHeight;
    requestAnimationFrame(() => requestAnimationFrame(() => (this.settling = false)));
  }

  schedule() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.look(), this.follow.checked ? LOOK_MS : SLOW_LOOK_MS);
  }

  /** Look for what has been written since. A failed look is repeated: the page's banner tells of a lost scheduler. */
  async look() {
    try {
      if (document.hidden) return;
      const last = this.pieces.at(-1);
      if (!last) await this.end();
      else if (this.follow.checked) {
        if (this.size - last.to > FAR) await this.end();
        else if (await this.forward()) this.toBottom();
      }
      this.tell();
    } catch {
      // The next look may succeed.
    } finally {
      if (!this.ended || !this.pieces.length || this.pieces.at(-1).to < this.size) this.schedule();
    }
  }

  tell() {
    const [first, last] = [this.pieces[0], this.pieces.at(-1)];
    if (!first) return;
    if (!this.size) return this.say(this.ended ? "It said nothing." : "Nothing so far …");
    const part = this.size ? Math.floor((100 * first.from) / this.size) : 0;
    this.place.textContent = `bytes ${first.from.toLocaleString("en")}–${last.to.toLocaleString("en")} of ${this.size.toLocaleString("en")}`
      + (part ? ` (from ${part} %)` : "") + (this.ended ? "" : " · still being written");
  }

  say(text) {
    this.pieces = [];
    this.window.replaceChildren(make("p", { class: "muted", text }));
    this.place.textContent = "";
  }
}
