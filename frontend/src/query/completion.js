// Completion from this graph and nothing else: classes and properties with counts, things by label in either language.
import { getJSON } from "../lib/api.js";
import { language, number, t } from "../lib/words.js";
import { Reader, declared, iriOf, TYPE } from "./tokens.js";

let known = null;
/** The schema of the graph, asked for once. */
export const schema = () => {
  known ??= getJSON("/api/completion").then(indexed).catch(() => { known = null; return indexed({ prefixes: {}, classes: [], properties: [] }); });
  return known;
};

const indexed = (record) => ({
  ...record,
  classOf: new Map(record.classes.map((one) => [one.iri, one])),
  propertyOf: new Map(record.properties.map((one) => [one.iri, one])),
});

const WORDS = ["SELECT", "DISTINCT", "WHERE", "FILTER", "OPTIONAL", "UNION", "MINUS", "VALUES", "BIND", "GRAPH", "ORDER BY", "GROUP BY", "HAVING", "LIMIT", "OFFSET", "CONSTRUCT", "DESCRIBE", "ASK", "PREFIX", "NOT EXISTS", "EXISTS", "ASC", "DESC", "COUNT", "SUM", "MIN", "MAX", "AVG", "GROUP_CONCAT", "SAMPLE", "LANG", "STR", "CONTAINS", "LCASE", "REGEX", "STRSTARTS", "BOUND", "COALESCE", "IF", "YEAR"];
const START = /[^\s{}()<>;,"'[\]^/|!*+=&]*$/u;

const both = (item) => (language === "zh" ? [item.zh, item.en] : [item.en, item.zh]).filter(Boolean).join(" ");

const fits = (item, wanted) => {
  if (!wanted) return 1;
  const name = item.name.toLowerCase(), local = name.slice(name.indexOf(":") + 1), en = (item.en ?? "").toLowerCase(), zh = item.zh ?? "";
  if (name.startsWith(wanted) || local.startsWith(wanted)) return 4;
  if (en.startsWith(wanted) || zh.startsWith(wanted)) return 3;
  return name.includes(wanted) || en.includes(wanted) || zh.includes(wanted) ? 2 : 0;
};

/** Puts the name where it belongs, and the PREFIX line above if the text has none. */
const apply = (name, iri, prefixes) => (view, completion, from, to) => {
  const prefix = name.startsWith("<") ? null : name.slice(0, name.indexOf(":"));
  const text = view.state.doc.toString();
  const changes = [{ from, to, insert: name.startsWith("<") ? `<${iri}>` : name }];
  let moved = 0;
  if (prefix !== null && prefixes[prefix] && !(prefix in declared(text))) {
    const line = `PREFIX ${prefix}: <${prefixes[prefix]}>\n`;
    changes.unshift({ from: headOf(text), insert: line });
    moved = line.length;
  }
  view.dispatch({ changes, selection: { anchor: from + changes.at(-1).insert.length + moved }, userEvent: "input.complete", scrollIntoView: true });
};

/** Where a PREFIX line goes: behind the comments that head the text. */
export const headOf = (text) => {
  const match = /^(?:[ \t]*#[^\n]*\n)*/.exec(text);
  return match[0].length;
};

const entry = (item, count, boost, prefixes, type) => ({
  label: item.name, detail: [both(item), count].filter(Boolean).join(" · "), type, boost,
  info: item.comment || item.about ? (language === "zh" && item.about ? item.about : item.comment || item.about) : undefined,
  apply: apply(item.name, item.iri, prefixes),
});

const ranked = (items, wanted, made) => items.map((item, index) => [fits(item, wanted), index, item]).filter(([fit]) => fit)
  .sort((a, b) => b[0] - a[0] || a[1] - b[1]).slice(0, 60).map(([, , item], place) => made(item, 99 - place));

const classes = (all, wanted) => ranked(all.classes, wanted, (item, boost) => entry(item, number(item.count), boost, all.prefixes, "class"));

const percent = (part) => `${part >= 0.095 ? Math.round(100 * part) : (100 * part).toFixed(1)} %`;

/** The properties of the subject's class by the share of its things that have them; of all, by use, where it is not known. */
const properties = (all, wanted, types) => {
  const owner = types.map((iri) => all.classOf.get(iri)).find((one) => one?.properties.length);
  if (!owner) return ranked(all.properties, wanted, (item, boost) => entry(item, number(item.count), boost, all.prefixes, "property"));
  const owned = owner.properties.map(([index, count]) => ({ ...all.properties[index], used: count }));
  return ranked(owned, wanted, (item, boost) => entry(item, item.used <= owner.count ? percent(item.used / Math.max(1, owner.count)) : number(item.used), boost, all.prefixes, "property"));
};

const things = async (all, wanted) => {
  if (!wanted) return [];
  try {
    const { items } = await getJSON(`/api/suggest?kind=entity&q=${encodeURIComponent(wanted)}`);
    return items.map((item, place) => ({ label: item.name, detail: [item.label, item.other, item.types[0]].filter(Boolean).join(" · "), type: "thing", boost: 40 - place, apply: apply(item.name, item.iri, all.prefixes) }));
  } catch { return []; }
};

const variables = (reader, wanted, position) => [...new Set(reader.all.filter((token) => token.kind === "variable" && token.to !== position).map((token) => token.text))]
  .filter((name) => name.toLowerCase().startsWith(wanted)).map((name) => ({ label: name, type: "variable", boost: 50 }));

const keywords = (wanted) => WORDS.filter((word) => word.toLowerCase().startsWith(wanted)).map((word) => ({ label: word, type: "keyword", boost: -20 }));

/** The source of completions for CodeMirror. */
export const complete = async (context) => {
  const text = context.state.doc.toString(), { pos } = context;
  const line = context.state.doc.lineAt(pos), typed = START.exec(line.text.slice(0, pos - line.from))[0], from = pos - typed.length;
  const all = await schema();
  const reader = new Reader(text, all.prefixes), inside = reader.all.find((token) => token.from < pos && pos <= token.to);
  if (inside && (inside.kind === "comment" || inside.kind === "string") && pos < inside.to + 1) return null;
  const wanted = typed.toLowerCase().replace(/^[?$]/, (sign) => sign), place = reader.at(from);
  if (!typed && !context.explicit && !(place.role === "object" && isType(place) && text[pos - 1] === " ")) return null;
  const options = await offered(all, reader, place, wanted, pos);
  return options.length && !context.aborted ? { from, options, filter: false } : null;
};

const isType = ({ verb, prefixes }) => verb?.text === "a" || iriOf(verb, prefixes) === TYPE;

const offered = async (all, reader, place, wanted, pos) => {
  if (/^[?$]/.test(wanted)) return variables(reader, wanted, pos);
  const typesOf = (subject) => (subject ? place.types.get(subject.text) ?? [] : []);
  if (place.role === "object" && isType(place)) return classes(all, wanted);
  if (place.role === "verb") {
    const type = "a".startsWith(wanted) ? [{ label: "a", detail: "rdf:type", type: "keyword", boost: wanted === "a" || !wanted ? 99 : 0, apply: "a " }] : [];
    return [...type, ...properties(all, wanted, typesOf(place.subject))];
  }
  if (place.role === "object" || place.role === "expression") {
    const found = wanted ? await things(all, wanted.includes(":") ? wanted.slice(wanted.indexOf(":") + 1) : wanted) : [];
    return [...(wanted ? [] : variables(reader, "?", pos)), ...found, ...(place.role === "expression" ? [...keywords(wanted), ...(wanted.length > 1 ? classes(all, wanted) : [])] : [])];
  }
  if (place.role === "subject") return [...(wanted ? [] : variables(reader, "?", pos)), ...keywords(wanted), ...(await things(all, wanted))];
  return keywords(wanted);
};
