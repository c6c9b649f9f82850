// Maps: Leaflet over the world's land, no tiles, no frontiers. Near points are taken together.
import * as L from "leaflet";
import css from "leaflet/dist/leaflet.css?text";
import { h, safe } from "../lib/dom.js";
import { colourOf, legend, look } from "../lib/classes.js";
import { pick } from "../lib/figures.js";
import { getJSON } from "../lib/api.js";
import { mapSettings, number, short, t } from "../lib/words.js";

const NEAR = 38;

export const table = (data) => {
  const valued = data.points.some((point) => point.value !== undefined && point.value !== null);
  return {
    columns: [t("name"), t("latitude"), t("longitude"), ...(valued ? [t("value")] : [])],
    rows: data.points.map((point) => [point.label, point.lat.toFixed(4), point.lon.toFixed(4), ...(valued ? [number(point.value ?? "")] : [])]),
  };
};

let styled = false;
const style = () => {
  if (styled) return;
  styled = true;
  document.head.prepend(h("style", {}, css));
};

let land = null;
let outlines = null;
/** What the settings add to the land: tiles of a server that they name, outlines of one's own. */
const ownGround = async (map) => {
  if (mapSettings.tiles) L.tileLayer(mapSettings.tiles, { maxZoom: 19 }).addTo(map);
  if (!mapSettings.boundaries) return;
  try {
    outlines ??= await getJSON("/api/map/boundaries");
    L.geoJSON(outlines, { style: { className: "frontier", weight: 1 }, pointToLayer: () => null, interactive: false }).addTo(map);
  } catch (error) { console.warn(error); }
};

const ground = async (map) => {
  if (mapSettings.tiles) return ownGround(map);
  land ??= (await import("virtual:land")).default;
  const rings = land.map((ring) => ring.map(([lon, lat]) => [lat, lon]));
  L.polygon(rings, { className: "land", interactive: false, fillRule: "evenodd", weight: 0.5 }).addTo(map).bringToBack();
  return ownGround(map);
};

const radius = (data) => {
  const values = data.points.map((point) => point.value).filter((value) => Number.isFinite(value) && value > 0);
  const most = Math.max(0, ...values);
  return (point) => (most && Number.isFinite(point.value) ? 4 + 11 * Math.sqrt(Math.max(0, point.value) / most) : 6);
};

/** The points by the cells of a grid on the screen; a cell with several is one circle with their number. */
const clusters = (map, points, apart) => {
  const found = new Map();
  for (const point of points) {
    const at = map.project([point.lat, point.lon]);
    const key = apart ? `${point.id}` : `${Math.round(at.x / NEAR)} ${Math.round(at.y / NEAR)}`;
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(point);
  }
  return [...found.values()];
};

export const draw = async (stage, data, { figure }) => {
  style();
  const points = (data.points ?? []).filter((point) => Math.abs(point.lat) <= 90 && Math.abs(point.lon) <= 360);
  const canvas = h("div", { class: "canvas map-canvas", role: "region", "aria-label": t("map_of", { n: number(points.length) }) });
  stage.append(canvas);
  const map = L.map(canvas, { zoomControl: false, attributionControl: false, worldCopyJump: false, minZoom: 0, maxZoom: 17, scrollWheelZoom: false, zoomSnap: 0.25, fadeAnimation: false, zoomAnimation: false });
  L.control.zoom({ zoomInTitle: t("zoom_in"), zoomOutTitle: t("zoom_out") }).addTo(map);
  L.control.attribution({ prefix: false }).addAttribution(`${t("map_credit")} · Leaflet`).addTo(map);
  const box = frame(data, points);
  const fit = () => map.fitBounds(box, { padding: [28, 28], maxZoom: data.bbox ? 17 : 9 });
  fit();
  await ground(map);
  const others = drawOthers(map, data);
  const layer = L.layerGroup().addTo(map);
  const listeners = [];
  const state = { picked: null };
  const paint = () => drawPoints({ map, layer, points, data, figure, state, size: radius(data) });
  paint();
  map.on("zoomend", paint);
  map.on("moveend", () => { const b = map.getBounds(); listeners.forEach((run) => run({ bbox: [b.getWest(), b.getSouth(), b.getEast(), b.getNorth()] })); });
  canvas.addEventListener("wheel", (event) => { if (event.ctrlKey || event.metaKey) { event.preventDefault(); map.setZoomAround(map.mouseEventToContainerPoint(event), map.getZoom() - event.deltaY / 200); } }, { passive: false });
  const used = new Set(points.map((point) => point.class ?? null));
  const key = legend(data.classes, used);
  if (key) stage.append(key);
  const watch = new ResizeObserver(() => map.invalidateSize({ animate: false }));
  watch.observe(canvas);
  return {
    map, fit, others,
    on: (name, run) => { if (name === "moved") listeners.push(run); },
    pick: (id) => { state.picked = id; paint(); const point = points.find((one) => one.id === id); if (point && !map.getBounds().contains([point.lat, point.lon])) map.panTo([point.lat, point.lon]); },
    here: () => ({ at: [map.getCenter().lat, map.getCenter().lng], zoom: map.getZoom() }),
    restore: ({ at, zoom }) => map.setView(at, zoom, { animate: false }),
    destroy: () => { watch.disconnect(); map.remove(); },
  };
};

const frame = (data, points) => {
  if (data.bbox) return [[data.bbox[1], data.bbox[0]], [data.bbox[3], data.bbox[2]]];
  const lines = (data.lines ?? []).flatMap((line) => line.points);
  const all = [...points.map((point) => [point.lat, point.lon]), ...lines];
  return all.length ? L.latLngBounds(all) : [[-56, -150], [72, 170]];
};

const drawOthers = (map, data) => {
  const of = colourOf(data);
  const group = L.layerGroup().addTo(map);
  if (data.areas?.features?.length) L.geoJSON(data.areas, { style: { className: "area", weight: 1 }, interactive: false }).addTo(group);
  for (const line of data.lines ?? []) {
    const path = L.polyline(line.points, { className: "route", weight: 2 }).addTo(group);
    path.getElement()?.style.setProperty("stroke", `var(${look(of(line)).variable})`);
    if (line.label) path.bindTooltip(words(line.label), { sticky: true });
  }
  return group;
};

const words = (text) => h("span", {}, text);

const drawPoints = ({ map, layer, points, data, figure, state, size }) => {
  layer.clearLayers();
  const of = colourOf(data), apart = points.length <= 60 || map.getZoom() >= 14;
  for (const group of clusters(map, points, apart)) group.length === 1 ? single(group[0]) : several(group);

  function single(point) {
    const { variable } = look(of(point));
    const marker = L.circleMarker([point.lat, point.lon], { radius: size(point), weight: point.id === state.picked ? 3 : 1.5, className: point.id === state.picked ? "point picked" : "point" }).addTo(layer);
    const node = marker.getElement();
    node?.style.setProperty("--colour", `var(${variable})`);
    node?.setAttribute("aria-hidden", "true");
    marker.bindTooltip(words(point.title || (point.value === undefined || point.value === null ? point.label : `${point.label} · ${number(point.value)}`)));
    marker.on("click", () => pick(figure, point.id, { ...point, href: safe(point.href) }));
  }

  function several(group) {
    const lat = group.reduce((sum, point) => sum + point.lat, 0) / group.length, lon = group.reduce((sum, point) => sum + point.lon, 0) / group.length;
    const marker = L.marker([lat, lon], { keyboard: false, icon: L.divIcon({ className: "cluster", iconSize: [28, 28], html: words(short(group.length)) }) }).addTo(layer);
    marker.bindTooltip(words(`${t("places_here", { n: number(group.length) })}: ${group.slice(0, 5).map((point) => point.label).join(", ")}${group.length > 5 ? " …" : ""}`));
    marker.on("click", () => { const box = L.latLngBounds(group.map((point) => [point.lat, point.lon])); map.fitBounds(box.pad(0.3), { maxZoom: Math.max(map.getZoom() + 2, 6) }); });
  }
};
