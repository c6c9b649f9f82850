// The entry: the frame's palette, keys and menus; pictures by `data-view`; pages by `data-page`.
import { startQuestions } from "./lib/drafts.js";
import { startAll, redraw } from "./lib/figures.js";
import { startKeys } from "./lib/keys.js";
import { startPalette } from "./lib/palette.js";
import { startTimes } from "./lib/times.js";
import { command } from "./lib/words.js";

const root = document.documentElement;
root.classList.add("built");
document.cookie = "kgplatform_scripts=1; path=/; max-age=31536000; samesite=lax"; // the server leaves the rows to us

const menus = () => {
  document.addEventListener("click", (event) => {
    document.querySelectorAll("details.menu[open]").forEach((menu) => { if (!menu.contains(event.target)) menu.open = false; });
  });
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const menu = document.querySelector("details.menu[open]");
    if (menu) { menu.open = false; menu.querySelector("summary").focus(); }
  });
};

const pagesHere = () => Promise.all([...document.querySelectorAll("[data-page]")].map(async (node) => {
  const { start } = await import(`./pages/${node.dataset.page}.js`);
  try { await start(node); } finally { node.dataset.started = "yes"; }
}));

const start = async () => {
  document.querySelectorAll("kbd").forEach((node) => { node.textContent = node.textContent.replace("Ctrl", command); });
  startKeys();
  startPalette();
  startTimes();
  menus();
  startQuestions();
  new MutationObserver(redraw).observe(root, { attributes: true, attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  try {
    await Promise.all([pagesHere(), startAll()]);
  } finally {
    root.dataset.ready = "yes";
  }
};

start();
