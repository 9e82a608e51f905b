// Searches a whole log, line by line, as it streams by: a regular expression that never ends harms nobody but this
// worker, which the page ends. Told: {url, pattern, ignoreCase} to search, or {url, line} to find where a line begins.
// Tells: {hits: [{line, offset, text}]}, {seen} bytes now and then, {done, lines, capped} or {error}.
const MOST = 500; // hits
const SHOWN = 300; // characters of one
const LONGEST = 1 << 20; // bytes of a line that are looked at
const TELL_BYTES = 8 << 20;

const decoder = new TextDecoder("utf-8");

async function search({ url, pattern, ignoreCase, line: wanted }) {
  const matcher = wanted ? null : new RegExp(pattern, ignoreCase ? "iu" : "u");
  const answer = await fetch(url, { headers: { "X-Pysched": "1" } });
  if (!answer.ok) throw new Error((await answer.json().catch(() => null))?.error || `the scheduler answered ${answer.status}`);
  const state = { lines: 0, seen: 0, start: 0, rest: [], restSize: 0, hits: 0, told: 0 };
  for await (const block of answer.body) {
    if (take(block, state, matcher, wanted)) return finish(state, true);
    if (state.seen - state.told > TELL_BYTES) {
      state.told = state.seen;
      postMessage({ seen: state.seen });
    }
  }
  if (state.restSize && endLine(new Uint8Array(0), state, matcher, wanted)) return finish(state, true);
  return finish(state, false);
}

function finish(state, capped) {
  postMessage({ done: true, lines: state.lines, seen: state.seen, capped });
}

/** Take a block in; true where enough was found. */
function take(block, state, matcher, wanted) {
  let from = 0;
  for (let at = block.indexOf(10); at >= 0; at = block.indexOf(10, from)) {
    if (endLine(block.subarray(from, at), state, matcher, wanted)) return true;
    from = at + 1;
    state.start = state.seen + from;
  }
  const rest = block.slice(from);
  if (state.restSize < LONGEST) state.rest.push(rest);
  state.restSize += rest.length;
  state.seen += block.length;
  return false;
}

function endLine(bytes, state, matcher, wanted) {
  state.lines += 1;
  if (wanted) {
    if (state.lines === wanted) {
      postMessage({ hits: [{ line: wanted, offset: state.start, text: "" }] });
      return true;
    }
    state.rest = [];
    state.restSize = 0;
    return false;
  }
  const text = state.restSize ? decoder.decode(joined(state.rest, bytes)) : decoder.decode(bytes);
  state.rest = [];
  state.restSize = 0;
  const hit = matcher.exec(text);
  if (hit) {
    const from = Math.max(0, hit.index - 60);
    postMessage({ hits: [{ line: state.lines, offset: state.start, text: text.slice(from, from + SHOWN) }] });
    state.hits += 1;
  }
  return state.hits >= MOST;
}

function joined(parts, last) {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, last.length));
  let at = 0;
  for (const part of [...parts, last]) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

onmessage = (event) => search(event.data).catch((error) => postMessage({ error: error.message }));
