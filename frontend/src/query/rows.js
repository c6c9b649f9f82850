// The table of a result: labels in place of IRIs, sorting, a filter; rows are added as one scrolls to them.
import { at, copy, h, later, live, safe } from "../lib/dom.js";
import { language, number, t } from "../lib/words.js";
import { Facets } from "../views/facets.js";
import { compare } from "../views/table.js";
import { words } from "./fits.js";

const PIECE = 150;

const full = (term) => {
  if (!term) return "";
  if (term.k === "thing") return `<${term.v}>`;
  if (term.k === "blank" || term.k === "statement") return term.v;
  return `"${term.v}"${term.g ? `@${term.g}` : term.d ? `^^${term.d}` : ""}`;
};

const plain = (term, named) => (term?.k === "thing" && !named ? term.n : words(term));

const cell = (term, named) => {
  if (!term) return h("span", { class: "nothing", "aria-label": t("empty_cell") }, "–");
  const text = plain(term, named), href = term.k === "thing" ? safe(term.h) : null;
  const tag = term.g && named && term.g.split("-")[0] !== language && term.k !== "thing" ? h("sup", { class: "lang" }, term.g) : null;
  const lang = term.g ? term.g : null;
  return [href ? h("a", { href, title: term.v, lang, class: named ? null : "mono", tabindex: "-1" }, text) : h("span", { title: full(term), lang }, text), tag];
};

const NOWHERE = { facet: [], row: null, address: () => null, hold: () => {} };

/** Shows rows in the element; `place` holds which are narrowed to and pointed at. Gives what may be done with the table. */
export const rowsTable = (parent, result, { named = true, place = NOWHERE } = {}) => {
  const state = { rows: result.rows, named, sorted: null, up: true, wanted: "", at: [0, 0] };
  const term = (row, index) => (row[index] === null || row[index] === undefined ? null : result.terms[row[index]]);
  const heads = result.columns.map((column, index) => h("th", { scope: "col", class: column.kind === "number" ? "num" : null },
    h("button", { type: "button", class: "sort", title: t("sort", { column: column.name }), onclick: () => sort(index) }, column.name)));
  const body = h("tbody");
  const table = h("table", { class: "rows" }, h("thead", {}, h("tr", {}, h("th", { scope: "col", class: "index" }, "#"), heads, h("td", { class: "rest", "aria-hidden": "true" }))), body);
  const scroller = h("div", { class: "rows-scroll", tabindex: "0", role: "region", "aria-label": t("result") }, table);
  const count = h("span", { class: "faint" });
  const filter = h("input", { type: "search", class: "filter", "aria-label": t("filter"), placeholder: t("filter"), oninput: (event) => narrow(event.currentTarget.value) });
  const labels = h("label", { class: "check" }, h("input", { type: "checkbox", checked: named, onchange: (event) => { state.named = event.currentTarget.checked; fill(); } }), t("labels"));
  const numbers = new Map(result.rows.map((row, index) => [row, index + 1])), labelled = (row, index) => plain(term(row, index), true);
  const facets = new Facets({ columns: result.columns.map(({ name }) => name), rows: result.rows, text: labelled, chosen: place.facet, address: (facet) => place.address({ facet }), changed: (facet) => { place.hold({ facet }); arrange().then(() => live(count.textContent)); } });
  const bar = h("p", { class: "table-bar" }, result.rows.length >= 10 ? filter : null, labels, h("button", { type: "button", class: "small", onclick: async ({ currentTarget }) => { await result.named?.(); copy(asText(), currentTarget, t("copied")); } }, t("copy_table")), facets.bar, count);
  parent.replaceChildren(bar, scroller);

  /** The number of a row, as the link that brings back the table with this row marked. */
  const rowLink = (row, shown) => {
    const href = place.address({ row: String(numbers.get(row)) });
    const mark = (event) => {
      if (event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      place.hold({ row: String(numbers.get(row)) });
      body.querySelector("tr.pointed")?.classList.remove("pointed");
      event.currentTarget.closest("tr").classList.add("pointed");
    };
    return href ? h("a", { href, tabindex: "-1", title: t("row_link", { n: number(numbers.get(row)) }), onclick: mark }, String(shown)) : String(shown);
  };

  let made = 0;
  const add = () => {
    const part = state.rows.slice(made, made + PIECE), start = made;
    body.append(...part.map((row, offset) => h("tr", { class: String(numbers.get(row)) === place.row ? "pointed" : null, dataset: { row: numbers.get(row) } }, h("td", { class: "index" }, rowLink(row, start + offset + 1)),
      result.columns.map((column, index) => { const found = term(row, index); return h("td", { class: column.kind === "number" ? "num" : found && plain(found, state.named).length <= 48 ? "brief" : null }, cell(found, state.named)); }), h("td", { class: "rest", "aria-hidden": "true" }))));
    made += part.length;
  };
  const fill = () => { body.replaceChildren(); made = 0; add(); scroller.scrollTop = 0; };
  scroller.addEventListener("scroll", () => { if (made < state.rows.length && scroller.scrollTop + scroller.clientHeight > scroller.scrollHeight - 600) add(); }, { passive: true });

  const arrange = async () => {
    if (result.named) await result.named(); // what is looked for may be in a name that is still to come
    const wanted = state.wanted.toLowerCase();
    const all = facets.chosen.size ? result.rows.filter((row) => facets.passes(row)) : result.rows;
    let rows = wanted ? all.filter((row) => row.some((_, index) => plain(term(row, index), state.named).toLowerCase().includes(wanted))) : [...all];
    if (state.sorted !== null) {
      const key = (row) => { const found = term(row, state.sorted); return found ? (found.k === "number" ? found.v : plain(found, state.named)) : ""; };
      const keyed = rows.map((row) => [key(row), row]);
      keyed.sort(([a], [b]) => (a === "" || b === "" || state.up ? compare(a, b) : compare(b, a)));
      rows = keyed.map(([, row]) => row);
    }
    state.rows = rows;
    count.textContent = wanted || facets.chosen.size ? t("filtered", { n: number(rows.length), total: number(result.rows.length) }) : "";
    fill();
  };
  const narrow = later(async (text) => { state.wanted = text.trim(); await arrange(); live(count.textContent); }, 120);
  const sort = (index) => {
    state.up = state.sorted === index ? !state.up : true;
    state.sorted = index;
    heads.forEach((head, at) => (at === index ? head.setAttribute("aria-sort", state.up ? "ascending" : "descending") : head.removeAttribute("aria-sort")));
    arrange();
  };
  /** Makes the rows again that were shown before all names were known. */
  const renew = async () => {
    await result.named();
    facets.draw();
    const top = scroller.scrollTop, shown = made;
    body.replaceChildren();
    made = 0;
    while (made < shown) add();
    scroller.scrollTop = top;
  };
  const asText = () => [result.columns.map(({ name }) => name), ...state.rows.map((row) => result.columns.map((_, index) => plain(term(row, index), state.named)))].map((row) => row.join("\t")).join("\n");

  const move = (down, right) => {
    const [row, column] = state.at;
    state.at = [Math.max(0, Math.min(state.rows.length - 1, row + down)), Math.max(0, Math.min(result.columns.length - 1, column + right))];
    while (made <= state.at[0] && made < state.rows.length) add();
    body.querySelector("td.here")?.classList.remove("here");
    const found = body.rows[state.at[0]]?.cells[state.at[1] + 1];
    found?.classList.add("here");
    found?.scrollIntoView({ block: "nearest", inline: "nearest" });
    live(found?.textContent ?? "");
  };
  scroller.addEventListener("keydown", (event) => {
    if (event.target !== scroller || event.ctrlKey && event.key !== "c" || event.metaKey || event.altKey) return;
    const steps = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1], PageDown: [15, 0], PageUp: [-15, 0] };
    const found = term(state.rows[state.at[0]] ?? [], state.at[1]);
    if (steps[event.key]) { event.preventDefault(); body.querySelector("td.here") ? move(...steps[event.key]) : move(0, 0); }
    if (event.key === "Enter" && found?.k === "thing" && safe(found.h)) location.assign(at(found.h));
    if (event.key === "c" && !event.ctrlKey && found) { event.preventDefault(); copy(found.k === "thing" && !state.named ? found.v : plain(found, true), null, t("copied")); }
  });
  /** Brings the row into sight that the address points at. */
  const point = () => {
    const at = place.row ? state.rows.findIndex((row) => String(numbers.get(row)) === place.row) : -1;
    while (made <= at) add();
    body.querySelector("tr.pointed")?.scrollIntoView({ block: "center" });
  };
  fill();
  if (facets.chosen.size) arrange().then(point);
  else {
    point();
    if (result.named) requestAnimationFrame(() => setTimeout(renew));
  }
  return {
    destroy: () => {}, rows: () => state.rows,
    here: () => ({ top: scroller.scrollTop, made, sorted: state.sorted, up: state.up, wanted: state.wanted }),
    restore: async (place) => {
      if (place.sorted !== null || place.wanted) {
        Object.assign(state, { sorted: place.sorted, up: place.up, wanted: place.wanted });
        filter.value = place.wanted;
        if (place.sorted !== null) heads[place.sorted]?.setAttribute("aria-sort", place.up ? "ascending" : "descending");
        await arrange();
      }
      while (made < Math.min(place.made, state.rows.length)) add();
      scroller.scrollTop = place.top;
    },
  };
};
