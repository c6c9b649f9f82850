// Small comforts on pages that work without: theme, Ctrl-K, Ctrl-Enter, copy, the place of an error.
"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("scripted");
  if (document.currentScript.dataset.built) { // before the first line is drawn, so that nothing moves when the scripts come; not if they do not come
    root.classList.add("built");
    addEventListener("error", (event) => { if (event.target?.tagName === "SCRIPT") root.classList.remove("built"); }, true);
  }
  const stored = (() => { try { return localStorage.getItem("theme"); } catch { return null; } })();
  if (stored === "light" || stored === "dark") root.dataset.theme = stored;

  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const on = (selector, event, run) => document.querySelectorAll(selector).forEach((node) => node.addEventListener(event, run));

  const toggleTheme = () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* private window: for this page only */ }
  };

  const copy = async (event) => {
    const button = event.currentTarget;
    const before = button.textContent;
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = button.dataset.done;
    setTimeout(() => { button.textContent = before; }, 1500);
  };

  const editor = (area) => {
    area.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.isComposing) {
        event.preventDefault();
        area.form.requestSubmit();
      }
    });
    if (!area.dataset.line) return;
    const before = area.value.split("\n").slice(0, area.dataset.line - 1).join("\n").length + (area.dataset.line > 1 ? 1 : 0);
    const place = before + Math.max(0, area.dataset.column - 1);
    area.focus();
    area.setSelectionRange(place, place);
  };

  document.addEventListener("DOMContentLoaded", () => {
    on("[data-theme-button]", "click", toggleTheme);
    on("[data-copy]", "click", copy);
    document.querySelectorAll("[data-editor] textarea").forEach(editor);
    const nav = document.querySelector(".bar nav"), here = nav?.querySelector("[aria-current]");
    if (here && nav.scrollWidth > nav.clientWidth) nav.scrollLeft = here.offsetLeft - nav.offsetLeft - 40;
    on(".askbox", "submit", (event) => event.currentTarget.classList.add("waiting"));
  });
  addEventListener("pageshow", () => document.querySelectorAll(".waiting").forEach((node) => node.classList.remove("waiting")));
  addEventListener("keydown", (event) => {
    const find = document.querySelector(".find input");
    const typing = /^(input|textarea|select)$/i.test(document.activeElement?.tagName ?? "");
    if (find && ((event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)) || (event.key === "/" && !typing))) {
      event.preventDefault();
      find.focus();
      find.select();
    }
  });
})();
