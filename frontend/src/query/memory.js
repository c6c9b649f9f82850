// What this browser remembers: query texts with time, rows and seconds (null: it never ran); never results.
const KEY = "kgplatform queries", MOST = 50, LONGEST = 8000;

const read = () => {
  try { const found = JSON.parse(localStorage.getItem(KEY) ?? "[]"); return Array.isArray(found) ? found.filter((one) => typeof one?.query === "string") : []; } catch { return []; }
};

const write = (listed) => { try { localStorage.setItem(KEY, JSON.stringify(listed)); } catch { /* full, or a private window: then it is not remembered */ } };

export const remembered = read;

export const remember = (query, { rows, seconds }) => {
  if (query.length > LONGEST || (rows === null && read().some((one) => one.query === query))) return;
  write([{ query, rows, seconds, when: Date.now() }, ...read().filter((one) => one.query !== query)].slice(0, MOST));
};

export const forget = () => write([]);

/** A number that this browser remembers under a name, such as the width of a pane. */
export const kept = (name, fallback) => { try { const value = Number(localStorage.getItem(`kgplatform ${name}`)); return Number.isFinite(value) && value > 0 ? value : fallback; } catch { return fallback; } };
export const keep = (name, value) => { try { localStorage.setItem(`kgplatform ${name}`, String(value)); } catch { /* for this page only */ } };

/** A line that tells queries apart: their comment, or what they begin with. */
export const titleOf = (query) => {
  const summary = /^#\+\s*summary:\s*(.+)$/m.exec(query) ?? /^#\s*(\S.*)$/m.exec(query);
  if (summary) return summary[1].trim();
  return query.split("\n").filter((line) => line.trim() && !/^\s*(PREFIX|BASE)\b/i.test(line)).join(" ").replace(/\s+/g, " ").slice(0, 90);
};

/** Where a reader is on a page, for when it is loaded again; it goes with the window. */
export const leave = (place) => { try { sessionStorage.setItem("kgplatform place", JSON.stringify({ url: location.href, ...place })); } catch { /* then it begins at the top */ } };

/** Where the reader was, if this page is one that was loaded before: by reload or by going back. */
export const returned = () => {
  try {
    const place = JSON.parse(sessionStorage.getItem("kgplatform place")), [loaded] = performance.getEntriesByType("navigation");
    return place?.url === location.href && loaded && loaded.type !== "navigate" ? place : null;
  } catch { return null; }
};
