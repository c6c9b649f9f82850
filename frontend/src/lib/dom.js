// Elements without HTML strings: whatever comes from data is text.

const root = document.documentElement.dataset.root ?? "";
/** An address of this server below the path of the workspace, if it has one, which the page says. */
export const at = (address) => (root && /^\/(?!\/)/.test(address) && !`${address}/`.startsWith(`${root}/`) ? root + address : address);

/** An element; attributes with `null` or `false` are left out, `on…` are listeners, children may be text. */
export const h = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on") && typeof value === "function") node.addEventListener(name.slice(2), value);
    else if (name === "dataset") Object.assign(node.dataset, value);
    else if (name === "style" && typeof value === "object") for (const [key, one] of Object.entries(value)) node.style.setProperty(key, one);
    else node.setAttribute(name, value === true ? "" : /^(href|src|action)$/.test(name) ? at(value) : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
};

export const on = (root, type, selector, run) => root.addEventListener(type, (event) => {
  const target = event.target instanceof Element ? event.target.closest(selector) : null;
  if (target && root.contains(target)) run(event, target);
});

let voice = null;
/** Says a sentence to screen readers, when they have time. */
export const live = (text) => {
  voice ??= document.body.appendChild(h("div", { class: "hidden", role: "status", "aria-live": "polite" }));
  voice.textContent = "";
  requestAnimationFrame(() => { voice.textContent = text; });
};

/** Links that pages may open: of this server, or plain web addresses. */
export const safe = (href) => (typeof href === "string" && /^(\/(?!\/)|https?:\/\/|#|\?)/.test(href) ? href : null);

/** Puts text on the clipboard; says so on the button for a moment. */
export const copy = async (text, button = null, done = "") => {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = h("textarea", { class: "hidden" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  if (done) live(done);
  if (!button || !done) return;
  const before = button.textContent;
  button.textContent = done;
  setTimeout(() => { button.textContent = before; }, 1500);
};

/** Saves text or a blob as a file. */
export const save = (name, content, type = "text/plain;charset=utf-8") => {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
};

/** The language tag for an element that holds a text: what has Chinese characters is Chinese. */
export const tag = (text) => (/[\u3400-\u9fff]/.test(text) ? "zh" : "en");

export const later = (run, wait) => {
  let timer = 0;
  return (...values) => { clearTimeout(timer); timer = setTimeout(() => run(...values), wait); };
};

export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
