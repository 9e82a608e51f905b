// What every page has: clock, menu, theme, keys, palette, dialogs. Each part lives in a module of its own.
import { startClock } from "./clock.js";
import { startKeys } from "./keys.js";
import { startPalette } from "./palette.js";
import { startActions } from "./act.js";

function startTheme() {
  const root = document.documentElement;
  const isDark = () =>
    root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  for (const button of document.querySelectorAll("[data-theme-toggle]")) {
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      try {
        localStorage.setItem("pysched.theme", root.dataset.theme);
      } catch {
        // Storage may be forbidden; the choice then lasts as long as the page.
      }
    });
  }
}

function startMenu() {
  const button = document.querySelector(".menu-button");
  const nav = document.getElementById("nav");
  button?.addEventListener("click", () => {
    const open = nav.classList.toggle("open");
    button.setAttribute("aria-expanded", String(open));
  });
}

startTheme();
startMenu();
startClock();
startKeys();
startPalette();
startActions();
