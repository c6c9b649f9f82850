// Tables that the server rendered: sorting by a click on the head, a filter, copy and CSV.
import { copy, h, later, live, save } from "../lib/dom.js";
import { language, number, t } from "../lib/words.js";
import { Facets } from "./facets.js";

const FILTERED_FROM = 10;
const collator = new Intl.Collator(language === "zh" ? "zh" : "en", { numeric: true, sensitivity: "base" });

const valueOf = (cell) => cell?.dataset.value ?? cell?.textContent.trim() ?? "";
const numeric = (text) => (text === "" ? null : Number(text.replaceAll(",", "")));

/** Orders two cells' texts: numbers by size, the rest by the alphabet of the language; what is empty comes last. */
export const compare = (a, b) => {
  if (a === b) return 0;
  if (a === "") return 1;
  if (b === "") return -1;
  const [x, y] = [numeric(a), numeric(b)];
  return Number.isFinite(x) && Number.isFinite(y) ? x - y : collator.compare(a, b);
};

export const csv = (rows) => rows.map((row) => row.map((cell) => (/[",\n\r]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(",")).join("\r\n");

export const draw = (figure) => {
  const table = figure.querySelector("table"), body = table?.tBodies[0];
  if (!body) return {};
  const heads = [...table.tHead.rows[0].cells], rows = [...body.rows];
  const sort = (index) => {
    const head = heads[index], up = head.getAttribute("aria-sort") !== "ascending";
    heads.forEach((one) => one.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const sorted = rows.map((row) => [valueOf(row.cells[index]), row]).sort(([a], [b]) => (a === "" || b === "" ? compare(a, b) : up ? compare(a, b) : compare(b, a)));
    body.append(...sorted.map(([, row]) => row));
  };
  heads.forEach((head, index) => {
    if (!head.textContent.trim() || head.hasAttribute("aria-hidden") || head.dataset.sort === "no") return;
    head.replaceChildren(h("button", { type: "button", class: "sort", title: t("sort", { column: head.textContent.trim() }), onclick: () => sort(index) }, ...head.childNodes));
  });
  const bar = h("p", { class: "table-bar" });
  const shown = { wanted: "", facets: figure.matches(".rows") ? facetsOf(rows, heads, () => apply(rows, shown)) : null };
  if (rows.length >= FILTERED_FROM) bar.append(...filter(rows, shown));
  if (shown.facets) { bar.append(shown.facets.bar); apply(rows, shown); }
  const seen = () => [heads, ...[...body.rows].filter((row) => !row.hidden).map((row) => [...row.cells])].map((cells) => cells.filter((cell) => !cell.hasAttribute("aria-hidden")).map((cell) => cell.textContent.trim()));
  bar.append(
    h("button", { type: "button", class: "small", onclick: (event) => copy(seen().map((row) => row.join("\t")).join("\n"), event.currentTarget, t("copied")) }, t("copy_table")),
    h("button", { type: "button", class: "small", onclick: () => save(`${figure.dataset.name ?? "table"}.csv`, `\ufeff${csv(seen())}\r\n`, "text/csv;charset=utf-8") }, "CSV"),
  );
  (table.closest(".scroll") ?? table).before(bar);
  return {};
};

/** The facets of an answer's rows; the address holds what is chosen. */
const facetsOf = (rows, heads, changed) => {
  const named = heads.map((head) => (head.hasAttribute("aria-hidden") || head.querySelector(".hidden") ? "" : head.textContent.trim()));
  const address = (facet) => { const url = new URL(location.href); url.searchParams.delete("facet"); facet.forEach((one) => url.searchParams.append("facet", one)); return url.pathname + url.search; };
  return new Facets({
    columns: named, rows, text: (row, index) => row.cells[index]?.textContent.trim() ?? "", chosen: new URLSearchParams(location.search).getAll("facet"), address,
    changed: (facet) => { history.replaceState(history.state, "", address(facet)); changed(); },
  });
};

/** Shows the rows that hold the text looked for and the values chosen; gives how many. */
const apply = (rows, { wanted, facets }) => rows.filter((row) => {
  row.hidden = !(row.textContent.toLowerCase().includes(wanted) && (facets?.passes(row) ?? true));
  return !row.hidden;
}).length;

const filter = (rows, shown) => {
  const count = h("span", { class: "faint" });
  const narrow = later((wanted) => {
    shown.wanted = wanted;
    const found = apply(rows, shown);
    count.textContent = wanted ? t("filtered", { n: number(found), total: number(rows.length) }) : "";
    live(count.textContent);
  }, 120);
  return [h("input", { type: "search", class: "filter", "aria-label": t("filter"), placeholder: t("filter"), oninput: (event) => narrow(event.currentTarget.value.trim().toLowerCase()) }), count];
};
