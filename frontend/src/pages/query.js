// The Query page: the editor left, results right; the query is never lost, a cancelled one frees the server.
import { at, copy, h, live, tag } from "../lib/dom.js";
import { key } from "../lib/keys.js";
import { times } from "../lib/times.js";
import { command, number, seconds, t } from "../lib/words.js";
import { editor } from "../query/editor.js";
import { format } from "../query/format.js";
import { forget, keep, kept, leave, remember, remembered, returned, titleOf } from "../query/memory.js";
import { Running } from "../query/running.js";
import { openSaving } from "../query/saving.js";
import { Sheets, isDraft } from "../query/sheets.js";
import { tokens } from "../query/tokens.js";
import { Results, VIEWS } from "../query/views.js";

const QUIET_MILLISECONDS = 150, WHOLE = /^(COUNT|SUM|MIN|MAX|AVG|SAMPLE|GROUP_CONCAT|ASK)$/i;

/** Whether fewer rows would be less work: what counts or asks has to go through all there is. */
const limitable = (query) => !tokens(query).some(({ text }) => WHOLE.test(text)) && !/\bLIMIT\s+\d+\s*$/i.test(query);

const pointedAt = () => { const given = new URLSearchParams(location.search); return { query: given.get("query"), facet: given.getAll("facet"), row: given.get("row") }; };

class Page {
  constructor(root) {
    this.root = root;
    this.pane = root.querySelector(".editor");
    this.running = new Running();
    this.shown = new Map();
    this.view = new URLSearchParams(location.search).get("view") ?? "";
    this.back = -1;
    this.button = this.pane.querySelector("button[type=submit]");
    this.run_label = [...this.button.childNodes].map((node) => node.cloneNode(true));
    this.status = h("p", { class: "editor-status", role: "status" });
    this.trouble = h("div", { class: "trouble", hidden: true, role: "alert" });
    this.plan = h("section", { class: "plan", hidden: true, "aria-live": "polite" });
    this.results = new Results(root.querySelector(".result"), { chosen: (name) => { this.view = name; this.address(this.sheets.query); }, load: (query, view) => this.load(query, view), place: (query) => this.place(query) });
    this.pointed = pointedAt();
  }

  start() {
    const form = this.pane.querySelector("form"), area = form.querySelector("textarea");
    const holder = h("div", { class: "code-holder" });
    area.after(holder);
    area.hidden = true;
    this.pane.querySelectorAll(".no-script").forEach((node) => node.remove());
    const given = area.value.replace(/\n$/, ""), asked = this.root.dataset.run === "yes" ? given : null;
    const bar = form.insertBefore(h("div", { class: "sheets", role: "group", "aria-label": t("sheets") }), form.firstChild);
    this.sheets = new Sheets(bar, { chosen: (sheet) => this.turn(sheet), changed: (sheet) => this.editor.set(sheet.text) });
    this.editor = editor(holder, this.sheets.open(asked, given).text, {
      keys: [
        { key: "Mod-Enter", run: () => { this.run(); return true; } },
        { key: "Escape", run: () => { if (!this.running.is) return false; this.cancel(); return true; } },
        { key: "Shift-Alt-f", run: () => { this.format(); return true; } },
        { key: "Mod-s", run: () => { this.save(); return true; } },
      ],
      report: (found) => this.report(found),
      changed: () => { if (this.editor) { area.value = this.editor.text(); this.sheets.typed(area.value); this.plan.hidden = true; } },
    });
    this.pane.append(this.plan, this.trouble, this.status);
    form.querySelector("[name=explain]").addEventListener("click", (event) => { event.preventDefault(); this.explain(); });
    this.plan.addEventListener("click", (event) => { const line = event.target.closest("a[data-line]")?.dataset.line; if (line) { event.preventDefault(); this.editor.go(Number(line), 1); } });
    form.addEventListener("submit", (event) => { event.preventDefault(); this.running.is ? this.cancel() : this.run(); });
    this.toolbar();
    this.divider();
    this.keys();
    addEventListener("popstate", () => this.restore());
    addEventListener("keydown", (event) => this.pressed(event));
    addEventListener("pagehide", () => { const place = this.results.api?.here?.(); if (place) leave({ view: this.results.view, place }); });
    this.root.dataset.started = "yes";
    const before = returned();
    if (before) this.view = new URLSearchParams(location.search).get("view") ?? before.view;
    if (asked !== null && new URLSearchParams(location.search).has("explain")) return this.explain();
    if (asked !== null) return this.run({ keep: true, query: asked }).then(() => (before?.view === this.results.view ? this.results.api?.restore?.(before.place) : null));
    this.results.say(h("p", {}, t("nothing_run", { key: `${command}-Enter` })));
    this.editor.focus();
    return null;
  }

  /** The keys of the editor, where the focus is elsewhere. */
  pressed(event) {
    if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open]")) return;
    const isCommand = event.ctrlKey || event.metaKey;
    if (event.key === "Escape" && this.running.is) this.cancel();
    else if (event.key === "Enter" && isCommand) this.run();
    else if (event.key === "s" && isCommand && this.root.dataset.save) this.save();
    else return;
    event.preventDefault();
  }

  toolbar() {
    const bar = this.pane.querySelector(".buttons");
    const tool = (label, run) => h("button", { type: "button", onclick: run }, label);
    this.history = h("details", { class: "menu" }, h("summary", { class: "button" }, t("history")), h("ul", { class: "long" }));
    this.history.addEventListener("toggle", () => { if (this.history.open) this.remembered(); });
    bar.append(tool(t("format"), () => this.format()), tool(t("share"), (event) => this.share(event.currentTarget)), this.history);
    if (this.root.dataset.save) bar.append(tool(t("save"), () => this.save()));
    this.root.addEventListener("click", (event) => {
      const link = event.target.closest?.("a[data-query]");
      if (!link || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      link.closest("details")?.removeAttribute("open");
      if (isDraft(this.sheets.sheet)) this.sheets.add();
      this.load(link.dataset.query);
    });
  }

  remembered() {
    const listed = remembered(), rows = listed.slice(0, 30).map((one) => h("li", {}, h("a", { href: `/query?query=${encodeURIComponent(one.query)}`, dataset: { query: one.query } }, titleOf(one.query), h("span", { class: "under" }, `${one.rows === null ? t("unrun") : t("rows_in", { n: number(one.rows), t: seconds(one.seconds) })} · `, h("time", { datetime: new Date(one.when).toISOString() })))));
    const clear = listed.length ? h("li", {}, h("button", { type: "button", class: "small", onclick: () => { forget(); this.remembered(); } }, t("history_clear"))) : null;
    this.history.querySelector("ul").replaceChildren(h("li", { class: "faint" }, t("history_none")), ...rows, ...(clear ? [clear] : []));
    times();
  }

  /** Shows another sheet, with what it found if it has run on this page. */
  turn(sheet) {
    const before = this.shown.get(sheet.id);
    this.view = this.sheets.query === null ? "" : sheet.view;
    history.pushState(null, "", this.sheets.query === null ? at("/query") : this.addressOf(this.sheets.query));
    this.sheets.enter();
    this.editor.set(sheet.text);
    this.trouble.hidden = true;
    if (before) this.results.show(before.result, before.query, sheet.view);
    else if (this.sheets.query !== null) this.run({ keep: true, query: this.sheets.query });
    else this.results.say(h("p", {}, t("nothing_run", { key: `${command}-Enter` })));
    this.editor.focus();
  }

  load(query, view = "") {
    this.sheets.spare();
    this.editor.set(query.replace(/\n$/, ""));
    this.view = view;
    this.run();
  }

  step(by) {
    const listed = remembered();
    if (!listed.length) return;
    this.sheets.spare();
    this.back = Math.max(0, Math.min(listed.length - 1, this.back + by));
    this.editor.set(listed[this.back].query);
    live(titleOf(listed[this.back].query));
  }

  format() { const text = this.editor.text(), laid = format(text).replace(/\n$/, ""); if (laid !== text) this.editor.set(laid); this.editor.focus(); }

  share(button) { copy(new URL(this.addressOf(this.editor.text()), location).href, button, t("copied")); live(t("shared")); }

  save() {
    const dialog = this.root.querySelector("dialog.save");
    if (dialog) openSaving(dialog, this.editor.text(), titleOf(this.editor.text()), (record) => { history.replaceState(null, "", at(record.page)); this.sheets.enter(); this.say_status(t("saved", { place: record.page })); });
  }

  report(found) {
    this.found = found;
    if (this.running.is) return;
    const errors = found?.issues.filter((one) => one.severity === "error") ?? [], warnings = found?.issues.filter((one) => one.severity === "warning") ?? [];
    const first = errors[0] ?? warnings[0];
    if (!first) { this.say_status(found?.valid ? t("valid") : ""); return; }
    const place = first.line ? h("button", { type: "button", class: "link", onclick: () => this.editor.go(first.line, first.column) }, t("line", { line: first.line })) : null;
    this.status.className = `editor-status ${errors.length ? "bad" : "warned"}`;
    const hint = first.instead ? ` ${t("did_you_mean", { word: first.instead })}` : "";
    const meant = this.trouble.querySelector(".meant");
    if (meant) meant.textContent = hint;
    this.status.replaceChildren(...(place ? [place, " "] : []), h("span", { lang: tag(first.message) }, first.message), hint);
  }

  say_status(text) { this.status.className = "editor-status"; this.status.replaceChildren(text); }

  /** Runs the text of the editor, or `query`, which the address asked for before; `keep` leaves the address as it is. */
  async run({ keep = false, patient = false, query = this.editor.text() } = {}) {
    const { sheet } = this.sheets;
    this.patient = patient;
    if (!query.trim()) return;
    this.trouble.hidden = true;
    this.editor.quiet();
    if (keep) this.sheets.ran(query, this.view); else this.address(query, true);
    const begun = performance.now(), waiting = setTimeout(() => this.wait(begun), QUIET_MILLISECONDS);
    try {
      const result = await this.running.run(query, { patient });
      if (result === null) { this.say_status(t("cancelled")); live(t("cancelled")); return; }
      this.back = -1;
      remember(query, { rows: result.rows?.length ?? 1, seconds: result.seconds });
      this.shown.set(sheet.id, { result, query });
      if (this.sheets.sheet.id !== sheet.id) return;
      if (result.rows && !result.rows.length) await this.empty(query, result); else await this.results.show(result, query, this.view);
      this.report(this.found);
    } catch (problem) {
      this.failed(problem, query);
    } finally {
      clearTimeout(waiting);
      if (!this.running.is) this.rest();
    }
  }

  /** Shows below the editor how the query runs, and the rows after each line beside it. */
  async explain() {
    const query = this.editor.text();
    if (!query.trim()) return;
    this.trouble.hidden = true;
    this.editor.quiet();
    const begun = performance.now(), waiting = setTimeout(() => this.wait(begun), QUIET_MILLISECONDS);
    try {
      const plan = await this.running.explain(query);
      if (plan === null) { this.say_status(t("cancelled")); live(t("cancelled")); return; }
      if (this.editor.text() !== query) return;
      const close = h("button", { type: "button", class: "small", onclick: () => { this.plan.hidden = true; this.editor.count({ steps: [] }); this.editor.focus(); } }, t("plan_close"));
      this.plan.replaceChildren(...new DOMParser().parseFromString(plan.html, "text/html").body.childNodes, close);
      this.plan.hidden = false;
      this.editor.count(plan);
      this.report(this.found);
    } catch (problem) {
      this.plan.hidden = true;
      this.failed(problem, query);
    } finally {
      clearTimeout(waiting);
      if (!this.running.is) this.rest();
    }
  }

  wait(begun) {
    this.root.classList.add("running");
    const clock = h("span", {});
    const tick = () => { clock.textContent = t("running", { t: ((performance.now() - begun) / 1000).toFixed(1) }); };
    tick();
    clearInterval(this.clock);
    this.clock = setInterval(tick, 100);
    this.button.replaceChildren(`${t("cancel")} `, h("kbd", { "aria-hidden": "true" }, "Esc"));
    this.status.className = "editor-status";
    this.status.replaceChildren(clock);
  }

  rest() {
    clearInterval(this.clock);
    this.root.classList.remove("running");
    this.button.replaceChildren(...this.run_label.map((node) => node.cloneNode(true)));
  }

  async cancel() {
    await this.running.cancel();
    this.rest();
    this.say_status(t("cancelled"));
    live(t("cancelled"));
  }

  /** Nothing found: says so at once, and why as soon as the server has found out. */
  async empty(query, result) {
    this.results.say(h("p", {}, t("no_rows")));
    this.results.facts.textContent = t("rows_in", { n: 0, t: seconds(result.seconds) });
    live(t("no_rows"));
    if (result.form !== "SELECT") return;
    try {
      const why = await fetch(at("/api/why-empty"), { method: "POST", body: new URLSearchParams({ query }) }).then((answer) => (answer.ok ? answer.json() : null));
      if (!why || why.cause === "unknown" || this.editor.text() !== query) return;
      const place = why.line ? h("button", { type: "button", onclick: () => this.editor.go(why.line, 1) }, t("line", { line: why.line })) : null;
      const relaxed = why.relaxed ? h("button", { type: "button", class: "primary", onclick: () => this.load(why.relaxed) }, t("run_without")) : null;
      const counted = why.conditions.filter(({ without }) => without);
      this.results.body.replaceChildren(h("div", { class: "quietly" }, h("p", {}, t("no_rows")), h("p", { class: "why" }, why.words), h("p", { class: "buttons" }, place, relaxed),
        counted.length > 1 ? h("ul", { class: "why-list" }, counted.map(({ text, line, without }) => h("li", {}, h("button", { type: "button", class: "link", onclick: () => this.editor.go(line, 1) }, t("line", { line })), " ", t("rows_without", { n: number(without) }), h("code", {}, text)))) : null));
    } catch { /* the sentence that nothing matches stands */ }
  }

  /** Says below a query that was stopped what makes it slow, once the server has found out. */
  async slow(query, reason) {
    try {
      const why = await fetch(at("/api/why-slow"), { method: "POST", body: new URLSearchParams({ query }) }).then((answer) => (answer.ok ? answer.json() : null));
      if (!why?.words) return;
      reason.replaceChildren(why.words, " ", h("button", { type: "button", class: "link", onclick: () => this.editor.go(why.line, 1) }, t("line", { line: why.line })));
    } catch { /* that it took too long stands */ }
  }

  failed(problem, query) {
    if (!this.results.result) this.results.say(h("p", {}, problem.status === 504 ? t("timeout", { t: problem.seconds ?? "?" }) : t("not_run_yet")));
    const lines = [];
    if (problem.status === 504) {
      const bare = query.replace(/\s+$/, ""), reason = h("p", { class: "why" });
      const longer = this.root.dataset.save && !this.patient ? h("button", { type: "button", onclick: () => this.run({ patient: true }) }, t("run_longer")) : null;
      const fewer = limitable(query) ? h("button", { type: "button", onclick: () => this.load(`${bare}\nLIMIT 1000`) }, t("add_limit")) : null;
      lines.push(h("p", {}, h("b", {}, t("timeout", { t: problem.seconds ?? "?" }))), reason, h("p", { class: "buttons" }, longer, fewer));
      this.slow(query, reason);
    } else if (problem.line) {
      const column = Math.max(1, problem.column ?? 1);
      lines.push(h("p", {}, h("b", {}, `${t("at", { line: problem.line, column })}${t("colon")}`), h("span", { lang: tag(problem.detail) }, String(problem.detail).replace(/^[^\d:：]*\d+[^\d:：]+\d+[^\d:：]*[:：]\s*/, "")), h("span", { class: "meant" })));
      if (problem.text) lines.push(h("pre", { tabindex: "0" }, h("code", {}, `${problem.text}\n${" ".repeat(column - 1)}`, h("span", { class: "caret" }, "^"))));
      lines.push(h("p", { class: "buttons" }, h("button", { type: "button", class: "small", onclick: () => this.editor.go(problem.line, column) }, t("show_place"))));
    } else lines.push(h("p", {}, h("b", {}, `${t("not_run")}${t("colon")}`), h("span", { lang: tag(problem.detail) }, problem.detail)));
    this.trouble.replaceChildren(...lines);
    this.trouble.hidden = false;
    this.editor.check();
  }

  addressOf(query, { facet, row } = this.pointed.query === query ? this.pointed : { facet: [], row: null }) {
    return at(`/query?${new URLSearchParams([["query", query], ...(this.view ? [["view", this.view]] : []), ...facet.map((one) => ["facet", one]), ...(row ? [["row", row]] : [])])}`);
  }

  /** To what values the rows of a query are narrowed and which is pointed at; both are in the address. */
  place(query) {
    const now = () => (this.pointed.query === query ? this.pointed : { query, facet: [], row: null });
    return { ...now(), address: (more) => this.addressOf(query, { ...now(), row: null, ...more }), hold: (more) => { this.pointed = { ...now(), ...more }; this.address(query); } };
  }

  /** Keeps the address in step, so that it brings back exactly this. */
  address(query, isNew = false) {
    if (query === null) return;
    const url = this.addressOf(query), isOther = isNew && history.state?.query !== query;
    if (isOther) this.sheets.leave();
    if (url !== location.pathname + location.search) isOther ? history.pushState(null, "", url) : history.replaceState(null, "", url);
    this.sheets.ran(query, this.view);
    this.sheets.enter();
  }

  /** Back or forward: the query of that entry runs again, with what had been typed over it in the editor. */
  restore() {
    const wanted = new URLSearchParams(location.search), query = history.state?.query ?? wanted.get("query");
    this.view = wanted.get("view") ?? "";
    this.pointed = pointedAt();
    this.editor.set(this.sheets.open(query, "").text);
    if (query === null) this.results.say(h("p", {}, t("nothing_run", { key: `${command}-Enter` })));
    else this.run({ keep: true, query });
  }

  divider() {
    const bar = h("div", { class: "divider", role: "separator", "aria-orientation": "vertical", "aria-label": t("divider"), tabindex: "0", "aria-valuemin": "20", "aria-valuemax": "80" });
    const set = (share) => { const part = Math.max(20, Math.min(80, share)); this.root.style.setProperty("--editor", `${part}%`); bar.setAttribute("aria-valuenow", String(Math.round(part))); keep("editor width", part); };
    set(kept("editor width", 42));
    bar.addEventListener("pointerdown", (event) => { bar.setPointerCapture(event.pointerId); event.preventDefault(); });
    bar.addEventListener("pointermove", (event) => { if (bar.hasPointerCapture(event.pointerId)) set(100 * (event.clientX - this.root.getBoundingClientRect().left) / this.root.clientWidth); });
    bar.addEventListener("keydown", (event) => { const by = { ArrowLeft: -2, ArrowRight: 2 }[event.key]; if (by) { event.preventDefault(); set(Number(bar.getAttribute("aria-valuenow")) + by); } });
    this.pane.after(bar);
  }

  keys() {
    key("Ctrl-Enter", t("key_run"));
    key("Ctrl-Space", t("key_complete"));
    key("Ctrl-/", t("key_comment"));
    key("Shift-Alt-F", t("key_format"));
    if (this.root.dataset.save) key("Ctrl-S", t("key_save"));
    key("1 2 3 4 5 6", t("key_view"), (event) => this.results.choose(VIEWS[Number(event.key) - 1], true));
    key("[ ]", t("key_history"), (event) => this.step(event.key === "[" ? 1 : -1));
    key("↑ ↓ Enter c", t("key_table"));
  }
}

export const start = (root) => new Page(root).start();
