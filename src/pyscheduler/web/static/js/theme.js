// Before the first paint: dark or light, what the reader chose last, else what the system says; and `loading`, as long as
// the page's modules have not run. A button pressed before would do nothing, or send its form to nowhere: it waits.
"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("loading");
  const isEarly = (event) => root.classList.contains("loading") && event.target.matches("[data-post]");
  document.addEventListener("submit", (event) => isEarly(event) && event.preventDefault(), true);
  document.addEventListener("DOMContentLoaded", () => root.classList.remove("loading"));
  let chosen = null;
  try {
    chosen = localStorage.getItem("pysched.theme");
  } catch {
    // Storage may be forbidden; then the system's choice stands.
  }
  if (chosen === "dark" || chosen === "light") root.dataset.theme = chosen;
})();
