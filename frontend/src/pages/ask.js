// An answer: its steps one by one, the passage behind a citation in place, the view that fits its rows.
import { calm, h, live, on } from "../lib/dom.js";
import { show, startAll } from "../lib/figures.js";
import { sharing } from "../lib/sharing.js";
import { number, t } from "../lib/words.js";
import { draw as drawTable } from "../views/table.js";
import { chartData, chartDefaults, fitting, graphData, mapData, timelineData } from "../query/fits.js";

const STEP_MILLISECONDS = 140, MOST_EDGES_ROWS = 60, SOURCES_ON_A_PAGE = 8;

const steps = (root) => {
  const list = root.querySelector(".steps");
  if (!list || calm()) return;
  list.classList.add("waiting");
  [...list.children].forEach((item, index) => setTimeout(() => item.classList.add("come"), index * STEP_MILLISECONDS));
};

/** Opens the passage below the sentence that cites it; again closes it. */
const citing = (root) => {
  let open = null;
  const close = () => { open?.card.remove(); open?.mark.setAttribute("aria-expanded", "false"); open = null; };
  root.querySelectorAll(".answer .mark").forEach((mark) => mark.setAttribute("aria-expanded", "false"));
  on(root, "click", ".answer .mark", (event, mark) => {
    if (event.ctrlKey || event.metaKey) return;
    const source = document.getElementById(mark.hash.slice(1));
    if (!source) return;
    event.preventDefault();
    const again = open?.mark === mark;
    close();
    if (again) return;
    const link = source.querySelector("a"), quote = source.querySelector("blockquote");
    const card = h("div", { class: "cited", role: "note", "aria-label": t("source", { n: mark.textContent }) },
      h("p", {}, h("b", {}, link.textContent), h("button", { type: "button", class: "small", onclick: () => { mark.focus(); close(); } }, t("close"))),
      quote.cloneNode(true), h("a", { href: link.getAttribute("href") }, t("open_document")));
    root.querySelector(".answer").after(card);
    mark.setAttribute("aria-expanded", "true");
    open = { mark, card };
    live(quote.innerText);
  });
  root.addEventListener("keydown", (event) => { if (event.key === "Escape" && open) { open.mark.focus(); close(); } });
};

/** Shows the sources a page at a time, in place of the fold that holds the further ones without scripts; a mark turns to its page. */
const paging = (root) => {
  const section = root.querySelector(".sources-paged"), list = section?.querySelector("ol"), fold = section?.querySelector("details");
  if (!fold) return;
  list.append(...fold.querySelectorAll("li"));
  fold.remove();
  const items = [...list.children], last = Math.ceil(items.length / SOURCES_ON_A_PAGE) - 1;
  let page = 0;
  const said = h("span", { class: "faint", role: "status" });
  const step = (by, words) => h("button", { type: "button", class: "small", onclick: () => turn(page + by) }, words);
  const back = step(-1, `← ${t("earlier_page")}`), forth = step(1, `${t("later_page")} →`);
  const turn = (wanted) => {
    page = Math.max(0, Math.min(last, wanted));
    const first = page * SOURCES_ON_A_PAGE, end = Math.min(items.length, first + SOURCES_ON_A_PAGE);
    items.forEach((item, index) => { item.hidden = index < first || index >= end; });
    back.disabled = page === 0;
    forth.disabled = page === last;
    said.textContent = t("some_of", { a: number(first + 1), b: number(end), n: number(items.length) });
  };
  const follow = (hash) => {
    const at = items.findIndex((item) => `#${item.id}` === hash);
    if (at >= 0) turn(Math.floor(at / SOURCES_ON_A_PAGE));
    return at >= 0;
  };
  list.after(h("p", { class: "buttons paging" }, back, said, forth));
  on(root, "click", "a.mark", (event, mark) => follow(mark.hash));
  addEventListener("hashchange", () => follow(location.hash));
  if (follow(location.hash)) document.getElementById(location.hash.slice(1)).scrollIntoView();
  else turn(0);
};

/** The data of each picture of rows. */
const DATA = {
  chart: (rows) => chartData(rows, rows.query, chartDefaults(rows)), map: (rows) => mapData(rows, rows.query),
  graph: (rows) => graphData(rows, rows.query), timeline: (rows) => timelineData(rows, rows.query),
};

/** The views that rows have, and the one that says them best by their datatypes: a picture, or the table. */
const viewsOf = (rows) => {
  const { best, can } = fitting(rows), tied = rows.columns.filter(({ kind }) => kind === "thing").length > 1;
  const views = ["table", ...Object.keys(DATA).filter((name) => can[name] && (name !== "graph" || tied))];
  const first = views.includes(best) && best !== "table" ? best : views.includes("graph") && rows.rows.length <= MOST_EDGES_ROWS ? "graph" : "table";
  return { views, first };
};

/** Shows the rows in a view: the table beside a map, folded below another picture, or alone. */
const turn = async (figure, rows, view) => {
  figure.dataset.view = view;
  figure.querySelectorAll(":scope > :is(.stage, .under-figure)").forEach((node) => { node.hidden = view === "table"; });
  if (view !== "table") await show(figure, DATA[view](rows));
  const twin = figure.querySelector(":scope > .twin");
  if (twin) twin.open = view === "table" || view === "map";
};

const drawing = async (root) => {
  const figure = root.querySelector("figure[data-fit]"), data = document.getElementById("rows");
  if (!figure || !data) return;
  const rows = JSON.parse(data.textContent), { views, first } = viewsOf(rows), wanted = new URLSearchParams(location.search).get("show");
  figure.dataset.started = "yes";
  drawTable(figure);
  const buttons = views.map((name) => h("button", { type: "button", dataset: { view: name }, onclick: () => choose(name, true) }, t(`view_${name}`)));
  const choose = (name, byReader) => {
    buttons.forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.view === name)));
    if (byReader) {
      const url = new URL(location.href);
      url.searchParams.set("show", name);
      history.replaceState(history.state, "", url);
      live(t(`view_${name}`));
    }
    return turn(figure, rows, name);
  };
  if (views.length > 1) figure.before(h("p", { class: "tabs", role: "group", "aria-label": t("result") }, buttons));
  await choose(views.includes(wanted) ? wanted : first, false);
};

/** Beside the downloads of a table: what embeds it, and its image. */
const taking = (root) => {
  const line = root.querySelector("figure.rows ~ .downloads"), query = document.getElementById("rows");
  if (line && query) line.append(sharing({ given: () => ({ query: JSON.parse(query.textContent).query, view: "table" }), title: root.querySelector("h1")?.textContent ?? "", shown: () => root.querySelector("figure.rows table"), name: "answer" }));
};

/** The follow-ups that the graph answers, in place of the link to them; they are looked for when the answer is there. */
const following = async (root) => {
  const section = root.querySelector("[data-next]"), link = section?.querySelector("a");
  if (!link) return;
  try {
    const text = await fetch(link.href).then((answer) => (answer.ok ? answer.text() : ""));
    const list = new DOMParser().parseFromString(text, "text/html").querySelector("#next");
    list ? section.replaceChildren(h("h2", {}, link.textContent), document.adoptNode(list)) : section.remove();
  } catch { /* the link stays */ }
};

/** The path of a row, drawn below the rows; the same link again takes it away. */
const pathing = (root) => {
  let open = null;
  const close = () => { open?.holder.remove(); open?.link.setAttribute("aria-expanded", "false"); open = null; };
  root.querySelectorAll("a[data-path]").forEach((link) => link.setAttribute("aria-expanded", "false"));
  on(root, "click", "a[data-path]", async (event, link) => {
    if (event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const again = open?.link === link;
    close();
    if (again) return;
    try {
      const text = await fetch(link.href).then((answer) => (answer.ok ? answer.text() : ""));
      const figure = new DOMParser().parseFromString(text, "text/html").querySelector("figure.row-path");
      if (!figure) { location.assign(link.href); return; }
      const holder = h("section", { class: "row-path-holder", "aria-live": "polite" }, document.adoptNode(figure), h("button", { type: "button", class: "small", onclick: () => { link.focus(); close(); } }, t("close")));
      (root.querySelector("figure.rows") ?? link.closest("p")).after(holder);
      link.setAttribute("aria-expanded", "true");
      open = { link, holder };
      await startAll(holder);
      holder.scrollIntoView({ block: "nearest", behavior: calm() ? "auto" : "smooth" });
    } catch { location.assign(link.href); }
  });
};

/** `calmly`: the steps were seen as they were taken, and need not come one by one again. */
export const start = async (root, { calmly = false } = {}) => {
  if (!calmly) steps(root);
  citing(root);
  paging(root);
  following(root);
  pathing(root);
  taking(root);
  try { await drawing(root); } finally { root.dataset.started = "yes"; }
};
