// Graphs: Cytoscape with fCoSE, or columns for what has an order. Colours come from the stylesheet's tokens.
import cytoscape from "cytoscape";
import fcose from "cytoscape-fcose";
import { calm, h, safe, save } from "../lib/dom.js";
import { colour, colourOf, legend, look, token } from "../lib/classes.js";
import { pick } from "../lib/figures.js";
import { number, t } from "../lib/words.js";
import { layers, stacked } from "../lib/layers.js";

cytoscape.use(fcose);
const MOST = 300, NARROW = 560, TALLEST = 2400, MOTION = 150;

export const table = (data) => {
  const names = new Map(data.nodes.map((node) => [node.id, node.label]));
  return {
    columns: [t("from"), t("relation"), t("to")],
    rows: data.edges.length
      ? data.edges.map((edge) => [names.get(edge.source) ?? edge.source, edge.label ?? "", names.get(edge.target) ?? edge.target])
      : data.nodes.map((node) => [node.label, "", ""]),
  };
};

const elements = (data) => {
  const nodes = data.nodes.slice(0, MOST), ids = new Set(nodes.map((node) => node.id));
  const groups = new Set(nodes.map((node) => node.group).filter((group) => group && !ids.has(group)));
  const degree = new Map();
  for (const edge of data.edges) for (const end of [edge.source, edge.target]) degree.set(end, (degree.get(end) ?? 0) + 1);
  const of = colourOf(data);
  return [
    ...[...groups].map((id) => ({ group: "nodes", data: { id: `group ${id}`, label: id }, classes: "holder" })),
    ...nodes.map((node) => ({
      group: "nodes",
      data: {
        id: node.id, label: node.label, item: node, color: of(node), parent: node.group ? `group ${node.group}` : undefined,
        weight: Math.min(2.2, node.size ?? 1 + Math.log2(1 + (degree.get(node.id) ?? 0)) / 8),
      },
      position: Number.isFinite(node.x) && Number.isFinite(node.y) ? { x: node.x, y: node.y } : undefined,
      classes: [node.focus ? "focus" : "", node.faded ? "faded" : ""].join(" "),
    })),
    ...data.edges.filter((edge) => ids.has(edge.source) && ids.has(edge.target)).map((edge, index) => ({
      group: "edges",
      data: { id: `edge ${index}`, source: edge.source, target: edge.target, label: edge.label ?? "", item: edge, weight: Math.min(4, edge.weight ?? 1) },
      classes: edge.kind ?? "",
    })),
  ];
};

const styles = (many, grow = 1) => {
  const ink = token("--ink"), second = token("--second"), paper = token("--paper"), line = token("--graph-line"), accent = token("--accent");
  const sans = "system-ui, sans-serif";
  return [
    { selector: "node", style: {
      label: "data(label)", "font-family": sans, "font-size": 11 * Math.min(grow, 1.6), color: ink, "text-valign": "bottom", "text-margin-y": 4, "text-wrap": "ellipsis", "text-max-width": 110,
      "text-background-color": paper, "text-background-opacity": 0.8, "text-background-padding": 1, "min-zoomed-font-size": many ? 9 : 6,
      "background-color": (node) => colour(node.data("color")), shape: (node) => look(node.data("color")).shape,
      width: (node) => 15 * grow * node.data("weight"), height: (node) => 15 * grow * node.data("weight"), "border-width": 0, "overlay-padding": 4, "overlay-color": accent,
    } },
    { selector: "node.focus", style: { "border-width": 3, "border-color": token("--source"), "font-weight": 600, "font-size": 13 } },
    { selector: "node.holder", style: { shape: "round-rectangle", "background-color": token("--sunk"), "background-opacity": 0.7, "border-width": 1, "border-color": token("--line"), "text-valign": "top", color: second, padding: 12 } },
    { selector: ".faded", style: { opacity: 0.3 } },
    { selector: "edge", style: {
      width: (edge) => grow * edge.data("weight"), "line-color": line, "target-arrow-color": line, "target-arrow-shape": "triangle", "arrow-scale": 0.7 * Math.min(grow, 1.5), "curve-style": "bezier",
      label: many ? "" : "data(label)", "font-family": sans, "font-size": 9, color: second, "text-rotation": "autorotate", "text-background-color": paper, "text-background-opacity": 0.85, "text-background-padding": 1, "min-zoomed-font-size": 8,
    } },
    { selector: "edge.inferred", style: { "line-style": "dashed", "line-dash-pattern": [5, 4] } },
    { selector: "edge.weak", style: { opacity: 0.45 } },
    { selector: "edge.near", style: { label: "data(label)", "line-color": accent, "target-arrow-color": accent, color: ink, "z-index": 9 } },
    { selector: "node.near", style: { "border-width": 2, "border-color": accent } },
    { selector: ".picked", style: { "border-width": 3, "border-color": token("--source") } },
  ];
};

const layout = (data, count) => {
  const common = { animate: false, padding: 24 };
  if (data.layout === "preset") return { name: "preset", ...common };
  if (data.layout === "keep") { // what was there stays, what is new finds its place
    const fixed = data.nodes.filter((node) => node.fixed).map((node) => ({ nodeId: node.id, position: { x: node.x, y: node.y } }));
    return { name: "fcose", quality: "proof", randomize: false, fixedNodeConstraint: fixed, nodeDimensionsIncludeLabels: count <= 60, idealEdgeLength: 80, nodeRepulsion: 6500, packComponents: false, ...common };
  }
  if (data.layout === "layers") return { name: "preset", positions: layers(data), ...common };
  if (data.layout === "radial") {
    const focus = data.nodes.find((node) => node.focus)?.id;
    return { name: "concentric", concentric: (node) => (node.id() === focus ? 10 : node.degree() > 3 ? 2 : 1), levelWidth: () => 1, minNodeSpacing: 40, ...common };
  }
  return { name: "fcose", quality: count > 150 ? "default" : "proof", numIter: count > 150 ? 1000 : 2500, randomize: true, nodeDimensionsIncludeLabels: count <= 60, nodeSeparation: count > 60 ? 60 : 90, idealEdgeLength: count > 60 ? 42 : 80, nodeRepulsion: count > 60 ? 4500 : 6500, packComponents: true, ...common };
};

/** Random numbers that are the same each time, so that a graph looks the same each time. */
const steadily = (run) => {
  const random = Math.random;
  let state = 42;
  Math.random = () => { state = (state * 1664525 + 1013904223) >>> 0; return state / 4294967296; };
  try { return run(); } finally { Math.random = random; }
};

/** What is new grows out of what it hangs on, and the view follows; nothing moves for those who do not want that. */
const grown = (cy, data) => {
  if (!data.view || calm()) return;
  const zoom = cy.zoom(), pan = { ...cy.pan() };
  cy.viewport(data.view);
  cy.animate({ zoom, pan }, { duration: MOTION });
  for (const { id, from } of data.nodes) {
    const node = cy.getElementById(id);
    if (!from || !node.length) continue;
    const position = { ...node.position() };
    node.position({ ...from }).style("opacity", 0);
    node.animate({ position, style: { opacity: 1 } }, { duration: MOTION, complete: () => node.removeStyle("opacity") });
  }
};

/** On a narrow page layers go down it, at a size that can be read; the picture is as tall as they need. */
const narrowed = (stage, data) => {
  if (data.layout !== "layers" || stage.clientWidth >= NARROW) return null;
  const { positions, height } = stacked(data, stage.clientWidth - 96);
  stage.style.height = `${Math.min(TALLEST, Math.max(200, height + 130))}px`;
  return { name: "preset", positions, animate: false, padding: 48 };
};

export const draw = (stage, data, { figure }) => {
  if (!data.nodes?.length) { stage.style.height = ""; stage.append(h("p", { class: "empty" }, t("nothing_to_show"))); return {}; }
  const nodes = Math.min(MOST, data.nodes.length), many = data.edges.length > 60;
  if (data.nodes.length > MOST) data.total ??= { nodes: data.nodes.length };
  const canvas = h("div", { class: "canvas", role: "img", "aria-label": t("graph_of", { n: number(nodes), m: number(data.edges.length) }) });
  stage.append(canvas);
  const narrow = narrowed(stage, data);
  const cy = cytoscape({ container: canvas, elements: elements({ ...data, nodes: data.nodes.slice(0, MOST) }), style: styles(many), minZoom: 0.1, maxZoom: 4, boxSelectionEnabled: false, userZoomingEnabled: false, userPanningEnabled: !narrow, autoungrabify: Boolean(narrow) }); // a finger on a tall picture scrolls the page
  steadily(() => cy.layout(narrow ?? layout(data, nodes)).run());
  if (cy.zoom() > 1.3) { cy.zoom(1.3); cy.center(); }
  const grow = Math.max(1, Math.min(2.2, 0.52 / cy.zoom())); // what is seen from far is drawn larger
  if (grow > 1) cy.style(styles(many, grow));
  grown(cy, data);
  listen(cy, figure, stage);
  const api = {
    cy,
    fit: () => (calm() ? cy.fit(undefined, 24) : cy.animate({ fit: { padding: 24 }, duration: 150 })),
    highlight: (ids) => { const wanted = new Set(ids); cy.nodes().forEach((node) => { node.toggleClass("picked", wanted.has(node.id())); }); },
    png: () => cy.png({ output: "blob", scale: 2, bg: token("--paper"), full: true }),
    restyle: () => cy.style(styles(many, grow)),
    here: () => ({ zoom: cy.zoom(), pan: { ...cy.pan() } }),
    restore: (place) => cy.viewport(place),
    destroy: () => { watch.disconnect(); cy.destroy(); },
  };
  const watch = new ResizeObserver(() => { cy.resize(); });
  watch.observe(canvas);
  stage.append(tools(cy, api));
  const used = new Set(data.nodes.slice(0, MOST).map((node) => node.class ?? null));
  const key = data.legend === false ? null : legend(data.classes, used); // where each node says its class
  if (key) stage.append(key);
  return api;
};

const listen = (cy, figure, stage) => {
  cy.on("tap", "node", (event) => {
    const item = event.target.data("item");
    if (item) pick(figure, item.id, { ...item, href: safe(item.href) });
  });
  cy.on("mouseover", "node", (event) => {
    const node = event.target;
    node.addClass("near").connectedEdges().addClass("near");
    stage.title = [node.data("item")?.title ?? node.data("label"), node.data("item")?.note].filter(Boolean).join("\n");
    stage.style.cursor = node.data("item")?.href ? "pointer" : "";
  });
  cy.on("mouseover", "edge", (event) => { event.target.addClass("near"); stage.title = event.target.data("item").title ?? event.target.data("label"); });
  cy.on("mouseout", "node, edge", () => { cy.elements(".near").removeClass("near"); stage.title = ""; stage.style.cursor = ""; });
  // the wheel scrolls the page; with Ctrl, or after a click into the picture, it zooms
  stage.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const box = stage.getBoundingClientRect();
    cy.zoom({ level: cy.zoom() * Math.exp(-event.deltaY / 300), renderedPosition: { x: event.clientX - box.left, y: event.clientY - box.top } });
  }, { passive: false });
};

const tools = (cy, api) => {
  const zoom = (by) => cy.zoom({ level: cy.zoom() * by, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
  const button = (text, label, run) => h("button", { type: "button", class: "small", "aria-label": /\w/.test(text) && text !== label ? `${text}: ${label}` : label, title: label, onclick: run }, text);
  return h("div", { class: "figure-tools" },
    button("+", t("zoom_in"), () => zoom(1.3)), button("−", t("zoom_out"), () => zoom(1 / 1.3)),
    button(t("fit"), t("fit"), api.fit), button("PNG", t("save_picture"), () => save("graph.png", api.png())));
};
