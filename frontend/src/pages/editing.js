// The form of an entity: a property that takes several values has another empty input once the last one is filled.
import { on } from "../lib/dom.js";

export const start = (root) => on(root, "input", "[data-more]", (event, input) => {
  if (!input.value) return;
  const more = input.cloneNode(true);
  more.value = "";
  more.id = `${input.id}-more`;
  input.removeAttribute("data-more");
  input.after(more);
});
