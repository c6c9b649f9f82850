// Keys: what may be pressed, and the sheet that says so.
import { at, h } from "./dom.js";
import { command, pages, t } from "./words.js";

const here = [];
let waiting = 0;
const GO = { ask: "a", query: "q", explore: "e", map: "m", ontology: "o", documents: "d", communities: "c", evaluation: "v", courses: "k", literature: "l", retrieval: "r" };

/** Registers a key of this page, `Ctrl` in its name for the command key; `run` may be left out where others see to it. */
export const key = (name, what, run = null) => { here.push({ name, what, run }); };

const typing = () => {
  const node = document.activeElement;
  return node instanceof HTMLElement && (node.isContentEditable || /^(input|textarea|select)$/i.test(node.tagName));
};

const keysOf = (name) => name.split(" ").flatMap((part, index) => [index ? " " : "", h("kbd", {}, part.replace("Ctrl", command))]);

let sheet = null;
const showSheet = () => {
  if (sheet) return closeSheet();
  const everywhere = [["Ctrl-K /", t("key_find")], ["?", t("key_sheet")], ["Esc", t("key_close")], ...pages.filter(([name]) => GO[name]).map(([name, , label]) => [`g ${GO[name]}`, t("key_go", { page: label })])];
  const list = (rows) => h("dl", { class: "keys" }, rows.map(([name, what]) => h("div", {}, h("dt", {}, keysOf(name)), h("dd", {}, what))));
  sheet = h("dialog", { class: "sheet", "aria-label": t("keys") },
    h("h2", {}, t("keys")),
    h("div", { class: "sheet-columns" },
      h("section", {}, h("h3", {}, t("keys_anywhere")), list(everywhere)),
      here.length ? h("section", {}, h("h3", {}, t("keys_page")), list(here.map(({ name, what }) => [name, what]))) : null),
    h("p", { class: "buttons" }, h("button", { type: "button", onclick: () => closeSheet() }, t("close"))));
  sheet.addEventListener("close", () => { sheet?.remove(); sheet = null; });
  sheet.addEventListener("click", (event) => { if (event.target === sheet) closeSheet(); });
  document.body.append(sheet);
  sheet.showModal();
  return null;
};
const closeSheet = () => { sheet?.close(); };

export const startKeys = () => addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey || typing()) return;
  if (event.key === "?") { event.preventDefault(); showSheet(); return; }
  if (document.querySelector("dialog[open]")) return;
  if (waiting && Date.now() - waiting < 1200) {
    waiting = 0;
    const found = pages.find(([name]) => GO[name] === event.key);
    if (found) { event.preventDefault(); location.assign(at(found[1])); return; }
  }
  waiting = event.key === "g" ? Date.now() : 0;
  const own = here.find(({ name, run }) => run && name.split(" ").includes(event.key));
  if (own) { event.preventDefault(); own.run(event); }
});
