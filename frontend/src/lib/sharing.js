// What can be taken elsewhere of a picture or a table: code that embeds it, and an image of how it is drawn.
import { copy, h, live, save } from "./dom.js";
import { token } from "./classes.js";
import { t } from "./words.js";

const DRAWN = ["fill", "fill-opacity", "fill-rule", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "opacity", "font-family", "font-size", "font-weight", "text-anchor", "paint-order", "visibility", "display"];
const SVG = "http://www.w3.org/2000/svg", SCALE = 2, HEIGHT = 420, TABLE_ROWS = 60, CELL = 26, LONGEST = 42;

const made = (name, attributes, ...children) => {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
};

/** A copy of a drawn node that looks the same without our styles. */
const drawn = (node) => {
  const one = node.cloneNode(false);
  if (!(node instanceof Element)) return one;
  const style = getComputedStyle(node);
  for (const name of ["class", "style", "href", "tabindex", "aria-hidden"]) one.removeAttribute(name);
  for (const name of DRAWN) { const value = style.getPropertyValue(name); if (value) one.setAttribute(name, value); }
  one.append(...[...node.childNodes].map(drawn));
  return one;
};

/** The words, and the circles of clusters, that lie over a drawing as elements of the page. */
const overlays = (stage, box) => [...stage.querySelectorAll(".map-name > span, .cluster, .legend li, .empty, .leaflet-control-attribution")].flatMap((node) => {
  const at = node.getBoundingClientRect(), style = getComputedStyle(node), x = at.left - box.left, y = at.top - box.top + at.height / 2;
  if (!at.width || x < 0 || y < 0 || x > box.width || y > box.height + 40) return [];
  const words = { "font-family": style.fontFamily, "font-size": style.fontSize, "font-weight": style.fontWeight, fill: style.color, "dominant-baseline": "central" };
  if (!node.matches(".cluster")) return [made("text", { ...words, x: x + (node.querySelector("svg, .dot") ? 20 : 0), y }, node.textContent)];
  return [made("circle", { cx: x + at.width / 2, cy: y, r: at.width / 2, fill: style.backgroundColor, stroke: style.borderTopColor, "stroke-width": 2 }), made("text", { ...words, x: x + at.width / 2, y, "text-anchor": "middle" }, node.textContent)];
});

const sheetOf = (width, height, ...children) => made("svg", { xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}` }, made("rect", { width, height, fill: token("--paper") }), ...children);

/** What a stage shows, as one SVG. */
const ofStage = (stage) => {
  const box = stage.getBoundingClientRect(), sea = stage.querySelector(".map-canvas"), key = stage.querySelector(".legend")?.getBoundingClientRect();
  const parts = [...stage.querySelectorAll("svg")].filter((one) => !one.parentElement.closest("svg, .figure-tools, .leaflet-control, a")).map((one) => {
    const at = one.getBoundingClientRect(), copy_ = drawn(one);
    for (const [name, value] of Object.entries({ x: at.left - box.left, y: at.top - box.top, width: at.width, height: at.height })) copy_.setAttribute(name, value);
    if (!copy_.getAttribute("viewBox")) copy_.setAttribute("viewBox", `0 0 ${at.width} ${at.height}`);
    return copy_;
  });
  const ground = sea ? [made("rect", { width: box.width, height: box.height, fill: getComputedStyle(sea).backgroundColor })] : [];
  return sheetOf(Math.ceil(box.width), Math.ceil(Math.max(box.height, key ? key.bottom - box.top : 0)), ...ground, ...parts, ...overlays(stage, box));
};

/** A table as one SVG, its first rows. */
const ofTable = (table) => {
  const rows = [...table.rows].filter((row) => !row.hidden).slice(0, TABLE_ROWS + 1).map((row) => [...row.cells].filter((cell) => !cell.matches("[aria-hidden], .rest")).map((cell) => [...cell.querySelectorAll("a, span, button")].find((node) => node.textContent.trim())?.textContent.trim().slice(0, LONGEST) ?? cell.textContent.trim().slice(0, LONGEST)));
  const wide = (text) => [...text].reduce((sum, one) => sum + (one.charCodeAt(0) > 0x2e7f ? 13 : 7.2), 22);
  const widths = rows.reduce((all, row) => row.map((text, index) => Math.max(all[index] ?? 40, wide(text))), []), width = Math.ceil(widths.reduce((a, b) => a + b, 16));
  const lines = rows.flatMap((row, line) => row.map((text, index) => made("text", { x: 12 + widths.slice(0, index).reduce((a, b) => a + b, 0), y: 20 + line * CELL, "font-family": "system-ui, sans-serif", "font-size": 13, "font-weight": line ? 400 : 600, fill: token("--ink") }, text)));
  return sheetOf(width, rows.length * CELL + 12, ...lines);
};

const serialised = (svg) => new XMLSerializer().serializeToString(svg);

/** The SVG as a PNG, twice as fine as it is shown. */
const raster = (svg) => new Promise((resolve, reject) => {
  const image = new Image(), canvas = h("canvas", {});
  Object.assign(canvas, { width: svg.getAttribute("width") * SCALE, height: svg.getAttribute("height") * SCALE });
  image.onload = () => { canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height); canvas.toBlob(resolve); };
  image.onerror = reject;
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(serialised(svg))}`;
});

/** The code that shows a query's rows in a view, or one picture of a page, on another page. */
export const snippet = (given, title) => {
  const source = new URL(`/embed?${new URLSearchParams(given)}`, location).href;
  return serialised(h("iframe", { src: source, title, width: "100%", height: String(HEIGHT), style: "border:0", loading: "lazy" })).replace(/ xmlns="[^"]*"/, "");
};

/** The menu of what can be taken: `given` is what `/embed` shows (null: nothing), `shown` the element that is drawn. */
export const sharing = ({ given, title = "", shown, api = () => ({}), name = "picture" }) => {
  const canvas = () => shown().querySelector?.("canvas"), svg = () => { const one = shown(); return one.matches("table") ? ofTable(one) : ofStage(one); };
  const item = (words, run) => h("li", {}, h("button", { type: "button", onclick: async (event) => { const menu = event.currentTarget.closest("details"); await run(); menu.open = false; menu.querySelector("summary").focus(); } }, words));
  const list = h("ul", {},
    given() ? item(t("embed_code"), async () => { await copy(snippet(given(), title)); live(t("embed_copied")); }) : null,
    item(t("save_png"), async () => save(`${name}.png`, canvas() ? await api().png() : await raster(svg()))));
  const menu = h("details", { class: "menu right share" }, h("summary", { class: "button small" }, t("share_picture")), list);
  menu.addEventListener("toggle", () => { // a graph is drawn on a canvas, of which there is no SVG
    if (menu.open && list.children.length < 3 && !canvas()) list.append(item(t("save_svg"), () => save(`${name}.svg`, serialised(svg()), "image/svg+xml")));
  });
  return menu;
};
