// The scheduler's clock: its own time in its own zone, carried on by this machine's monotonic clock.
export function serverNow() {
  return base + (performance.now() - seen);
}

const clock = document.getElementById("clock");
const base = clock ? Date.parse(clock.dateTime) : Date.now();
const seen = performance.now();

const zone = document.documentElement.dataset.zone || "UTC";

/** A format of instants, made when it is first asked for: the browser takes milliseconds, and a page is shown before. */
export function format(language, parts) {
  let made = null;
  return () => (made ??= new Intl.DateTimeFormat(language, { timeZone: zone, ...parts }));
}

const timeOnly = format("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const offsetOnly = format("en-GB", { timeZoneName: "longOffset" });

/** The time of day and the offset of an instant, in milliseconds, as the pages write them: ["03:05:12", "+02"]. */
export function clockText(instant) {
  const part = offsetOnly().formatToParts(instant).find((each) => each.type === "timeZoneName").value;
  const offset = part === "GMT" ? "+00" : part.replace("GMT", "").replace("\u2212", "-").replace(/:00$/, "");
  return [timeOnly().format(instant), offset];
}

/** Seconds as pages write them: 0.4s, 12s, 3m05s, 1h02m, 2d03h. */
export function durationText(seconds) {
  if (seconds < 9.95) return seconds % 1 ? `${seconds.toFixed(1)}s` : `${seconds}s`;
  const whole = Math.round(seconds);
  for (const [big, bigS, small, smallS] of [["d", 86400, "h", 3600], ["h", 3600, "m", 60], ["m", 60, "s", 1]]) {
    if (whole >= bigS) {
      const rest = Math.floor((whole % bigS) / smallS);
      return `${Math.floor(whole / bigS)}${big}${String(rest).padStart(2, "0")}${small}`;
    }
  }
  return `${whole}s`;
}

function tick() {
  const now = serverNow();
  if (clock) {
    const [time, offset] = clockText(now);
    clock.querySelector(".clock-time").textContent = time;
    clock.querySelector(".off").textContent = offset;
  }
  // What still runs grows with the clock: <span data-since="INSTANT">.
  for (const span of document.querySelectorAll("[data-since]")) {
    span.textContent = durationText(Math.max(0, Math.floor((now - Date.parse(span.dataset.since)) / 1000)));
  }
}

/** The page was printed with the time; the first second is ours to count. */
export function startClock() {
  setInterval(tick, 1000);
}
