// Explore: each step is a link to the next state. Scripts fetch that page, take its lists, and let the picture grow;
// a click on a thing adds what is next to it. The address holds the scene.
import { live, on, save } from "../lib/dom.js";
import { show } from "../lib/figures.js";
import { key } from "../lib/keys.js";
import { t } from "../lib/words.js";

const escape = (text) => text.replace(/[&<>"]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign]);
const round = (value) => Math.round(value * 10) / 10;

/** The picture as it is now, as SVG: positions, colours and names of the canvas. */
const svgOf = (cy) => {
  const box = cy.elements().boundingBox({ includeLabels: true });
  const style = getComputedStyle(document.documentElement);
  const token = (name) => style.getPropertyValue(name).trim();
  const edges = cy.edges().map((edge) => {
    const a = edge.source().position(), b = edge.target().position(), dashed = edge.hasClass("inferred") ? ' stroke-dasharray="5 4"' : "";
    return `<line x1="${round(a.x)}" y1="${round(a.y)}" x2="${round(b.x)}" y2="${round(b.y)}" stroke="${token("--graph-line")}" stroke-width="${round(edge.numericStyle("width"))}"${dashed}><title>${escape(edge.data("label"))}</title></line>`
      + `<text x="${round((a.x + b.x) / 2)}" y="${round((a.y + b.y) / 2)}" font-size="9" fill="${token("--second")}" text-anchor="middle">${escape(edge.data("label"))}</text>`;
  });
  const nodes = cy.nodes().map((node) => {
    const at = node.position(), r = node.numericStyle("width") / 2;
    return `<circle cx="${round(at.x)}" cy="${round(at.y)}" r="${round(r)}" fill="${node.style("background-color")}"/>`
      + `<text x="${round(at.x)}" y="${round(at.y + r + 13)}" font-size="11" fill="${token("--ink")}" text-anchor="middle">${escape(node.data("label"))}</text>`;
  });
  const size = [box.x1 - 20, box.y1 - 20, box.w + 40, box.h + 40].map(round);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${size.join(" ")}" font-family="system-ui, sans-serif"><rect x="${size[0]}" y="${size[1]}" width="${size[2]}" height="${size[3]}" fill="${token("--paper")}"/>${edges.join("")}${nodes.join("")}</svg>`;
};

/** New things begin beside what they are tied to; what was there stays where it was. */
const placed = (data, cy) => {
  const before = new Map(cy?.nodes().map((node) => [node.id(), node.position()]) ?? []);
  if (!before.size || !data.nodes.some((node) => before.has(node.id))) return data;
  const beside = (id) => {
    const edge = data.edges.find((one) => (one.source === id && before.has(one.target)) || (one.target === id && before.has(one.source)));
    return edge ? before.get(edge.source === id ? edge.target : edge.source) : [...before.values()][0];
  };
  const fresh = data.nodes.filter((node) => !before.has(node.id));
  const turn = (index) => (2 * Math.PI * index) / Math.max(1, fresh.length);
  const nodes = data.nodes.map((node) => {
    const old = before.get(node.id);
    if (old) return { ...node, x: old.x, y: old.y, fixed: true };
    const from = beside(node.id), index = fresh.indexOf(node);
    return { ...node, from, x: from.x + 90 * Math.cos(turn(index)), y: from.y + 90 * Math.sin(turn(index)) };
  });
  return { ...data, nodes, layout: fresh.length ? "keep" : "preset", view: { zoom: cy.zoom(), pan: { ...cy.pan() } } };
};

export const start = async (root) => {
  const figure = root.querySelector("#picture");
  let api = null, running = null, steps = 0;
  figure.addEventListener("kgp:view", (event) => { api = event.detail.api; mark(); });

  const undo = () => root.querySelector("[data-undo]");
  const mark = () => { const chosen = new URLSearchParams(location.search).get("on"); if (chosen) api?.highlight?.([full(chosen)]); };
  const full = (name) => [...root.querySelectorAll("[data-of]")].find((link) => new URL(link.href).searchParams.get("on") === name)?.dataset.of ?? name;

  const take = async (url, { push = true } = {}) => {
    running?.abort();
    running = new AbortController();
    root.classList.add("busy");
    try {
      const response = await fetch(url, { signal: running.signal, headers: { Accept: "text/html" } });
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const next = page.querySelector("[data-page=explore]");
      if (!next) { location.assign(response.url); return; }
      const where = document.activeElement?.closest?.("[data-part]")?.dataset.part;
      for (const part of root.querySelectorAll("[data-part]")) part.replaceChildren(...next.querySelector(`[data-part="${part.dataset.part}"]`).childNodes);
      document.title = page.title;
      if (push) { history.pushState({ explore: true }, "", response.url); steps += 1; } else steps = Math.max(0, steps - 1);
      undo().hidden = !steps;
      const data = JSON.parse(next.querySelector("#picture > script").textContent);
      await show(figure, placed(data, api?.cy));
      const focus = where && root.querySelector(`[data-part="${where}"] :is(a, button)`);
      focus?.focus({ preventScroll: true });
      live(t("explored", { n: data.nodes.length, m: data.edges.length }));
    } catch (error) {
      if (error.name !== "AbortError") location.assign(url);
    } finally { root.classList.remove("busy"); }
  };

  on(root, "click", "a[data-step]", (event, link) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
    event.preventDefault();
    take(link.href);
  });
  on(root, "submit", "form[data-step-form]", (event, form) => {
    event.preventDefault();
    take(`${form.action}?${new URLSearchParams(new FormData(form))}`);
  });
  on(root, "click", "[data-undo]", () => history.back());
  on(root, "click", "[data-svg]", () => { if (api?.cy) save("explored.svg", svgOf(api.cy), "image/svg+xml"); });
  on(root, "click", "[data-png]", () => { if (api?.png) save("explored.png", api.png()); });
  figure.addEventListener("kgp:pick", (event) => {
    const link = [...root.querySelectorAll("[data-of]")].find((one) => one.dataset.of === event.detail.id);
    if (link) { event.preventDefault(); take(link.dataset.open ?? link.href); }
  });
  addEventListener("popstate", () => take(location.href, { push: false }));
  key("z", t("undo_key"), () => { if (steps) history.back(); });
};
