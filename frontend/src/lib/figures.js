// Pictures: <figure data-view="…"> with data from `data-src` or a JSON child, a twin for those who do not see it, its query.
import { getJSON } from "./api.js";
import { at, h, live } from "./dom.js";
import { sharing } from "./sharing.js";
import { number, t } from "./words.js";

const shown = new WeakMap();

const twinOf = (figure) => figure.querySelector(":scope > details.twin") ?? fold(figure);

/** Folds what the server rendered under the picture; what there is none of is made from the data later. */
const fold = (figure) => {
  const kept = [...figure.children].filter((node) => !node.matches("figcaption, script, .stage, .under-figure, template"));
  const isList = kept.some((node) => node.matches("ul, ol"));
  const twin = h("details", { class: "twin" }, h("summary", {}, t(isList ? "as_list" : "as_table")), ...kept);
  twin.dataset.given = kept.length ? "yes" : "no";
  figure.append(twin);
  return twin;
};

const stageOf = (figure) => {
  let stage = figure.querySelector(":scope > .stage");
  if (!stage) {
    stage = h("div", { class: "stage" });
    const caption = figure.querySelector(":scope > figcaption");
    caption ? caption.after(stage) : figure.prepend(stage);
  }
  return stage;
};

export const queryLink = (query) => h("a", { class: "quiet", href: `/query?query=${encodeURIComponent(query)}` }, t("show_query"));

const isEmbedded = location.pathname === "/embed";

/** The address that brings a picture back on another page: the rows of an answer by their query, else its place on this page. */
const shareOf = (figure, kind) => {
  const rows = figure.matches("[data-fit]") ? JSON.parse(document.getElementById("rows").textContent) : null;
  if (rows) return { query: rows.query, view: kind };
  const at = [...document.querySelectorAll("figure[data-view]:not([data-view=table])")].indexOf(figure);
  return at < 0 || figure.closest("[data-page=query], .row-path-holder") ? null : { page: location.pathname + location.search, figure: String(at) };
};

const share = (figure, kind) => sharing({ given: () => shareOf(figure, kind), title: figure.querySelector(":scope > figcaption")?.textContent.trim() || document.title, shown: () => figure.querySelector(":scope > .stage"), api: () => shown.get(figure), name: kind });

/** The lines under a picture: what was left out, a note, and the query it comes from. */
const under = (figure, data, kind) => {
  figure.querySelector(":scope > .under-figure")?.remove();
  const query = data.query ?? figure.dataset.query;
  const said = [];
  const nodes = data.nodes?.length ?? 0, points = data.points?.length ?? 0;
  if (kind === "graph" && data.total?.nodes > nodes) said.push(t("shown_nodes", { n: number(nodes), total: number(data.total.nodes) }));
  if (kind === "map" && data.total?.points > points) said.push(t("shown_points", { n: number(points), total: number(data.total.points) }));
  if (data.note) said.push(data.note);
  const line = h("div", { class: "under-figure" }, said.length ? h("span", {}, said.join(" ")) : null, query ? queryLink(query) : null, isEmbedded ? null : share(figure, kind));
  figure.querySelector(":scope > details.twin").before(line);
};

const dataTable = (columns, rows) => h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t("as_table") },
  h("table", {}, h("thead", {}, h("tr", {}, columns.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell) => h("td", {}, cell)))))));

/** Draws data into a figure, in place of what it showed; gives what the view can do. */
export const show = async (figure, data) => {
  shown.get(figure)?.destroy?.();
  shown.delete(figure);
  const kind = figure.dataset.view;
  const twin = kind === "table" ? null : twinOf(figure);
  const stage = kind === "table" ? figure : stageOf(figure);
  figure.classList.remove("failed");
  try {
    const view = await import(`../views/${kind}.js`);
    if (kind !== "table") {
      stage.replaceChildren();
      stage.style.height = kind === "chart" || kind === "timeline" ? "" : `${Number(figure.dataset.height) || 360}px`;
    }
    const api = (await view.draw(stage, data, { figure, height: Number(figure.dataset.height) || 360 })) ?? {};
    shown.set(figure, api);
    const key = stage.querySelector(":scope > .canvas ~ .legend"); // below the picture, in as many lines as it takes
    stage.style.marginBottom = key ? `${Math.max(36, key.offsetHeight + 16)}px` : "";
    if (twin) {
      if (twin.dataset.given === "no" && view.table) {
        const { columns, rows } = view.table(data);
        twin.replaceChildren(twin.querySelector("summary"), dataTable(columns, rows.slice(0, 1000)));
        twin.hidden = !rows.length;
      }
      under(figure, data, kind);
    }
    figure.dispatchEvent(new CustomEvent("kgp:view", { bubbles: true, detail: { api, data } }));
    return api;
  } catch (error) {
    if (error.name === "AbortError") return {};
    failed(figure, stage, twin, error);
    return {};
  }
};

const failed = (figure, stage, twin, error) => {
  console.warn(error);
  figure.classList.add("failed");
  const line = h("p", { class: "faint" }, t("no_picture", { why: error.detail || error.message }));
  if (twin) { stage.style.height = ""; stage.replaceChildren(line); twin.open = twin.dataset.given === "yes"; }
  live(line.textContent);
};

/** What a figure brings with it: inline JSON, or the answer of its address. */
const dataOf = async (figure) => {
  const inline = figure.querySelector(":scope > script[type='application/json']");
  if (inline) return JSON.parse(inline.textContent);
  return figure.dataset.src ? getJSON(figure.dataset.src) : null;
};

const begin = async (figure) => {
  if (figure.dataset.view === "table") return show(figure, null);
  const twin = twinOf(figure), stage = stageOf(figure);
  if (figure.dataset.view !== "chart") stage.style.height = `${Number(figure.dataset.height) || 360}px`;
  try {
    const data = await dataOf(figure);
    return data ? show(figure, data) : {};
  } catch (error) {
    failed(figure, stage, twin, error);
    return {};
  }
};

/** Starts every picture below the root, each when it comes near the window; the promise is of those in sight. */
export const startAll = (root = document) => {
  const figures = [...root.querySelectorAll("figure[data-view]")].filter((figure) => !figure.dataset.started);
  const near = (figure) => figure.getBoundingClientRect().top < innerHeight + 400;
  const wait = new IntersectionObserver((seen) => {
    for (const { target, isIntersecting } of seen) if (isIntersecting) { wait.unobserve(target); begin(target); }
  }, { rootMargin: "400px" });
  return Promise.all(figures.map((figure) => {
    figure.dataset.started = "yes";
    if (near(figure)) return begin(figure);
    wait.observe(figure);
    return null;
  }));
};

/** Draws all pictures again, for another theme. */
export const redraw = () => document.querySelectorAll("figure[data-view]").forEach((figure) => shown.get(figure)?.restyle?.());

/** Tells the page that a thing was chosen; follows its link unless somebody minds. */
export const pick = (figure, id, item) => {
  const event = new CustomEvent("kgp:pick", { bubbles: true, cancelable: true, detail: { id, item } });
  if (figure.dispatchEvent(event) && item?.href) location.assign(at(item.href));
};
