// The words of the interface, as the server sent them with the page.
const frame = (() => {
  const node = document.getElementById("frame");
  return node ? JSON.parse(node.textContent) : { language: "en", words: {}, pages: [] };
})();

export const language = frame.language;
export const pages = frame.pages;
export const mapSettings = frame.map ?? {};

const counted = /\{(\w+)\}([^{}[\]]*)\[([^|\]]*)\|([^\]]*)\]/g;
/** The phrase of key `ui_<key>` with its blanks filled in; `[one|many]` is the form for the number before it. */
export const t = (key, values = {}) => {
  const text = (frame.words[key.replace(/^ui_/, "")] ?? key)
    .replace(counted, (_, name, between, one, many) => `{${name}}${between}${String(values[name]) === "1" ? one : many}`);
  return text.replace(/\{(\w+)\}/g, (blank, name) => (name in values ? String(values[name]) : blank));
};

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 20 });
/** The number with its thousands apart. */
export const number = (value) => grouped.format(value);

const compactly = new Intl.NumberFormat(language === "zh" ? "zh" : "en", { notation: "compact", maximumFractionDigits: 1 });
/** The number in a few signs: 1.9M. */
export const short = (value) => compactly.format(value);

export const seconds = (value) => (value < 0.1 ? value.toFixed(3) : value < 10 ? value.toFixed(2) : value.toFixed(0));

/** The key that goes with Ctrl elsewhere: ⌘ on a Mac. */
export const command = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl";
