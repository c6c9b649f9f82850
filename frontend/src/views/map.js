// Maps: Leaflet over a packaged ground, no tiles. Near points are taken together; what is taken together opens on a click.
import * as L from "leaflet";
import css from "leaflet/dist/leaflet.css?text";
import { h, safe } from "../lib/dom.js";
import { colourOf, legend, look } from "../lib/classes.js";
import { pick } from "../lib/figures.js";
import { mapSettings, number, short, t } from "../lib/words.js";
import { ground, nameThings } from "./ground.js";

const NEAR = 34, CLOSE = 26, FEW = 60, NEAREST = 16;

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

const radius = (data) => {
  const values = data.points.map((point) => point.value).filter((value) => Number.isFinite(value) && value > 0);
  const most = Math.max(0, ...values);
  return (point) => (most && Number.isFinite(point.value) ? 4 + 11 * Math.sqrt(Math.max(0, point.value) / most) : 6);
};

/** The points in groups that are apart on the screen, farther for many; a group of several is one circle with their number. */
const clusters = (map, points) => {
  const found = [], apart = points.length <= FEW ? CLOSE : NEAR;
  for (const point of points) {
    const at = map.project([point.lat, point.lon]), group = found.find((one) => one.at.distanceTo(at) < apart);
    if (group) group.points.push(point); else found.push({ at, points: [point] });
  }
  return found.map((one) => one.points);
};

export const draw = async (stage, data, { figure }) => {
  style();
  const points = (data.points ?? []).filter((point) => Math.abs(point.lat) <= 90 && Math.abs(point.lon) <= 360);
  const canvas = h("div", { class: "canvas map-canvas", role: "region", "aria-label": t("map_of", { n: number(points.length) }) });
  stage.append(canvas);
  const map = L.map(canvas, { zoomControl: false, attributionControl: false, worldCopyJump: false, minZoom: 0, maxZoom: 17, scrollWheelZoom: false, zoomSnap: 0.25, fadeAnimation: false, zoomAnimation: false });
  L.control.zoom({ zoomInTitle: t("zoom_in"), zoomOutTitle: t("zoom_out") }).addTo(map);
  L.control.attribution({ prefix: false }).addAttribution(mapSettings.tiles ? "Leaflet" : `${t("map_credit")} · Leaflet`).addTo(map);
  L.control.scale({ imperial: false, position: "topright" }).addTo(map);
  const box = frame(data, points);
  const fit = () => map.fitBounds(box, { padding: [28, 28], maxZoom: data.bbox ? 17 : 9 });
  fit();
  const others = drawOthers(map, data), layer = L.layerGroup().addTo(map), named = L.layerGroup().addTo(map);
  const listeners = [], state = { picked: null, singles: [], taken: [] };
  let cities = () => [];
  const write = () => nameThings(map, named, { own: state.singles, cities: cities(), taken: state.taken });
  const paint = () => { drawPoints({ map, layer, points, data, figure, state, size: radius(data) }); write(); };
  cities = await ground(map, write);
  paint();
  map.on("zoomend", paint);
  map.on("moveend", write);
  map.on("moveend", () => { const b = map.getBounds(); listeners.forEach((run) => run({ bbox: [b.getWest(), b.getSouth(), b.getEast(), b.getNorth()] })); });
  canvas.addEventListener("wheel", (event) => { if (event.ctrlKey || event.metaKey) { event.preventDefault(); map.setZoomAround(map.mouseEventToContainerPoint(event), map.getZoom() - event.deltaY / 200); } }, { passive: false });
  const used = new Set(points.map((point) => point.class ?? null));
  const key = legend(data.classes, used) ?? h("ul", { class: "legend" });
  if (points.some((point) => point.approximate)) key.append(h("li", {}, h("span", { class: "about-mark", "aria-hidden": "true" }), t("approximate")));
  if (key.children.length) stage.append(key);
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

/** A list of what is at one spot, or too near to be told apart by going nearer. */
const list = (group, figure) => h("ul", { class: "here" }, group.slice(0, 200).map((point) => h("li", {},
  h("a", { href: safe(point.href) ?? "#", onclick: (event) => { event.preventDefault(); pick(figure, point.id, { ...point, href: safe(point.href) }); } }, point.label))));

const drawPoints = ({ map, layer, points, data, figure, state, size }) => {
  layer.clearLayers();
  Object.assign(state, { singles: [], taken: [] });
  const of = colourOf(data);
  for (const group of clusters(map, points)) group.length === 1 ? single(group[0]) : several(group);

  function single(point) {
    const { variable } = look(of(point)), names = ["point", point.approximate ? "about" : "", point.id === state.picked ? "picked" : ""];
    const marker = L.circleMarker([point.lat, point.lon], { radius: size(point), weight: point.id === state.picked ? 3 : 1.5, className: names.filter(Boolean).join(" ") }).addTo(layer);
    const node = marker.getElement(), value = point.value === undefined || point.value === null ? "" : ` · ${number(point.value)}`;
    node?.style.setProperty("--colour", `var(${variable})`);
    node?.setAttribute("aria-hidden", "true");
    marker.bindTooltip(words(`${point.title || `${point.label}${value}`}${point.approximate ? ` (${t("approximate")})` : ""}`));
    marker.on("click", () => pick(figure, point.id, { ...point, href: safe(point.href) }));
    const at = map.latLngToContainerPoint([point.lat, point.lon]);
    state.singles.push({ ...point, aside: size(point) + 4 });
    state.taken.push([at.x - 7, at.y - 7, at.x + 7, at.y + 7]);
  }

  function several(group) {
    const [{ lat, lon }] = group;
    const marker = L.marker([lat, lon], { icon: L.divIcon({ className: "cluster", iconSize: [28, 28], html: words(short(group.length)) }) }).addTo(layer);
    const named = `${t("places_here", { n: number(group.length) })}${t("colon")}${group.slice(0, 5).map((point) => point.label).join(t("comma"))}${group.length > 5 ? " …" : ""}`;
    marker.bindTooltip(words(named));
    marker.getElement()?.setAttribute("aria-label", named);
    const open = () => {
      const box = L.latLngBounds(group.map((point) => [point.lat, point.lon])), apart = map.project(box.getNorthEast(), NEAREST).distanceTo(map.project(box.getSouthWest(), NEAREST));
      if (apart > 2 * NEAR && map.getZoom() < NEAREST) map.fitBounds(box.pad(0.3), { maxZoom: NEAREST });
      else L.popup({ autoPanPadding: [12, 12], maxHeight: 220 }).setLatLng([lat, lon]).setContent(list(group, figure)).openOn(map);
    };
    marker.on("click", open).on("keypress", ({ originalEvent }) => { if (originalEvent.key === "Enter") open(); });
    const at = map.latLngToContainerPoint([lat, lon]);
    state.taken.push([at.x - 15, at.y - 15, at.x + 15, at.y + 15]);
  }
};
