// One view on another page: the rows of a query, or one picture of a page; links open in a window of their own.
import { h } from "../lib/dom.js";
import { show, startAll } from "../lib/figures.js";
import { t } from "../lib/words.js";
import { chartData, chartDefaults, fitting, graphData, mapData, timelineData } from "../query/fits.js";
import { rowsTable } from "../query/rows.js";
import { Running } from "../query/running.js";

const DATA = { map: mapData, graph: graphData, timeline: timelineData, chart: (result, query) => chartData(result, query, chartDefaults(result)) };

const ofQuery = async (root, given) => {
  const query = given.get("query"), result = await new Running().run(query), { can, best } = fitting(result), wanted = given.get("view") || best;
  const view = can[wanted] && (DATA[wanted] || wanted === "table") ? wanted : "table";
  if (view === "table") { root.replaceChildren(); rowsTable(root, result); return; }
  const figure = h("figure", { class: "view", dataset: { view, height: String(Math.max(240, innerHeight - 90)) } });
  root.replaceChildren(figure);
  await result.named?.();
  await show(figure, { ...DATA[view](result, query), query: undefined });
};

const ofPage = async (root, given) => {
  const text = await fetch(given.get("page")).then((answer) => (answer.ok ? answer.text() : "")), page = new DOMParser().parseFromString(text, "text/html");
  const figure = page.querySelectorAll("figure[data-view]:not([data-view=table])")[Number(given.get("figure")) || 0];
  if (!figure) throw new Error(t("nothing_to_show"));
  figure.dataset.height = String(Math.max(240, innerHeight - 120));
  root.replaceChildren(document.adoptNode(figure));
  await startAll(root);
};

export const start = async (root) => {
  const given = new URLSearchParams(location.search);
  root.addEventListener("kgp:pick", (event) => { event.preventDefault(); if (event.detail.item?.href) open(event.detail.item.href, "_blank", "noopener"); });
  try { await (given.get("query") ? ofQuery : ofPage)(root, given); } catch (problem) { root.replaceChildren(h("p", { class: "empty" }, problem.detail || problem.message)); }
};
