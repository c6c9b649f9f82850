// The look of classes: a colour and a shape by the server's number, the same in every picture.
import { h } from "./dom.js";
import { t } from "./words.js";

const SHAPES = ["ellipse", "round-rectangle", "diamond", "triangle", "hexagon"];
const PATHS = [
  "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2z", "M3 3h10v10H3z", "M8 1l7 7-7 7-7-7z", "M8 2l7 12H1z", "M4.5 2h7L15 8l-3.5 6h-7L1 8z",
];
const COLOURS = 5;

/** Reads a token of the stylesheet as it is in the present theme. */
export const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Colour and shape of the class with that number; none: grey and round. */
export const look = (index) => {
  if (index === null || index === undefined || index < 0) return { variable: "--class-other", shape: SHAPES[0], path: PATHS[0] };
  const round = Math.floor(index / COLOURS) % COLOURS;
  const shape = (index + round) % SHAPES.length;
  return { variable: `--class-${index % COLOURS}`, shape: SHAPES[shape], path: PATHS[shape] };
};

export const colour = (index) => token(look(index).variable);

/** The mark of a class: its shape in its colour. */
export const mark = (index) => {
  const { variable, path } = look(index);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", "mark-shape");
  svg.setAttribute("aria-hidden", "true");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
  line.setAttribute("d", path);
  line.style.fill = `var(${variable})`;
  svg.append(line);
  return svg;
};

/** The legend for the classes of a picture; empty where one class would be all it says. */
export const legend = (classes, used = null) => {
  const shown = (classes ?? []).filter((_, index) => !used || used.has(index));
  const others = used?.has(null) && shown.length;
  if (!shown.length) return null;
  return h("ul", { class: "legend" },
    shown.slice(0, 12).map((item) => h("li", {}, mark(item.color), item.label)),
    others ? h("li", {}, mark(null), t("other_class")) : null);
};

/** The class records of items, as numbers of colours. */
export const colourOf = (data) => (item) => (item.class === null || item.class === undefined ? (data.classes?.length ? null : 0) : data.classes?.[item.class]?.color ?? null);
