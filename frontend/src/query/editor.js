// The editor: CodeMirror with completion, checking, hovering and keys; colours are the stylesheet's.
import { acceptCompletion, autocompletion, closeBrackets, closeBracketsKeymap, closeCompletion, completionKeymap, startCompletion } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab, toggleComment } from "@codemirror/commands";
import { HighlightStyle, LanguageSupport, bracketMatching, foldKeymap, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { forceLinting, lintKeymap, linter, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState, RangeSet, StateEffect, StateField } from "@codemirror/state";
import { EditorView, GutterMarker, drawSelection, gutter, highlightActiveLine, highlightActiveLineGutter, hoverTooltip, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { styleTags, tags } from "@lezer/highlight";
import { SparqlLanguage } from "codemirror-lang-sparql";
import { getJSON, send } from "../lib/api.js";
import { h } from "../lib/dom.js";
import { language, number, short, t } from "../lib/words.js";
import { complete, headOf, schema } from "./completion.js";
import { declared, iriOf, tokens } from "./tokens.js";

const sparql = new LanguageSupport(SparqlLanguage.configure({ props: [styleTags({ "Pname_ln Pname_ns": tags.namespace, IriRef: tags.namespace, "RDFLiteral/Iri/...": tags.typeName, A_predicate: tags.keyword, Langtag: tags.annotation })] }));

const look = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--key)" }, { tag: [tags.namespace, tags.url, tags.typeName], color: "var(--accent)" }, { tag: tags.variableName, color: "var(--source)" },
  { tag: [tags.string, tags.annotation], color: "var(--text)" }, { tag: [tags.integer, tags.float, tags.bool], color: "var(--ink)" }, { tag: tags.comment, color: "var(--third)" },
]);

const theme = EditorView.theme({
  "&": { height: "100%", backgroundColor: "var(--surface)", color: "var(--ink)", fontSize: "13px" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "22px", overflow: "auto" },
  ".cm-content": { caretColor: "var(--ink)", padding: "12px 0 40px" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--third)", border: "none" },
  ".cm-lineNumbers .cm-gutterElement": { minWidth: "34px", padding: "0 10px 0 8px" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--active-line)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--selection)" },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": { backgroundColor: "var(--accent-tint)", outline: "1px solid var(--accent)" },
  ".cm-selectionMatch": { backgroundColor: "var(--accent-tint)" },
  ".cm-tooltip": { backgroundColor: "var(--surface)", color: "var(--ink)", border: "1px solid var(--line)", borderRadius: "6px", boxShadow: "var(--float)", maxWidth: "min(560px, 92vw)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: "13px", maxHeight: "340px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { display: "flex", gap: "16px", padding: "3px 10px", lineHeight: "20px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent-tint)", color: "var(--ink)" },
  ".cm-completionLabel": { flex: "0 0 auto" },
  ".cm-completionDetail": { flex: "1 1 auto", marginLeft: "0", textAlign: "right", fontStyle: "normal", fontFamily: "var(--sans)", fontSize: "12px", color: "var(--second)", overflow: "hidden", textOverflow: "ellipsis", whiteSpace: "nowrap" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "600" },
  ".cm-tooltip.cm-completionInfo": { padding: "8px 12px", fontFamily: "var(--sans)", fontSize: "13px", lineHeight: "20px", width: "260px" },
  ".cm-diagnostic": { borderLeft: "3px solid var(--bad)", padding: "6px 10px", fontFamily: "var(--sans)", fontSize: "13px", lineHeight: "20px" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--source)" },
  ".cm-diagnosticAction": { backgroundColor: "var(--accent)", color: "var(--on-accent)", borderRadius: "4px", minHeight: "22px", padding: "0 8px", fontSize: "12px" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad) 1.5px", textUnderlineOffset: "3px" },
  ".cm-lintRange-warning": { backgroundImage: "none", textDecoration: "underline wavy var(--source) 1px", textUnderlineOffset: "3px" },
  ".cm-panels": { backgroundColor: "var(--paper)", color: "var(--ink)", borderColor: "var(--line)" },
  ".cm-rows .cm-gutterElement": { padding: "0 8px 0 0", textAlign: "right", fontFamily: "var(--sans)", fontSize: "12px", fontVariantNumeric: "tabular-nums", color: "var(--second)" },
  ".cm-rows .slow": { color: "var(--source)", fontWeight: "600" },
  ".cm-placeholder": { color: "var(--third)" },
});

const offset = (doc, line, column) => {
  const found = doc.line(Math.max(1, Math.min(doc.lines, line || 1)));
  return Math.min(found.to, found.from + Math.max(0, (column || 1) - 1));
};

/** What the server says of a text, as marks for the editor. */
const marks = (doc, issues) => issues.map((issue) => {
  const from = issue.line ? offset(doc, issue.line, issue.column) : 0;
  const to = Math.max(from, Math.min(doc.length, from + Math.max(1, issue.length || 1)));
  const actions = (issue.instead ? [issue.instead] : issue.allowed.slice(0, 3)).filter((name) => issue.kind !== "impossible" || /[:<]/.test(name)).map((name) => ({
    name: t("use", { name }), apply: (view, start, end) => view.dispatch({ changes: { from: start, to: end, insert: name } }),
  }));
  const message = issue.instead ? `${issue.message}. ${t("did_you_mean", { word: issue.instead })}` : issue.message;
  return { from: Math.min(from, doc.length), to: Math.min(doc.length, to), severity: issue.severity, message, actions: issue.line && ["syntax", "unknown-class", "unknown-property", "unknown-term"].includes(issue.kind) ? actions : [] };
});

const checking = (report) => linter(async (view) => {
  const text = view.state.doc.toString();
  if (!text.trim()) { report(null); return []; }
  try {
    const found = await send("POST", "/api/validate", { query: text });
    report(found);
    return view.state.doc.toString() === text ? marks(view.state.doc, found.issues) : [];
  } catch { report(null); return []; }
}, { delay: 450 });

const names = new Map();
const said = async (iri) => {
  if (!names.has(iri)) names.set(iri, getJSON(`/api/suggest?iri=${encodeURIComponent(iri)}`).then((found) => found.items[0] ?? null).catch(() => null));
  return names.get(iri);
};

const hovering = hoverTooltip(async (view, pos) => {
  const text = view.state.doc.toString(), token = tokens(text).find((one) => one.from <= pos && pos <= one.to);
  if (!token || (token.kind !== "name" && token.kind !== "iri")) return null;
  const all = await schema(), iri = iriOf(token, { ...all.prefixes, ...declared(text) });
  if (!iri) return null;
  const term = all.classOf.get(iri) ?? all.propertyOf.get(iri), found = term ? null : await said(iri);
  if (!term && !found) return null;
  const [label, other] = term ? (language === "zh" ? [term.zh || term.en, term.zh ? term.en : ""] : [term.en || term.zh, term.en ? term.zh : ""]) : [found.label, found.other];
  const count = term ? t(all.classOf.has(iri) ? "instances" : "uses", { n: number(term.count) }) : (found.types ?? []).join(" · ");
  const comment = term ? (language === "zh" && term.about) || term.comment : found.comment;
  return { pos: token.from, end: token.to, above: true, create: () => ({ dom: h("div", { class: "hover" }, h("p", {}, h("strong", {}, label), other ? ` ${other}` : ""), comment ? h("p", {}, comment) : null, h("p", { class: "faint" }, [count, iri].filter(Boolean).join(" · "))) }) };
}, { hoverTime: 350 });

/** Adds the PREFIX line of a known prefix once its colon is typed. */
const prefixing = EditorView.updateListener.of((update) => {
  if (!update.docChanged || !update.transactions.some((one) => one.isUserEvent("input.type"))) return;
  const pos = update.state.selection.main.head, text = update.state.doc.toString();
  if (text[pos - 1] !== ":") return;
  schema().then((all) => {
    if (update.view.state.doc.toString() !== text) return;
    const token = tokens(text).find((one) => one.kind === "name" && one.to === pos), prefix = token?.text.slice(0, -1);
    const before = text.slice(Math.max(0, (token?.from ?? 0) - 8), token?.from ?? 0);
    if (!token || !all.prefixes[prefix] || prefix in declared(text) || /PREFIX\s+$/i.test(before)) return;
    update.view.dispatch({ changes: { from: headOf(text), insert: `PREFIX ${prefix}: <${all.prefixes[prefix]}>\n` } });
    startCompletion(update.view);
  });
});

class RowCount extends GutterMarker {
  constructor(text, title, isSlow) { super(); Object.assign(this, { text, title, isSlow }); }

  toDOM() { return h("span", { class: this.isSlow ? "slow" : null, title: this.title }, this.text); }
}

const counted = StateEffect.define();
/** The rows after each line, until the text changes. */
const counts = StateField.define({
  create: () => RangeSet.empty,
  update: (value, transaction) => transaction.effects.find((one) => one.is(counted))?.value ?? (transaction.docChanged ? RangeSet.empty : value),
});

/** What the gutter says of the steps of a plan: of each line its last step, or the slow one. */
const rowCounts = (doc, { steps, most }) => {
  const lines = new Map();
  for (const step of steps) if (step.line <= doc.lines && !lines.get(step.line)?.slow) lines.set(step.line, step);
  return RangeSet.of([...lines].map(([line, { rows, slow }]) => {
    const more = rows >= most ? "+" : "";
    return new RowCount(rows === null ? "?" : `${short(rows)}${more}`, rows === null ? "" : t("plan_rows", { n: `${number(rows)}${more}` }), slow).range(doc.line(line).from);
  }), true);
};

/** An editor in the element; `keys` are CodeMirror bindings, `report` hears what the check says. */
export const editor = (parent, text, { keys, report, changed }) => {
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        keymap.of([...keys, { key: "Mod-/", run: toggleComment }, { key: "Tab", run: acceptCompletion }]),
        lineNumbers(), counts, gutter({ class: "cm-rows", markers: (shown) => shown.state.field(counts) }), highlightActiveLine(), highlightActiveLineGutter(), history(), drawSelection(), indentOnInput(), bracketMatching(), closeBrackets(), highlightSelectionMatches(),
        indentUnit.of("  "), EditorState.tabSize.of(2), sparql, syntaxHighlighting(look), theme, placeholder("SELECT …"),
        autocompletion({ override: [complete], activateOnTyping: true, icons: false, maxRenderedOptions: 60, activateOnTypingDelay: 60 }),
        checking(report), hovering, prefixing,
        keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...foldKeymap, ...completionKeymap, ...lintKeymap, indentWithTab]),
        EditorView.contentAttributes.of({ "aria-label": t("editor"), spellcheck: "false", autocapitalize: "off", autocorrect: "off" }),
        EditorView.updateListener.of((update) => { if (update.docChanged) changed(); }),
        EditorView.lineWrapping,
      ],
    }),
  });
  return {
    view,
    text: () => view.state.doc.toString(),
    set: (next) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next }, selection: { anchor: 0 } }),
    focus: () => view.focus(),
    go: (line, column) => { const at = offset(view.state.doc, line, column); view.dispatch({ selection: { anchor: at }, scrollIntoView: true }); view.focus(); },
    mark: (issues) => view.dispatch(setDiagnostics(view.state, marks(view.state.doc, issues))),
    count: (plan) => view.dispatch({ effects: counted.of(rowCounts(view.state.doc, plan)) }),
    quiet: () => closeCompletion(view), // what is on its way is dropped too
    check: () => forceLinting(view),
  };
};
