// A document: a statement and its passage light up together; judging one leaves the reader where they are.
import { live, on } from "../lib/dom.js";

const light = (root, keys, is) => {
  for (const key of keys) {
    root.querySelector(`#statement-${key}`)?.classList.toggle("lit", is);
    root.querySelectorAll(`[data-said~="${key}"]`).forEach((node) => node.classList.toggle("lit", is));
  }
};

/** Puts the statement as the server shows it now in the place of the old one. */
const replaced = (page, key) => {
  const fresh = page.getElementById(`statement-${key}`), old = document.getElementById(`statement-${key}`);
  if (!fresh || !old) return false;
  const node = document.adoptNode(fresh);
  old.replaceWith(node);
  (node.querySelector("input:not([type=hidden])") ?? node.querySelector("button"))?.focus({ preventScroll: true });
  live(node.querySelector(".under")?.textContent ?? "");
  return true;
};

const asked = async (url, options) => {
  const response = await fetch(url, { credentials: "same-origin", ...options });
  return new DOMParser().parseFromString(await response.text(), "text/html");
};

export const start = (root) => {
  const list = root.querySelector(".read");
  for (const [type, is] of [["mouseover", true], ["mouseout", false], ["focusin", true], ["focusout", false]]) {
    on(root, type, ".read > li", (_event, item) => light(root, [item.dataset.key], is));
  }
  on(root, "click", ".said", (event, piece) => {
    if (event.target.closest("a")) return;
    const first = document.getElementById(`statement-${piece.dataset.said.split(" ")[0]}`);
    root.querySelectorAll(".lit").forEach((node) => node.classList.remove("lit"));
    light(root, piece.dataset.said.split(" "), true);
    first?.scrollIntoView({ block: "nearest" });
  });
  list?.addEventListener("submit", async (event) => {
    event.preventDefault();
    const form = event.target, key = form.closest("li").dataset.key, values = new URLSearchParams(new FormData(form));
    try {
      if (!replaced(await asked(form.action, { method: "POST", body: values }), key)) form.submit();
    } catch { form.submit(); }
  });
  if (list) on(list, "click", "a[href*='correct='], .correcting a.quiet", async (event, link) => {
    if (event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    if (!replaced(await asked(link.href), link.closest("li").dataset.key)) location.assign(link.href);
  });
  const place = /^#p=(\d+-\d+)$/.exec(location.hash);
  if (place) location.replace(`${location.pathname}?at=${place[1]}#passage`);
};
