// Which view fits rows, by datatypes and exact names, never by parts of names; and the data of each view.
import { number, t } from "../lib/words.js";

const MOST_NODES = 300, MOST_POINTS = 2000, MOST_BARS = 40, MOST_CARDS = 200;
const LATITUDE = new Set(["lat", "latitude", "纬度"]), LONGITUDE = new Set(["long", "lon", "lng", "longitude", "经度"]);
const PICTURE = new Set(["image", "picture", "photo", "depiction", "图片", "照片"]);

/** A number, a date or a text for people, of a term. */
export const words = (term) => {
  if (!term) return "";
  if (term.k === "thing") return term.l;
  if (term.k === "number") { const value = Number(term.v); return Number.isFinite(value) && Math.abs(value) >= 10_000 ? number(value) : term.v; }
  return term.v;
};

const columnsOf = (result, kind) => result.columns.map((column, index) => ({ ...column, index })).filter((column) => column.kind === kind);
const at = (result, row, index) => (row[index] === null || row[index] === undefined ? null : result.terms[row[index]]);
const named = (result, names) => result.columns.findIndex((column) => names.has(column.name.toLowerCase()));

/** The column that names the rows: the first of things, else of texts. */
const naming = (result) => columnsOf(result, "thing").find((column) => !isLinking(result, column.index)) ?? columnsOf(result, "text")[0] ?? null;

/** The name of the column of things that the rows are about; empty where there is none. */
export const nameOfRows = (result) => columnsOf(result, "thing").find((column) => !isLinking(result, column.index))?.name ?? "";

/** Whether a column holds properties, which are edges and not nodes. */
const isLinking = (result, index) => {
  const found = result.rows.slice(0, 50).map((row) => at(result, row, index)).filter(Boolean);
  return found.length > 0 && found.every((term) => term.p);
};

/** The label beside a thing: a column of texts called like it (`?city`, `?cityLabel`), else its own label. */
const labelOf = (result, column) => {
  if (!column) return () => "";
  const wanted = new Set([`${column.name}label`, `${column.name}name`, `${column.name}_label`].map((name) => name.toLowerCase())), other = result.columns.findIndex((one) => wanted.has(one.name.toLowerCase()));
  return (row) => words(other >= 0 && at(result, row, other) ? at(result, row, other) : at(result, row, column.index));
};

const places = (result) => {
  const wkt = columnsOf(result, "place")[0];
  if (wkt) return (row) => {
    const match = /POINT\s*\(\s*(-?[\d.]+)\s+(-?[\d.]+)\s*\)/i.exec(at(result, row, wkt.index)?.v ?? "");
    return match ? [Number(match[2]), Number(match[1])] : null;
  };
  const lat = named(result, LATITUDE), long = named(result, LONGITUDE);
  if (lat < 0 || long < 0) return null;
  return (row) => {
    const [a, b] = [at(result, row, lat), at(result, row, long)].map((term) => (term ? Number(term.v) : NaN));
    return Number.isFinite(a) && Number.isFinite(b) && Math.abs(a) <= 90 && Math.abs(b) <= 180 ? [a, b] : null;
  };
};

const numbers = (result) => columnsOf(result, "number").filter(({ name }) => !LATITUDE.has(name.toLowerCase()) && !LONGITUDE.has(name.toLowerCase()));
const classOf = (result, row, column) => (column ? at(result, row, column.index)?.c ?? null : null);
const dates = (result) => columnsOf(result, "date")[0] ?? columnsOf(result, "number").find(({ name }) => /^(year|年|年份)$/i.test(name)) ?? null;
const nodes = (result) => columnsOf(result, "thing").filter(({ index }) => !isLinking(result, index));

/** The views that fit, and the one that fits best. */
export const fitting = (result) => {
  const can = {
    table: true, chart: result.rows.length > 1 && numbers(result).length > 0, map: Boolean(places(result)), graph: nodes(result).length > 1 || result.form === "CONSTRUCT" || result.form === "DESCRIBE",
    timeline: Boolean(dates(result) && naming(result)), gallery: nodes(result).length > 0, text: Boolean(result.text),
  };
  if (!result.rows.length) return { can: { table: true, text: can.text }, best: "table" };
  const few = result.columns.length <= 3 && result.rows.length <= MOST_BARS;
  const best = can.map ? "map" : can.text ? "graph" : dates(result)?.kind === "date" ? "timeline" : can.chart && few ? "chart" : "table";
  return { can, best };
};

export const mapData = (result, query) => {
  const place = places(result), name = naming(result), label = labelOf(result, name), value = numbers(result)[0];
  const points = [];
  let total = 0;
  result.rows.forEach((row, index) => {
    const found = place(row);
    if (!found) return;
    total += 1;
    if (points.length >= MOST_POINTS) return;
    const thing = name ? at(result, row, name.index) : null;
    points.push({ id: thing?.v ?? `row ${index}`, label: label(row) || String(index + 1), lat: found[0], lon: found[1], class: classOf(result, row, name), href: thing?.h ?? "", value: value && at(result, row, value.index) ? Number(at(result, row, value.index).v) : null, title: value && at(result, row, value.index) ? `${label(row)} · ${value.name} ${words(at(result, row, value.index))}` : label(row) });
  });
  return { points, classes: result.classes, query, total: { points: total } };
};

export const graphData = (result, query) => {
  const columns = columnsOf(result, "thing"), linking = new Set(columns.filter(({ index }) => isLinking(result, index)).map(({ index }) => index));
  const isGraph = result.columns.length === 3 && linking.has(1) || Boolean(result.text);
  const found = new Map(), edges = new Map();
  const node = (term) => {
    if (!found.has(term.v)) found.set(term.v, { id: term.v, label: term.l ?? term.v, class: term.c ?? null, href: term.h ?? "", title: term.v });
    return term.v;
  };
  const edge = (source, target, label) => { const key = `${source}\n${target}\n${label}`; if (!edges.has(key)) edges.set(key, { source, target, label }); };
  for (const row of result.rows) {
    if (isGraph) {
      const [s, p, o] = [0, 1, 2].map((index) => at(result, row, index));
      if (s && o && (s.k === "thing" || s.k === "blank") && (o.k === "thing" || o.k === "blank") && !/#type$/.test(p?.v ?? "")) edge(node(s), node(o), p?.l ?? "");
      else if (s?.k === "thing") node(s);
      continue;
    }
    let before = null, label = "";
    result.columns.forEach((column, index) => {
      const term = at(result, row, index);
      if (!term || term.k !== "thing") return;
      if (linking.has(index)) { label = term.l; return; }
      const id = node(term);
      if (before && before !== id) edge(before, id, label || column.name);
      before = id;
      label = "";
    });
  }
  const total = found.size, kept = [...found.values()].slice(0, MOST_NODES), ids = new Set(kept.map(({ id }) => id));
  return { nodes: kept, edges: [...edges.values()].filter(({ source, target }) => ids.has(source) && ids.has(target)), classes: result.classes, query, total: { nodes: total } };
};

/** What a chart may be of: names, values and forms to choose from. */
export const chartChoices = (result) => ({
  names: result.columns.map((column, index) => ({ ...column, index })).filter(({ kind }) => kind !== "none").map(({ name, index }) => ({ name, index })),
  values: numbers(result).map(({ name, index }) => ({ name, index })),
});

export const chartDefaults = (result) => {
  const values = numbers(result), first = naming(result) ?? dates(result);
  const name = first ?? result.columns.map((column, index) => ({ ...column, index })).find(({ index }) => index !== values[0]?.index) ?? values[0];
  const kind = first === null && values.length === 1 ? "histogram" : name && (result.columns[name.index].kind === "date" || /^(year|年|年份)$/i.test(result.columns[name.index].name)) ? "lines" : values.length > 1 && result.rows.length > MOST_BARS ? "scatter" : "bars";
  return { name: name?.index ?? 0, value: values.find(({ index }) => index !== name?.index)?.index ?? values[0]?.index ?? 0, kind };
};

export const chartData = (result, query, { name, value, kind }) => {
  const column = { ...result.columns[name], index: name }, label = labelOf(result, column), numeric = column.kind === "number";
  const rows = result.rows.map((row) => ({ term: at(result, row, name), said: label(row), y: at(result, row, value) ? Number(at(result, row, value).v) : null, row })).filter(({ y }) => Number.isFinite(y));
  const valueName = result.columns[value].name;
  if (kind === "histogram") return { kind, x: { label: valueName, type: "number" }, rows: rows.map(({ y }) => ({ x: y })), query };
  if (kind === "scatter") {
    const other = numbers(result).find(({ index }) => index !== value)?.index ?? value;
    return { kind, x: { label: result.columns[other].name }, y: { label: valueName }, rows: rows.map(({ said, y, term, row }) => ({ x: Number(at(result, row, other)?.v), y, label: other === name ? "" : said, href: term?.h ?? "" })).filter(({ x }) => Number.isFinite(x)).slice(0, MOST_POINTS), query };
  }
  if (kind === "lines") return { kind, x: { label: column.name, type: column.kind === "date" ? "date" : numeric ? "number" : "category" }, y: { label: valueName }, rows: rows.map(({ term, said, y }) => ({ x: column.kind === "date" ? term?.v : numeric ? Number(term?.v) : said, y, title: `${said}: ${number(y)}` })).slice(0, MOST_POINTS).sort((a, b) => (numeric ? a.x - b.x : column.kind === "date" ? String(a.x).localeCompare(String(b.x)) : 0)), query };
  const shown = rows.slice(0, MOST_BARS), note = rows.length > MOST_BARS ? t("chart_first", { n: number(MOST_BARS) }) : undefined, seen = new Map();
  const unique = (text) => { const times = (seen.get(text) ?? 0) + 1; seen.set(text, times); return times > 1 ? `${text} (${times})` : text; };
  return { kind: "bars", horizontal: true, x: { label: valueName }, y: { label: null, type: "category" }, rows: shown.map(({ said, y, term }) => ({ x: y, y: unique(said || "–"), href: term?.h ?? "" })), note, query };
};

export const timelineData = (result, query) => {
  const date = dates(result), name = naming(result), label = labelOf(result, name);
  const end = columnsOf(result, date.kind).find(({ index }) => index > date.index && /end|until|to$|结束/i.test(result.columns[index].name));
  return { rows: result.rows.map((row) => ({ start: at(result, row, date.index)?.v, end: end ? at(result, row, end.index)?.v ?? null : null, label: label(row), class: classOf(result, row, name), href: name ? at(result, row, name.index)?.h ?? "" : "" })).filter(({ start }) => start), classes: result.classes, query };
};

/** Cards: a thing with the other values of its first row; a picture only where the address is of this server. */
export const cards = (result) => {
  const name = nodes(result)[0], label = labelOf(result, name), found = new Map();
  const picture = named(result, PICTURE);
  for (const row of result.rows) {
    const thing = at(result, row, name.index);
    if (!thing || found.has(thing.v)) continue;
    const facts = result.columns.map((column, index) => [column.name, at(result, row, index), index]).filter(([, term, index]) => term && index !== name.index && index !== picture);
    found.set(thing.v, { label: label(row), href: thing.h, color: thing.c === undefined ? null : result.classes[thing.c]?.color ?? null, picture: picture >= 0 ? at(result, row, picture)?.v ?? "" : "", facts: facts.map(([key, term]) => [key, words(term)]).filter(([, value]) => value !== label(row)) });
    if (found.size >= MOST_CARDS) break;
  }
  return [...found.values()];
};
