// The map in step with its list: moving the frame asks for what lies in it; the address keeps the frame.
import { later, on } from "../lib/dom.js";

export const start = (root) => {
  const figure = root.querySelector("#world");
  const part = root.querySelector("[data-part=frame]");
  let api = null, running = null;

  const listen = () => {
    part.querySelectorAll("[data-id]").forEach((item) => item.addEventListener("mouseenter", () => api?.pick?.(item.dataset.id)));
  };
  const follow = later(async (bbox) => {
    const url = new URL(location.href);
    url.searchParams.set("bbox", bbox.map((edge) => Math.round(edge * 1e4) / 1e4).join(","));
    running?.abort();
    running = new AbortController();
    try {
      const response = await fetch(url, { signal: running.signal, headers: { Accept: "text/html" } });
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const next = page.querySelector("[data-part=frame]");
      if (!next) return;
      part.replaceChildren(...next.childNodes);
      history.replaceState(history.state, "", url);
      listen();
    } catch (error) { if (error.name !== "AbortError") console.warn(error); }
  }, 250);
  figure.addEventListener("kgp:view", (event) => {
    api = event.detail.api;
    api.on?.("moved", ({ bbox }) => {
      const [west, south, east, north] = bbox;
      follow([Math.max(-360, west), Math.max(-90, south), Math.min(360, east), Math.min(90, north)]);
    });
  });
  figure.addEventListener("kgp:pick", (event) => {
    const item = [...part.querySelectorAll("[data-id]")].find((one) => one.dataset.id === event.detail.id);
    part.querySelectorAll(".picked").forEach((one) => one.classList.remove("picked"));
    if (!item || item.classList.contains("picked")) return;
    event.preventDefault();
    item.classList.add("picked");
    item.scrollIntoView({ block: "nearest" });
    api?.pick?.(event.detail.id);
  });
  on(root, "change", "select[name=class]", (event, select) => select.form.requestSubmit());
  listen();
};
