// Questions that were typed and not asked: kept in this browser for their page, there again when it is.
const KEY = "kgplatform questions", MOST = 20, BOX = "form:not([method=dialog]) input[name=question]";

const read = () => { try { const found = JSON.parse(localStorage.getItem(KEY) ?? "[]"); return Array.isArray(found) ? found.filter((one) => Array.isArray(one) && one.every((part) => typeof part === "string")) : []; } catch { return []; } };
const write = (listed) => { try { localStorage.setItem(KEY, JSON.stringify(listed)); } catch { /* full, or a private window */ } };

/** The box by its page, whatever the language, and its form. */
const placeOf = (box) => {
  const url = new URL(location.href);
  ["lang", "data"].forEach((name) => url.searchParams.delete(name));
  return `${url.pathname}${url.search} ${box.form.classList[0] ?? ""}`;
};

const keep = (box) => {
  const place = placeOf(box), others = read().filter(([one]) => one !== place);
  write(box.value.trim() && box.value !== box.defaultValue ? [[place, box.value], ...others].slice(0, MOST) : others);
};

/** Puts back what was typed into the boxes below the root. */
export const restoreQuestions = (root = document) => root.querySelectorAll(BOX).forEach((box) => {
  const found = read().find(([place]) => place === placeOf(box));
  if (found && box.value === box.defaultValue) box.value = found[1];
});

export const startQuestions = () => {
  document.addEventListener("input", ({ target }) => { if (target.matches?.(BOX)) keep(target); });
  document.addEventListener("submit", ({ target }) => { // asked: it is among the answers now
    const box = target.querySelector(BOX), place = box && placeOf(box);
    if (box) write(read().filter(([one]) => one !== place));
  });
  restoreQuestions();
};
