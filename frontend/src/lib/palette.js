// Find anything: one box over every page, thing, class and property, by name in either language.
import { getJSON } from "./api.js";
import { at, h, later } from "./dom.js";
import { pages, t } from "./words.js";

let box = null;

const groups = (items) => {
  const found = new Map();
  for (const item of items) found.set(item.kind, [...(found.get(item.kind) ?? []), item]);
  return found;
};

const option = (item, index) => h("li", { role: "option", id: `found-${index}`, "aria-selected": "false", dataset: { page: item.page } },
  h("span", { class: "found-label" }, item.label, item.other ? h("span", { class: "faint" }, ` ${item.other}`) : null),
  h("span", { class: "found-what" }, (item.types ?? []).join(" · ") || (item.kind === "page" || item.kind === "ask" ? "" : item.name ?? "")));

/** Opens the box; `text` is what it begins with. */
export const openPalette = (text = "") => {
  if (box) return;
  const input = h("input", { type: "text", role: "combobox", "aria-expanded": "true", "aria-controls": "found", "aria-autocomplete": "list", "aria-label": t("find"), placeholder: t("find_hint"), maxlength: "200", autocomplete: "off", spellcheck: "false" });
  const list = h("ul", { id: "found", role: "listbox", "aria-label": t("find") });
  box = h("dialog", { class: "palette", "aria-label": t("find") }, input, list);
  let chosen = 0, running = null;

  const mark = (index) => {
    const options = list.querySelectorAll("[role=option]");
    if (!options.length) { input.removeAttribute("aria-activedescendant"); return; }
    chosen = (index + options.length) % options.length;
    options.forEach((node, at) => node.setAttribute("aria-selected", String(at === chosen)));
    input.setAttribute("aria-activedescendant", options[chosen].id);
    options[chosen].scrollIntoView({ block: "nearest" });
  };
  const fill = (items, text_) => {
    let index = 0;
    const rows = [];
    for (const [kind, found] of groups(items)) {
      if (kind !== "ask") rows.push(h("li", { class: "found-group", role: "presentation" }, t(`kind_${kind}`)));
      for (const item of found) rows.push(option(item, index++));
    }
    if (text_ && !items.some((item) => item.kind !== "ask")) rows.unshift(h("li", { class: "found-group", role: "presentation" }, t("find_none")));
    list.replaceChildren(...rows);
    mark(0);
  };
  const plain = () => fill(pages.map(([, href, label]) => ({ kind: "page", label, page: href })), "");
  const look = later(async (wanted) => {
    running?.abort();
    running = new AbortController();
    if (!wanted) return plain();
    const ways = [
      { kind: "ask", label: t("ask_this", { q: wanted }), page: `/ask?question=${encodeURIComponent(wanted)}` },
      { kind: "ask", label: t("find_all", { q: wanted }), page: `/search?q=${encodeURIComponent(wanted)}` },
    ];
    try {
      const found = await getJSON(`/api/suggest?q=${encodeURIComponent(wanted)}`, { signal: running.signal });
      fill([...found.items, ...ways], wanted);
    } catch (error) { if (error.name !== "AbortError") fill(ways, wanted); }
    return null;
  }, 90);
  const go = (newTab) => {
    const node = list.querySelectorAll("[role=option]")[chosen];
    if (!node) return;
    const page = at(node.dataset.page);
    if (newTab) open(page, "_blank", "noopener"); else location.assign(page);
  };
  input.addEventListener("input", (event) => { if (!event.isComposing) look(input.value.trim()); });
  input.addEventListener("compositionend", () => look(input.value.trim()));
  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") { event.preventDefault(); mark(chosen + (event.key === "ArrowDown" ? 1 : -1)); }
    if (event.key === "Enter") { event.preventDefault(); go(event.ctrlKey || event.metaKey); }
  });
  list.addEventListener("mousemove", (event) => { const node = event.target.closest("[role=option]"); const index = [...list.querySelectorAll("[role=option]")].indexOf(node); if (index >= 0 && index !== chosen) mark(index); });
  list.addEventListener("click", (event) => { const node = event.target.closest("[role=option]"); if (node) { mark([...list.querySelectorAll("[role=option]")].indexOf(node)); go(event.ctrlKey || event.metaKey); } });
  box.addEventListener("click", (event) => { if (event.target === box) box.close(); });
  box.addEventListener("close", () => { box.remove(); box = null; });
  document.body.append(box);
  box.showModal();
  input.value = text;
  input.focus();
  text ? look(text) : plain();
};

/** The search field of the bar opens the box; without scripts it stays a form. */
export const startPalette = () => {
  const field = document.querySelector(".find input");
  const from = (event) => { event.preventDefault(); field?.blur(); openPalette(field?.value ?? ""); };
  field?.addEventListener("mousedown", from);
  field?.addEventListener("input", from);
  addEventListener("keydown", (event) => {
    const typing = /^(input|textarea|select)$/i.test(document.activeElement?.tagName ?? "") || document.activeElement?.isContentEditable;
    const wanted = (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)) || (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey);
    if (!wanted || event.isComposing) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    openPalette();
  }, true);
};
