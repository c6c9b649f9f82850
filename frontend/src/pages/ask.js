// An answer: its steps one by one, the passage behind a citation in place, the view that fits its rows.
import { calm, h, live, on } from "../lib/dom.js";
import { show } from "../lib/figures.js";
import { number, t } from "../lib/words.js";
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

/** The picture for the rows, by their datatypes: a map, a chart, a time line or a graph; none where a table says it best. */
const picture = (rows) => {
  const { best, can } = fitting(rows);
  if (best === "map") return ["map", mapData(rows, rows.query)];
  if (best === "timeline") return ["timeline", timelineData(rows, rows.query)];
  if (best === "chart") return ["chart", chartData(rows, rows.query, chartDefaults(rows))];
  const tied = rows.columns.filter(({ kind }) => kind === "thing").length > 1;
  return can.graph && tied && rows.rows.length <= MOST_EDGES_ROWS ? ["graph", graphData(rows, rows.query)] : null;
};

const drawing = async (root) => {
  const figure = root.querySelector("figure[data-fit]"), data = document.getElementById("rows");
  if (!figure || !data) return;
  const found = picture(JSON.parse(data.textContent));
  figure.dataset.view = found ? found[0] : "table";
  figure.dataset.started = "yes";
  await show(figure, found ? found[1] : null);
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

/** `calmly`: the steps were seen as they were taken, and need not come one by one again. */
export const start = async (root, { calmly = false } = {}) => {
  if (!calmly) steps(root);
  citing(root);
  paging(root);
  following(root);
  try { await drawing(root); } finally { root.dataset.started = "yes"; }
};
