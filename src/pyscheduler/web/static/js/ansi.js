// A log's text as nodes: ansi_up reads the escape codes, we make elements with classes, so that no style is ever inline
// in markup and no byte of a log is ever read as HTML. Colours beyond the sixteen are set through the object model.
import { AnsiUp } from "../vendor/ansi_up.js";

// eslint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001a\u001c-\u001f\u007f]/g;
const TURNING = /[\u0080-\u009f\u202a-\u202e\u2066-\u2069\u200e\u200f]/g;
// ESC ( names an alphabet by one character, which ansi_up drops whatever it is: a line's end or a letter is none.
// eslint-disable-next-line no-control-regex
const NO_ALPHABET = /\u001b(?=\([^ -~])/g;
const ESCAPE_SEEN = "\u241b";
// A colour of a job's own choice is only hinted at: it must be readable on both grounds.
const GROUNDS = { fg: "--ink", bg: "--sunk" };
const SIXTEEN = /^ansi-/;

/** Return text without anything that hides or turns text around; escape codes stay. */
export function harmless(text) {
  return text
    .replace(/\r\n?/g, "\n")
    .replace(CONTROL, (each) => (each === "\u007f" ? "\u2421" : String.fromCharCode(0x2400 + each.charCodeAt(0))))
    .replace(TURNING, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .replace(NO_ALPHABET, ESCAPE_SEEN);
}

class Painter extends AnsiUp {
  nodes = [];

  /** Return what was kept for a next call, and keep it no longer. */
  unread() {
    const kept = this._buffer;
    this._buffer = "";
    return kept;
  }

  transform_to_html(fragment) {
    if (!fragment.text) return "";
    const { fg, bg, bold, faint, italic, underline, text } = fragment;
    if (!(fg || bg || bold || faint || italic || underline)) {
      this.nodes.push(document.createTextNode(text));
      return "";
    }
    const span = document.createElement("span");
    span.textContent = text;
    const names = { "a-bold": bold, "a-faint": faint, "a-italic": italic, "a-underline": underline };
    for (const [name, on] of Object.entries(names)) if (on) span.classList.add(name);
    this.colour(span, fg, "fg", "color");
    this.colour(span, bg, "bg", "backgroundColor");
    this.nodes.push(span);
    return "";
  }

  colour(span, colour, kind, property) {
    if (!colour) return;
    if (SIXTEEN.test(colour.class_name)) span.classList.add(`${colour.class_name}-${kind}`);
    else span.style[property] = `color-mix(in srgb, rgb(${colour.rgb.join(",")}) 35%, var(${GROUNDS[kind]}))`;
  }

  process_hyperlink(packet) {
    this.nodes.push(document.createTextNode(packet.text)); // a log's links are only words
    return "";
  }
}

/**
 * Return the nodes that a piece of a log is shown as.
 *
 * ansi_up keeps what begins like an escape code and is none (ESC [ é) for a next call, and with it all that follows:
 * there is no next call here, so the escape is shown as a mark and reading goes on behind it. Nothing is swallowed.
 */
export function painted(text) {
  const painter = new Painter();
  painter.ansi_to_html(harmless(text));
  for (let kept = painter.unread(); kept; kept = painter.unread()) painter.ansi_to_html(ESCAPE_SEEN + kept.slice(1));
  return painter.nodes;
}
