// The queries one works on, a sheet each: kept in this browser as they are typed, shown as tabs above the editor.
import { h, later } from "../lib/dom.js";
import { t } from "../lib/words.js";
import { remember, titleOf } from "./memory.js";

const KEY = "kgplatform sheets", WINDOW = "kgplatform sheet", MOST = 8, ENTRY_MILLISECONDS = 300;

const read = () => {
  try {
    const found = JSON.parse(localStorage.getItem(KEY) ?? "{}"), sheets = (found.sheets ?? []).filter((one) => typeof one?.id === "string" && typeof one.text === "string");
    return { sheets, active: String(found.active ?? "") };
  } catch { return { sheets: [], active: "" }; }
};

const write = (all) => { try { localStorage.setItem(KEY, JSON.stringify(all)); } catch { /* full, or a private window: then for this page only */ } };

const inWindow = () => { try { return JSON.parse(sessionStorage.getItem(WINDOW)) ?? {}; } catch { return {}; } };

/** The address without what only changes its words. */
const here = () => { const url = new URL(location.href); ["lang", "data"].forEach((name) => url.searchParams.delete(name)); return url.pathname + url.search; };

/** Whether somebody typed in it and did not run that. */
export const isDraft = ({ text, ran, given }) => Boolean(text.trim()) && text !== ran && text !== given;

export class Sheets {
  /** `bar` is where the tabs go; `chosen` hears of the sheet that is to be shown, `changed` of what another window typed. */
  constructor(bar, { chosen, changed }) {
    Object.assign(this, { bar, chosen, changed, held: new Map() });
    this.entry = later(() => this.enter(), ENTRY_MILLISECONDS);
    addEventListener("pagehide", () => this.enter());
    addEventListener("storage", (event) => { if (event.key === KEY) this.elsewhere(); });
  }

  /**
   * The sheet of this page as it is opened, and what is to run: `query` is what the address asks for, null for none;
   * `first` is what stands in the editor where nothing was ever typed. What was typed and not run is never replaced.
   */
  open(query, first) {
    const { sheets, active } = read(), { state } = history, before = inWindow(), known = (wanted) => sheets.find(({ id }) => id === wanted);
    const stayed = before.address === here() && (state?.sheet ? state.sheet === before.id : /[?&]lang=/.test(location.search)); // loaded again, or in the other language
    if (this.at) this.held.set(this.at, this.sheet.text); // the entry that is left may not have heard of it yet
    const again = known(stayed ? before.id : state?.sheet), draft = this.held.get(state?.at) ?? state?.draft;
    if (again) this.take(again.id, stayed ? again.text : draft ?? query ?? again.text);
    else if (query === null) this.take((known(before.id) ?? known(active) ?? this.made(first)).id);
    else this.opened(query, known(before.id));
    if (query !== null) this.change({ ran: query });
    this.query = query;
    this.enter();
    this.draw();
    return this.sheet;
  }

  /** A sheet for a query that somebody opens: one that has it, the one of this window if nothing is lost by that, else a new one. */
  opened(query, own) {
    const same = read().sheets.find(({ text }) => text === query), free = own && !isDraft(own) ? own : null;
    this.take((same ?? free ?? this.made(query)).id, query);
  }

  made(text) {
    const all = read(), sheet = { id: crypto.getRandomValues(new Uint32Array(2)).join("-"), text, given: text, ran: null, view: "" };
    const spare = all.sheets.length >= MOST ? all.sheets.find((one) => !isDraft(one) && one.id !== this.sheet?.id) : null;
    write({ ...all, sheets: [...all.sheets.filter((one) => one !== spare), sheet] });
    return sheet;
  }

  /** Makes the sheet the one of this window; a draft that its new text takes the place of goes to the history. */
  take(id, text = null) {
    this.sheet = read().sheets.find((one) => one.id === id);
    if (text !== null && text !== this.sheet.text) { this.spare(); this.change({ text }); }
    write({ ...read(), active: id });
    this.mark();
  }

  mark() { try { sessionStorage.setItem(WINDOW, JSON.stringify({ id: this.sheet.id, address: here() })); } catch { /* the last one is taken then */ } }

  /** Puts a text that did not run on record, before another takes its place. */
  spare() { if (isDraft(this.sheet)) remember(this.sheet.text, { rows: null, seconds: null }); }

  change(values) {
    const all = read(), known = all.sheets.some(({ id }) => id === this.sheet.id);
    Object.assign(this.sheet, values);
    write({ ...all, sheets: known ? all.sheets.map((one) => (one.id === this.sheet.id ? { ...this.sheet } : one)) : [...all.sheets, { ...this.sheet }] });
  }

  typed(text) {
    if (text === this.sheet.text) return;
    this.change({ text });
    this.draw();
    this.entry();
  }

  /** The query of this sheet has run, or is to: its address is that of the entry. */
  ran(query, view) {
    this.query = query;
    this.change({ ran: query, view });
    this.draw();
  }

  /** The query runs at an address of its own: the entry before it no longer holds it as a draft. */
  leave() { this.held.delete(this.at); this.at = null; history.replaceState({ ...history.state, draft: null }, ""); }

  /** Has the entry of the browser's history know its sheet, and what stands in it that its address does not say. */
  enter() {
    if (!this.sheet) return;
    const draft = this.sheet.text === this.query ? null : this.sheet.text;
    this.at = history.state?.at ?? crypto.getRandomValues(new Uint32Array(2)).join("-");
    history.replaceState({ sheet: this.sheet.id, query: this.query, draft, at: this.at }, "");
    this.mark();
  }

  add() { this.choose(this.made("").id); }

  choose(id) {
    if (id === this.sheet.id) return;
    this.enter();
    this.take(id);
    this.query = this.sheet.ran;
    this.chosen(this.sheet);
    this.draw();
  }

  close(id) {
    const all = read(), at = all.sheets.findIndex((one) => one.id === id), left = all.sheets.filter((one) => one.id !== id);
    if (at < 0) return;
    if (isDraft(all.sheets[at])) remember(all.sheets[at].text, { rows: null, seconds: null });
    const next = left[Math.min(at, left.length - 1)]?.id ?? this.made("").id;
    if (id === this.sheet.id) this.choose(next);
    write({ ...read(), sheets: read().sheets.filter((one) => one.id !== id) });
    this.draw();
    this.bar.querySelector("[aria-current]")?.focus();
  }

  /** Another window has changed a sheet: this one shows the same, unless somebody types here. */
  elsewhere() {
    const same = read().sheets.find(({ id }) => id === this.sheet.id);
    if (same && same.text !== this.sheet.text && !document.hasFocus()) { this.sheet = same; this.changed(same); }
    this.draw();
  }

  draw() {
    const listed = read().sheets;
    const drawn = JSON.stringify([this.sheet.id, listed.map((one) => [one.id, titleOf(one.text), isDraft(one)])]);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    this.bar.replaceChildren(h("ul", {}, listed.map((one) => {
      const title = titleOf(one.text) || t("sheet_empty"), isHere = one.id === this.sheet.id;
      return h("li", { class: isHere ? "here" : null },
        h("button", { type: "button", "aria-current": isHere ? "true" : null, title: isDraft(one) ? `${title} · ${t("unrun")}` : title, onclick: () => this.choose(one.id) }, h("span", {}, title), isDraft(one) ? h("span", { class: "unrun", role: "img", "aria-label": t("unrun") }, "•") : null),
        listed.length > 1 ? h("button", { type: "button", class: "shut", "aria-label": t("sheet_close", { name: title }), title: t("sheet_close", { name: title }), onclick: () => this.close(one.id) }, "×") : null);
    })), h("button", { type: "button", class: "more", "aria-label": t("sheet_add"), title: t("sheet_add"), onclick: () => this.add() }, "+"));
    this.bar.querySelector(".here")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
}
