// Tables that the server rendered: sorting by a click on the head, a filter, copy and CSV.
import { copy, h, later, live, save } from "../lib/dom.js";
import { language, number, t } from "../lib/words.js";

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
  if (rows.length >= FILTERED_FROM) bar.append(...filter(rows));
  const seen = () => [heads, ...[...body.rows].filter((row) => !row.hidden).map((row) => [...row.cells])].map((cells) => cells.filter((cell) => !cell.hasAttribute("aria-hidden")).map((cell) => cell.textContent.trim()));
  bar.append(
    h("button", { type: "button", class: "small", onclick: (event) => copy(seen().map((row) => row.join("\t")).join("\n"), event.currentTarget, t("copied")) }, t("copy_table")),
    h("button", { type: "button", class: "small", onclick: () => save(`${figure.dataset.name ?? "table"}.csv`, `\ufeff${csv(seen())}\r\n`, "text/csv;charset=utf-8") }, "CSV"),
  );
  (table.closest(".scroll") ?? table).before(bar);
  return {};
};

const filter = (rows) => {
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const count = h("span", { class: "faint" });
  const apply = later((wanted) => {
    let shown = 0;
    rows.forEach((row, index) => { row.hidden = !texts[index].includes(wanted); shown += row.hidden ? 0 : 1; });
    count.textContent = wanted ? t("filtered", { n: number(shown), total: number(rows.length) }) : "";
    live(count.textContent);
  }, 120);
  return [h("input", { type: "search", class: "filter", "aria-label": t("filter"), placeholder: t("filter"), oninput: (event) => apply(event.currentTarget.value.trim().toLowerCase()) }), count];
};
