// Chooses dark or light before the first paint: what the reader chose last, else what the system says.
"use strict";
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("pysched.theme");
  } catch {
    // Storage may be forbidden; then the system's choice stands.
  }
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
})();
