// Timelines: points and spans in the order of time, named beside them.
import * as Plot from "@observablehq/plot";
import { h, safe } from "../lib/dom.js";
import { colourOf, legend, look } from "../lib/classes.js";
import { inZone, ofDay } from "../lib/times.js";
import { number, t } from "../lib/words.js";

const MOST = 120;

export const table = (data) => ({ columns: [t("name"), t("start"), t("end")], rows: data.rows.map((row) => [row.label, inZone(row.start ?? ""), inZone(row.end ?? "")]) });

/** A date from what data holds: a year, a month, a day or a moment; years before 1000 and before our era too. */
export const moment = (text) => {
  const match = /^(-?)(\d{1,6})(?:-(\d{2}))?(?:-(\d{2}))?(.*)$/.exec(String(text).trim());
  if (!match) return null;
  const year = Number(match[2]) * (match[1] ? -1 : 1);
  const made = match[5] && !match[1] ? new Date(text) : new Date(Date.UTC(2000, Number(match[3] ?? 1) - 1, Number(match[4] ?? 1)));
  if (!(match[5] && !match[1])) made.setUTCFullYear(year);
  return Number.isNaN(made.getTime()) ? null : made;
};

export const draw = (stage, data) => {
  const of = colourOf(data);
  const all = data.rows.map((row) => ({ ...row, from: moment(row.start), to: row.end ? moment(row.end) : null })).filter((row) => row.from);
  const rows = all.sort((a, b) => a.from - b.from).slice(0, MOST).map((row, index) => ({ ...row, line: index }));
  if (!rows.length) { stage.append(h("p", { class: "empty" }, t("nothing_to_show"))); return {}; }
  if (all.length > MOST) data.note ??= t("chart_first", { n: number(MOST) });
  const fill = (row) => `var(${look(of(row)).variable})`;
  const first = rows[0].from, last = rows.reduce((most, row) => ((row.to ?? row.from) > most ? row.to ?? row.from : most), first), middle = (Number(first) + Number(last)) / 2;
  const paint = () => {
    const chart = Plot.plot({
      width: Math.max(280, stage.clientWidth || 640), height: 56 + rows.length * 24, marginLeft: 24, marginRight: 24, marginTop: 32,
      style: { background: "none", fontFamily: "inherit", fontSize: "12px", color: "var(--second)" },
      x: { ...ofDay(rows.map((row) => row.start)), axis: "top", grid: true, label: null, nice: true }, y: { axis: null, domain: rows.map((row) => row.line), type: "band", padding: 0.35 },
      marks: [
        Plot.barX(rows.filter((row) => row.to), { x1: "from", x2: "to", y: "line", fill, rx: 3 }),
        Plot.dot(rows.filter((row) => !row.to), { x: "from", y: "line", fill, r: 5 }),
        ...[true, false].map((left) => Plot.text(rows.filter((row) => (Number(row.from) <= middle) === left), {
          x: left ? (row) => row.to ?? row.from : "from", y: "line", text: (row) => `${row.label} · ${inZone(row.start)}${row.end ? `–${inZone(row.end)}` : ""}`, textAnchor: left ? "start" : "end", dx: left ? 10 : -10, fill: "var(--ink)", href: (row) => safe(row.href), title: (row) => inZone(row.title ?? row.label),
        })),
      ],
    });
    chart.querySelectorAll("[aria-label]").forEach((node) => node.removeAttribute("aria-label"));
    chart.querySelectorAll("a").forEach((node) => { node.setAttribute("aria-hidden", "true"); node.setAttribute("tabindex", "-1"); });
    chart.setAttribute("role", "img");
    chart.setAttribute("aria-label", t("timeline_of", { n: number(rows.length) }));
    stage.replaceChildren(chart);
    const key = legend(data.classes, new Set(rows.map((row) => row.class ?? null)));
    if (key) stage.append(key);
  };
  paint();
  let width = stage.clientWidth;
  const watch = new ResizeObserver(() => { if (Math.abs(stage.clientWidth - width) > 8) { width = stage.clientWidth; paint(); } });
  watch.observe(stage);
  return { destroy: () => watch.disconnect() };
};
