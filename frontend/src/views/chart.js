// Charts: Observable Plot, coloured by the stylesheet's tokens so that theme and print follow by themselves.
import * as Plot from "@observablehq/plot";
import { h, safe } from "../lib/dom.js";
import { inZone, ofDay } from "../lib/times.js";
import { number, short, t } from "../lib/words.js";

export const table = (data) => {
  const { kind, rows } = data, many = rows.some((row) => row.series !== undefined), between = rows.some((row) => row.low !== undefined);
  const name = (axis, fallback) => axis?.label || fallback;
  const columns = [name(data.x, "x"), ...(kind === "histogram" ? [] : [name(data.y, "y")]), ...(kind === "heat" ? [data.value?.label || t("value")] : []), ...(many ? [t("class")] : []), ...(between ? [t("between", { low: "", high: "" }).trim()] : [])];
  return {
    columns,
    rows: rows.map((row) => [said(row.x, data.x), ...(kind === "histogram" ? [] : [said(row.y, data.y)]), ...(kind === "heat" ? [said(row.value, data.value)] : []), ...(many ? [row.series ?? ""] : []),
      ...(between ? [row.low === undefined ? "" : t("between", { low: said(row.low, measure(data)), high: said(row.high, measure(data)) })] : [])]),
  };
};

const measure = (data) => (data.kind === "bars" && data.horizontal ? data.x : data.y);

const said = (value, axis) => {
  if (value === null || value === undefined) return "";
  if (typeof value !== "number") return inZone(String(value));
  if (axis?.percent) return `${(100 * value).toFixed(Math.abs(value) < 0.1 ? 1 : 0)} %`;
  const rounded = Number.isInteger(value) ? value : Number(value.toPrecision(4));
  return `${number(rounded)}${axis?.unit ? ` ${axis.unit}` : ""}`;
};

const SERIES = ["var(--class-0)", "var(--class-1)", "var(--class-2)", "var(--class-3)", "var(--class-4)", "var(--class-other)"];

/** A number beside an axis; where only whole ones are counted, none between them. */
const tick = (value, whole) => (whole && !Number.isInteger(value) ? "" : Math.abs(value) >= 10_000 ? short(value) : number(value));

const scaleOf = (axis, values) => {
  const made = { label: axis?.label ? (axis.unit && !axis.percent ? `${axis.label} (${axis.unit})` : axis.label) : null, nice: true };
  if (axis?.domain) made.domain = axis.domain;
  if (axis?.percent) { made.percent = true; made.label = made.label ? `${made.label} (%)` : "%"; if (made.domain) made.domain = made.domain.map((value) => value * 100); }
  const numeric = values.every((value) => typeof value === "number"), whole = values.every(Number.isInteger);
  if (numeric && !axis?.percent && axis?.type !== "date") made.tickFormat = (value) => tick(value, whole);
  if (axis?.type === "category") { made.type = "band"; delete made.nice; }
  return made;
};

const dated = (rows, key) => rows.map((row) => ({ ...row, [key]: typeof row[key] === "string" ? new Date(/^-?\d{1,4}$/.test(row[key]) ? `${row[key].padStart(4, "0")}-01-01` : row[key]) : row[key] }));

const seriesOf = (data) => {
  const listed = data.series ?? [...new Set(data.rows.map((row) => row.series).filter((one) => one !== undefined && one !== null))];
  return listed.length ? listed : null;
};

const bars = (data, series, width) => {
  const flat = Boolean(data.horizontal), [cat, val] = flat ? ["y", "x"] : ["x", "y"];
  const order = [...new Set(data.rows.map((row) => row[cat]))];
  const grouped = series && series.length > 1;
  const bar = flat ? Plot.barX : Plot.barY, rule = flat ? Plot.ruleY : Plot.ruleX, text = flat ? Plot.textX : Plot.textY;
  const face = grouped ? { [`f${cat}`]: cat } : {};
  const channel = { ...face, [cat]: grouped ? "series" : cat };
  const wide = Math.max(...order.map((name) => width_(inZone(String(name)), 40)));
  const axis = { domain: order, label: data[cat]?.label ?? null, type: "band", tickFormat: (name) => cut(inZone(String(name)), flat ? 40 : 16) };
  const marks = [
    bar(data.rows, { ...channel, [val]: val, fill: grouped ? "series" : "var(--class-0)", ...(flat ? { insetTop: 1, insetBottom: 1, rx2: 2 } : { insetLeft: 1, insetRight: 1, ry2: 2 }), href: (row) => safe(row.href), title: (row) => tip(row, data, cat, val) }),
    data.rows.some((row) => row.low !== undefined) ? ["var(--paper)", "var(--ink)"].map((stroke, over) => rule(data.rows, { ...channel, [`${val}1`]: "low", [`${val}2`]: "high", stroke, strokeWidth: over ? 1.4 : 4 })) : null,
    data.rows.length <= 60 && !grouped ? text(data.rows, { ...channel, [val]: (row) => row.high ?? row[val], text: (row) => row.label ?? said(row[val], data[val]), fill: "var(--second)", ...(flat ? { textAnchor: "start", dx: 6 } : { dy: -8 }), fontVariant: "tabular-nums" }) : null,
    flat ? Plot.ruleX([0], { stroke: "var(--third)" }) : Plot.ruleY([0], { stroke: "var(--third)" }),
  ];
  const scale = scaleOf(data[val], data.rows.map((row) => row[val]));
  return {
    [val]: flat ? { ...scale, axis: data.rows.length <= 60 && !grouped && !data.x?.domain ? null : "bottom" } : { ...scale, grid: true },
    ...(grouped ? { [`f${cat}`]: { ...axis, padding: 0.2, ...(flat ? { axis: "left" } : {}) }, [cat]: { axis: null, domain: series, padding: 0.05 } } : { [cat]: { ...axis, padding: 0.25, ...(flat ? {} : { tickRotate: order.length * 60 > width ? -35 : 0 }) } }),
    marginLeft: flat ? Math.min(220, 14 + wide) : 56, marginRight: flat ? 84 : 16, marginBottom: flat ? (data.x?.label || data.x?.domain ? 40 : 16) : order.length * 60 > width ? 84 : 40, marginTop: flat ? 16 : 28,
    height: flat ? 40 + order.length * (grouped ? 14 * series.length + 12 : order.length > 20 ? 20 : 28) : 320,
    marks,
  };
};

const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
const width_ = (text, most = 30) => [...cut(text, most)].reduce((sum, sign) => sum + (sign > "⺀" ? 13 : 6.6), 0);
const tip = (row, data, a, b) => (row.title ? inZone(row.title) : null) ?? `${said(row[a], data[a])}${row.series ? ` · ${row.series}` : ""}: ${said(row[b], data[b])}${row.low !== undefined ? ` (${t("between", { low: said(row.low, data[b]), high: said(row.high, data[b]) })})` : ""}`;

const lines = (data, series) => {
  const rows = data.x?.type === "date" ? dated(data.rows, "x") : data.rows;
  const stroke = series && series.length > 1 ? "series" : "var(--class-0)", z = series ? "series" : null;
  return {
    x: { ...scaleOf(data.x, rows.map((row) => row.x)), ...(data.x?.type === "date" ? ofDay(data.rows.map((row) => row.x)) : {}), ...(data.x?.type === "category" ? { type: "point", domain: [...new Set(rows.map((row) => row.x))] } : {}) },
    y: { ...scaleOf(data.y, rows.map((row) => row.y)), grid: true }, height: 320, marginLeft: 56, marginRight: 24, marginTop: 28,
    marks: [
      rows.some((row) => row.low !== undefined) ? Plot.areaY(rows, { x: "x", y1: "low", y2: "high", z, fill: stroke, fillOpacity: 0.14 }) : null,
      Plot.lineY(rows, { x: "x", y: "y", z, stroke, strokeWidth: 2 }),
      rows.length <= 200 ? Plot.dot(rows, { x: "x", y: "y", fill: stroke, r: 3, href: (row) => safe(row.href), title: (row) => tip(row, data, "x", "y") }) : null,
    ],
  };
};

const scatter = (data, series) => ({
  x: { ...scaleOf(data.x, data.rows.map((row) => row.x)), grid: true }, y: { ...scaleOf(data.y, data.rows.map((row) => row.y)), grid: true }, height: 380, marginLeft: 56, marginTop: 28, marginBottom: 40, inset: 8,
  marks: [
    Plot.dot(data.rows, { x: "x", y: "y", r: data.rows.some((row) => row.size) ? "size" : 4, fill: series && series.length > 1 ? "series" : "var(--class-0)", fillOpacity: 0.75, symbol: series && series.length > 1 ? "series" : undefined, href: (row) => safe(row.href), title: (row) => row.title ?? `${row.label ? `${row.label}: ` : ""}${said(row.x, data.x)}, ${said(row.y, data.y)}` }),
    data.rows.length <= 40 ? Plot.text(data.rows, { x: "x", y: "y", text: (row) => cut(row.label ?? "", 18), dy: -10, fill: "var(--second)", fontSize: 11 }) : null,
  ],
});

const heat = (data) => {
  const xs = [...new Set(data.rows.map((row) => row.x))], ys = [...new Set(data.rows.map((row) => row.y))];
  const [low, high] = data.value?.domain ?? [Math.min(...data.rows.map((row) => row.value)), Math.max(...data.rows.map((row) => row.value))];
  const part = (row) => Math.max(0, Math.min(1, (row.value - low) / (high - low || 1)));
  const left = Math.min(200, 14 + Math.max(...ys.map((name) => width_(String(name)))));
  const bottom = Math.min(110, 28 + 0.66 * Math.max(...xs.map((name) => width_(cut(String(name), 18)))));
  return {
    x: { domain: xs, label: data.x?.label ?? null, type: "band", tickRotate: -40, padding: 0.04, tickFormat: (name) => cut(String(name), 18) },
    y: { domain: ys, label: data.y?.label ?? null, type: "band", padding: 0.04, tickFormat: (name) => cut(String(name), 30) },
    marginLeft: left, marginBottom: bottom, marginRight: 16, height: 24 + bottom + ys.length * 28,
    marks: [
      Plot.cell(data.rows, { x: "x", y: "y", fill: "var(--class-0)", fillOpacity: (row) => 0.06 + 0.94 * part(row), rx: 2, href: (row) => safe(row.href), title: (row) => row.title ?? `${row.y} · ${row.x}: ${row.label ?? said(row.value, data.value)}` }),
      xs.length * ys.length <= 400 ? Plot.text(data.rows, { x: "x", y: "y", text: (row) => row.label ?? said(Number(row.value?.toPrecision?.(2)), data.value), fill: (row) => (part(row) > 0.5 ? "var(--on-class)" : "var(--ink)"), fontSize: 11 }) : null,
    ],
    opacity: { type: "identity" },
  };
};

const histogram = (data) => ({
  x: scaleOf(data.x, data.rows.map((row) => row.x)), y: { grid: true, label: null, tickFormat: (value) => tick(value, true) }, height: 290, marginLeft: 48, marginBottom: 40,
  marks: [Plot.rectY(data.rows, Plot.binX({ y: "count" }, { x: "x", fill: "var(--class-0)", inset: 0.5, tip: false })), Plot.ruleY([0], { stroke: "var(--third)" })],
});

const MADE = { bars, lines, scatter, heat, histogram };

export const draw = (stage, data) => {
  if (!data.rows?.length) { stage.append(h("p", { class: "empty" }, t("nothing_to_show"))); return {}; }
  const series = seriesOf(data), make = MADE[data.kind] ?? bars;
  const paint = () => {
    const width = Math.max(280, stage.clientWidth || 640);
    const chart = Plot.plot({
      width, style: { background: "none", fontFamily: "inherit", fontSize: "12px", color: "var(--second)", overflow: "visible" },
      ...(series && series.length > 1 ? { color: { domain: series, range: series.map((_, index) => SERIES[index % SERIES.length]) } } : {}),
      ...make(data, series, width),
    });
    chart.querySelectorAll("[aria-label]").forEach((node) => node.removeAttribute("aria-label"));
    chart.querySelectorAll("a").forEach((node) => node.setAttribute("aria-hidden", "true"));
    chart.querySelectorAll("a").forEach((node) => node.setAttribute("tabindex", "-1"));
    chart.setAttribute("role", chart.querySelector("a") ? "group" : "img"); // a picture holds no links
    chart.setAttribute("aria-label", data.title ? inZone(data.title) : t("chart_of", { n: number(data.rows.length) }));
    stage.replaceChildren(chart);
    if (series && series.length > 1) stage.append(h("ul", { class: "legend" }, series.map((name, index) => h("li", {}, h("i", { class: "dot", style: { "--n": SERIES[index % SERIES.length] } }), name))));
  };
  paint();
  let width = stage.clientWidth;
  const watch = new ResizeObserver(() => { if (Math.abs(stage.clientWidth - width) > 8) { width = stage.clientWidth; paint(); } });
  watch.observe(stage);
  return { destroy: () => watch.disconnect(), repaint: paint };
};
