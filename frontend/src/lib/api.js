// Requests to this server, and its events; refusals come as `Problem`.
import { at, h } from "./dom.js";
import { t } from "./words.js";

export class Problem extends Error {
  constructor(record, status) {
    super(record.detail || record.title || `${status}`);
    Object.assign(this, { title: "", detail: this.message, ...record, status });
  }
}

const answered = async (response) => {
  away(false);
  const text = await response.text();
  let record = {};
  try { record = text ? JSON.parse(text) : {}; } catch { record = { detail: text.slice(0, 300) }; }
  if (!response.ok) throw new Problem(record, response.status);
  return record;
};

const asked = async (url, options) => {
  let response;
  try {
    response = await fetch(at(url), { credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    away(true);
    throw new Problem({ title: t("away"), detail: t("away") }, 0);
  }
  return answered(response);
};

export const getJSON = (url, { signal } = {}) => asked(url, { signal, headers: { Accept: "application/json" } });

export const send = (method, url, body = null, { signal } = {}) => asked(url, {
  method, signal,
  headers: { Accept: "application/json", ...(body === null ? {} : { "Content-Type": "application/json" }) },
  body: body === null ? undefined : JSON.stringify(body),
});

let bar = null;
/** Shows or takes away the slim bar that says the server is away. */
export const away = (isAway) => {
  if (isAway && !bar) bar = document.body.appendChild(h("p", { class: "away", role: "status" }, t("reconnecting")));
  if (!isAway && bar) { bar.remove(); bar = null; }
};

/** Server-sent events by name; reconnects, and says while it does. `close()` ends it. */
export const events = (url, listeners) => {
  const source = new EventSource(at(url));
  for (const [name, run] of Object.entries(listeners)) {
    source.addEventListener(name, (event) => {
      let data = event.data;
      try { data = JSON.parse(event.data); } catch { /* plain text */ }
      run(data, event);
    });
  }
  source.onopen = () => away(false);
  source.onerror = () => away(source.readyState !== EventSource.CLOSED);
  addEventListener("pagehide", () => source.close(), { once: true });
  return source;
};
