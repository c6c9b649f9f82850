// The pane of results: tabs for the views, what each shows, and what it says where it cannot.
import { at, h, live, safe } from "../lib/dom.js";
import { mark } from "../lib/classes.js";
import { show } from "../lib/figures.js";
import { sharing } from "../lib/sharing.js";
import { number, seconds, t } from "../lib/words.js";
import { cards, chartChoices, chartData, chartDefaults, fitting, graphData, mapData, nameOfRows, timelineData } from "./fits.js";
import { rowsTable } from "./rows.js";

export const VIEWS = ["table", "chart", "map", "graph", "timeline", "gallery"];

export class Results {
  /** `pane` is the element; `chosen` hears which view the reader chose, `load` runs another query for a view. */
  constructor(pane, { chosen, load, place }) {
    this.pane = pane;
    this.place = place;
    this.chosen = chosen;
    this.load = load;
    this.result = null;
    this.query = "";
    this.view = "";
    this.chosenChart = null;
    this.tabs = h("div", { class: "tabs", role: "tablist", "aria-label": t("result") });
    this.facts = h("span", { class: "facts-line", role: "status" });
    this.downloads = h("span", { class: "downloads" });
    this.body = h("div", { class: "result-body", role: "tabpanel", id: "result-body", tabindex: "-1" });
    pane.replaceChildren(h("div", { class: "result-bar" }, this.tabs, h("div", { class: "result-facts" }, this.facts, this.downloads)), this.body);
    this.tabs.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
      const all = [...this.tabs.children], next = all[(all.indexOf(document.activeElement) + (event.key === "ArrowRight" ? 1 : -1) + all.length) % all.length];
      next.focus();
      next.click();
    });
  }

  /** Says something in place of results. */
  say(...children) {
    this.clear();
    this.body.replaceChildren(h("div", { class: "quietly" }, children));
  }

  clear() {
    this.api?.destroy?.();
    this.api = null;
    this.result = null;
    this.tabs.replaceChildren();
    this.facts.textContent = "";
    this.downloads.replaceChildren();
    this.body.replaceChildren();
  }

  /** Shows a result, in the wanted view where there is one, else in the one that fits. */
  async show(result, query, wanted = "") {
    this.clear();
    Object.assign(this, { result, query, chosenChart: null });
    this.download(result, query);
    if (result.boolean !== undefined) {
      this.facts.textContent = t("lasting", { t: seconds(result.seconds) });
      this.body.replaceChildren(h("p", { class: "answer padded" }, t(result.boolean ? "yes" : "no")));
      live(t(result.boolean ? "yes" : "no"));
      return;
    }
    this.facts.textContent = t(result.text !== undefined ? "statements_in" : "rows_in", { n: number(result.rows.length), t: seconds(result.seconds) });
    live(this.facts.textContent);
    const { can, best } = fitting(result);
    const views = can.text ? [...VIEWS, "text"] : VIEWS;
    this.can = can;
    this.tabs.replaceChildren(...views.map((name) => h("button", { type: "button", role: "tab", dataset: { view: name }, "aria-controls": "result-body", title: name === best ? t("view_fits") : null, class: [can[name] ? "" : "unfit", name === best ? "best" : ""].join(" ").trim() || null, onclick: () => this.choose(name, true) }, t(`view_${name}`))));
    await this.choose(wanted && views.includes(wanted) ? wanted : best, false);
  }

  download(result, query) {
    const address = (name) => `/sparql?query=${encodeURIComponent(query)}&format=${name}`;
    const list = h("ul", {}, result.formats.map(({ name, extension }) => h("li", {}, h("a", { href: address(name), download: `result.${extension}` }, extension.toUpperCase()))));
    this.downloads.replaceChildren(h("details", { class: "menu right" }, h("summary", { class: "button small" }, t("download")), list),
      sharing({ given: () => ({ query, view: this.view || "table" }), title: t("result"), shown: () => this.body.querySelector(".stage") ?? this.body.querySelector("table") ?? this.body, api: () => this.api, name: "result" }));
  }

  /** A button that adds the coordinates of the rows' things to the query, where the graph has them. */
  async offer_places(buttons) {
    const variable = nameOfRows(this.result), asked = this.query;
    if (!variable) return;
    try {
      const { query } = await fetch(at("/api/with-places"), { method: "POST", body: new URLSearchParams({ query: asked, variable }) }).then((answer) => answer.json());
      if (query && this.query === asked) buttons.append(h("button", { type: "button", onclick: () => this.load(query, "map") }, t("add_places")));
    } catch { /* then there is nothing to add */ }
  }

  async choose(name, byReader) {
    if (!this.result || this.result.boolean !== undefined) return;
    this.view = name;
    for (const tab of this.tabs.children) { const on = tab.dataset.view === name; tab.setAttribute("aria-selected", String(on)); tab.tabIndex = on ? 0 : -1; }
    if (byReader) this.chosen(name);
    this.api?.destroy?.();
    this.body.replaceChildren();
    if (!this.can[name]) {
      const buttons = h("p", { class: "buttons" });
      this.body.append(h("div", { class: "quietly" }, h("p", {}, t(`needs_${name}`)), buttons));
      if (name === "map") this.offer_places(buttons);
      return;
    }
    if (this.result.named && name !== "table" && name !== "text") {
      const { result } = this;
      this.body.append(h("div", { class: "quietly" }, h("p", {}, t("names_coming"))));
      await result.named();
      if (this.result !== result || this.view !== name) return;
      this.body.replaceChildren();
    }
    await this[name]();
    if (this.result.truncated && name === "table") this.body.append(h("p", { class: "faint padded" }, t("cut", { n: number(this.result.rows.length) })));
  }

  table() { this.api = rowsTable(this.body, this.result, { place: this.place(this.query) }); }

  text() { this.body.append(h("pre", { class: "code padded", tabindex: "0" }, h("code", {}, this.result.text))); }

  async picture(kind, data, ...before) {
    const figure = h("figure", { class: "view filling", dataset: { view: kind, height: String(Math.max(320, this.body.clientHeight - 110)) } });
    this.body.replaceChildren(...before, figure);
    this.api = await show(figure, { ...data, query: undefined });
  }

  map() { return this.picture("map", mapData(this.result, this.query)); }

  graph() { return this.picture("graph", graphData(this.result, this.query)); }

  timeline() { return this.picture("timeline", timelineData(this.result, this.query)); }

  chart() {
    const chosen = this.chosenChart ?? chartDefaults(this.result), { names, values } = chartChoices(this.result);
    const select = (key, role, options) => h("label", { class: "field inline" }, h("span", {}, t(`role_${role}`)), h("select", { onchange: (event) => { chosen[key] = key === "kind" ? event.currentTarget.value : Number(event.currentTarget.value); this.chosenChart = chosen; paint(); } },
      options.map(([value, label]) => h("option", { value, selected: String(chosen[key]) === String(value) }, label))));
    const controls = h("p", { class: "table-bar" }, select("kind", "kind", ["bars", "lines", "scatter", "histogram"].map((kind) => [kind, t(`kind_${kind}`)])), select("name", "name", names.map(({ name, index }) => [index, name])), select("value", "value", values.map(({ name, index }) => [index, name])));
    const paint = () => this.picture("chart", chartData(this.result, this.query, chosen), controls);
    return paint();
  }

  gallery() {
    this.body.append(h("ul", { class: "cards" }, cards(this.result).map((card) => h("li", {},
      card.picture.startsWith("/") && safe(card.picture) ? h("img", { src: card.picture, alt: "", loading: "lazy" }) : null,
      h("h3", {}, mark(card.color), card.href ? h("a", { href: safe(card.href) }, card.label) : card.label),
      h("dl", {}, card.facts.slice(0, 6).map(([key, value]) => h("div", {}, h("dt", {}, key), h("dd", {}, value))))))));
  }
}
