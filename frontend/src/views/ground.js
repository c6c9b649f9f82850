// The ground of maps: the world from afar, regions of it from nearby, with names; all of it packaged, nothing asked elsewhere.
import * as L from "leaflet";
import { h } from "../lib/dom.js";
import { getJSON } from "../lib/api.js";
import { language, mapSettings } from "../lib/words.js";

const NEAR = 4.5, MOST_NAMES = 70, LONGEST = 28;
const BASE = 100; // what is packed are differences of hundredths of a degree, or finer

/** The points of a packed line, as [latitude, longitude]. */
const unpack = (text, fine) => {
  const found = [], at = [0, 0];
  let value = 0, shift = 0, axis = 0;
  for (const sign of text) {
    const digit = (sign === "!" ? 92 : sign.charCodeAt(0)) - 35;
    value += (digit & 31) * 2 ** shift;
    shift += 5;
    if (digit & 32) continue;
    at[axis] += value % 2 ? -(value + 1) / 2 : value / 2;
    if (axis) found.push([at[1] / (BASE * fine), at[0] / (BASE * fine)]);
    axis = 1 - axis; value = 0; shift = 0;
  }
  return found;
};

/** The coast of a region: its rings without what only follows the edge of the region. */
const coast = (rings, [west, south, east, north]) => {
  const on = (value, edge) => Math.abs(value - edge) < 0.004;
  const cut = (a, b) => (on(a[0], south) && on(b[0], south)) || (on(a[0], north) && on(b[0], north)) || (on(a[1], west) && on(b[1], west)) || (on(a[1], east) && on(b[1], east));
  return rings.flatMap((ring) => {
    const found = [];
    let line = [];
    [...ring, ring[0]].forEach((point, at) => {
      if (at && cut(ring[at - 1], point)) { if (line.length > 1) found.push(line); line = []; }
      line.push(point);
    });
    return line.length > 1 ? [...found, line] : found;
  });
};

const still = { interactive: false };
const area = (rings, name, renderer) => L.polygon(rings, { ...still, renderer, className: name, fillRule: "evenodd", weight: 0.5, stroke: name === "lake" });
const path = (lines, name, renderer, weight) => L.polyline(lines, { ...still, renderer, className: name, weight, fill: false });

const drawRegion = (region, renderer) => {
  const of = (layer) => region[layer].map((line) => unpack(line, 5)), [west, south, east, north] = region.box, land = of("land");
  return L.layerGroup([
    L.rectangle([[south, west], [north, east]], { ...still, renderer, className: "sea", stroke: false }),
    area(land, "land", renderer), area(of("lakes"), "lake", renderer), path(of("rivers"), "river", renderer, 1),
    path(coast(land, region.box), "coast", renderer, 0.8), ...(mapSettings.boundaries ? [] : [path(of("borders"), "border", renderer, 1)]),
  ]);
};

let outlines = null;
/** What the settings add: tiles of a server that they name, outlines of one's own in place of the borders. */
const ownGround = async (map) => {
  if (mapSettings.tiles) L.tileLayer(mapSettings.tiles, { maxZoom: 19 }).addTo(map);
  if (!mapSettings.boundaries) return;
  try {
    outlines ??= await getJSON("/api/map/boundaries");
    L.geoJSON(outlines, { style: { className: "frontier", weight: 1 }, pointToLayer: () => null, interactive: false }).addTo(map);
  } catch (error) { console.warn(error); }
};

/** The ground under the points of a map; `changed` is called when there is more of it. Gives the cities in view. */
export const ground = async (map, changed) => {
  if (mapSettings.tiles) { await ownGround(map); return () => []; }
  map.createPane("ground").style.cssText = "z-index: 250; pointer-events: none";
  const renderer = L.svg({ pane: "ground", padding: 0.2 }), world = (await import("virtual:world")).default, { regions, step } = await import("virtual:regions");
  const shown = new Map(), names = new Map();
  area(world.land.map((ring) => unpack(ring, 1)), "land far", renderer).setStyle({ stroke: true }).addTo(map);
  const borders = path(world.borders.map((line) => unpack(line, 1)), "border", renderer, 0.8);
  const wanted = () => {
    if (map.getZoom() < NEAR) return [];
    const view = map.getBounds(), keys = [], down = (value) => Math.floor(value / step) * step;
    for (let west = down(view.getWest()); west < view.getEast(); west += step) {
      for (let south = down(view.getSouth()); south < view.getNorth(); south += step) if (regions[`${west}_${south}`]) keys.push(`${west}_${south}`);
    }
    return keys;
  };
  const add = async (key) => {
    try {
      const region = (await regions[key]()).default;
      if (!shown.has(key) || shown.get(key)) return; // it went, or came, meanwhile
      shown.set(key, drawRegion(region, renderer).addTo(map));
      names.set(key, region.names);
      changed();
    } catch (error) { console.warn(error); }
  };
  const follow = () => {
    const keys = new Set(wanted());
    for (const [key, layer] of shown) if (!keys.has(key)) { layer?.remove(); shown.delete(key); names.delete(key); }
    if (map.getZoom() < NEAR && !mapSettings.boundaries) borders.addTo(map); else borders.remove();
    for (const key of keys) if (!shown.has(key)) { shown.set(key, null); add(key); }
  };
  map.on("moveend", follow);
  follow();
  await ownGround(map);
  return () => (map.getZoom() < NEAR ? world.names : [...names.values()].flat()).filter(([, , , size]) => size >= Math.min(70, 84 - 4.5 * map.getZoom()));
};

const wide = (text) => [...text].reduce((sum, sign) => sum + (sign > "\u2e80" ? 12.5 : 6.6), 0);

/** Writes names beside what they name, the most important first, none over another: own points, then cities. */
export const nameThings = (map, layer, { own, cities, taken }) => {
  layer.clearLayers();
  const size = map.getSize(), boxes = [...taken], said = new Set(own.map(({ label }) => label));
  const free = (box) => boxes.every((other) => box[2] < other[0] || box[0] > other[2] || box[3] < other[1] || box[1] > other[3]);
  let left = MOST_NAMES;
  const write = (label, at, name, aside) => {
    if (!left) return;
    const text = label.length > LONGEST ? `${label.slice(0, LONGEST - 1)}…` : label, { x, y } = map.latLngToContainerPoint(at);
    if (x < 0 || y < 0 || x > size.x || y > size.y) return;
    const box = [x + aside, y - 8, x + aside + wide(text), y + 8];
    if (!free(box)) return;
    boxes.push(box);
    left -= 1;
    L.marker(at, { ...still, keyboard: false, icon: L.divIcon({ className: `map-name ${name}`, iconSize: [0, 0], iconAnchor: [-aside, 0], html: h("span", { "aria-hidden": "true" }, text) }) }).addTo(layer);
  };
  for (const { label, lat, lon, aside } of own) write(label, [lat, lon], "own", aside);
  for (const [label, x, y, rank, other] of cities.sort((a, b) => b[3] - a[3])) {
    const text = language === "zh" && other ? other : label;
    if (!said.has(label) && !said.has(other)) write(text, [y / BASE, x / BASE], rank >= 60 ? "city large" : "city", 6);
  }
};
