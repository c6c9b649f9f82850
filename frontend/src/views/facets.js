// Facets of a table: the values that several rows share, with counts. A click narrows; what is chosen goes as "column=value".
import { h } from "../lib/dom.js";
import { number, t } from "../lib/words.js";

const FROM_ROWS = 4, MOST_VALUES = 40, MOST_FACETS = 6;

export class Facets {
  /** `text` gives the text of a row in a column, `chosen` is what the address says, `address` that of a choice; `changed` hears of one. */
  constructor({ columns, rows, text, chosen = [], address, changed }) {
    Object.assign(this, { columns, rows, text, address, changed });
    this.bar = h("span", { class: "facet-menus", role: "group", "aria-label": t("facets") });
    const split = chosen.map((one) => { const at = columns.findIndex((name) => one.startsWith(`${name}=`)); return [at, one.slice((columns[at] ?? "").length + 1)]; });
    this.chosen = new Map(split.filter(([at]) => at >= 0));
    this.draw();
  }

  passes(row, without = -1) { return [...this.chosen].every(([index, value]) => index === without || this.text(row, index) === value); }

  words(chosen = this.chosen) { return [...chosen].map(([index, value]) => `${this.columns[index]}=${value}`); }

  /** The columns that tell rows apart by few values that recur, and those that are chosen. */
  telling() {
    const all = this.columns.map((_, index) => index), values = (index) => new Set(this.rows.map((row) => this.text(row, index)));
    const few = ({ size }) => size > 1 && size <= MOST_VALUES && 2 * size <= this.rows.length;
    const found = this.rows.length < FROM_ROWS ? [] : all.filter((index) => this.columns[index] && few(values(index))).slice(0, MOST_FACETS);
    return [...new Set([...this.chosen.keys(), ...found])].sort((a, b) => a - b);
  }

  draw() {
    this.bar.replaceChildren(...this.telling().map((index) => this.menu(index)));
    this.bar.hidden = !this.bar.children.length;
  }

  menu(index) {
    const name = this.columns[index], mine = this.chosen.get(index), rows = this.rows.filter((row) => this.passes(row, index)), counts = new Map();
    for (const row of rows) { const value = this.text(row, index); if (value) counts.set(value, (counts.get(value) ?? 0) + 1); }
    if (mine !== undefined && !counts.has(mine)) counts.set(mine, 0);
    const item = (value, label, count) => {
      const next = new Map(this.chosen);
      if (value === undefined) next.delete(index); else next.set(index, value);
      const take = (event) => { if (event.ctrlKey || event.metaKey) return; event.preventDefault(); this.chosen = next; this.draw(); this.changed(this.words()); this.bar.querySelector(`[data-column="${index}"] > summary`)?.focus(); };
      return h("li", {}, h("a", { href: this.address(this.words(next)), "aria-current": value === mine ? "true" : null, onclick: take }, label, " ", h("span", { class: "faint" }, number(count))));
    };
    const listed = [...counts].sort(([a, n], [b, m]) => m - n || a.localeCompare(b));
    return h("details", { class: "menu facet", dataset: { column: String(index) } }, h("summary", { class: `button small${mine === undefined ? "" : " chosen"}` }, mine === undefined ? name : `${name}: ${mine}`),
      h("ul", { class: "long" }, item(undefined, t("all_values"), rows.length), listed.map(([value, count]) => item(value, value, count))));
  }
}
