// Saving a query in the workspace: a name for its address, and the question it answers where it answers one.
import { send } from "../lib/api.js";
import { h, live } from "../lib/dom.js";
import { t } from "../lib/words.js";

export const slugOf = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "").slice(0, 60).replace(/-+$/, "");

/** Fills in and opens the dialog of the page; `saved` hears the record of what was kept. */
export const openSaving = (dialog, query, title, saved) => {
  const form = dialog.querySelector("form"), [slug, question] = [form.elements.slug, form.elements.question], trouble = dialog.querySelector(".trouble");
  const summary = /^#\+\s*summary:\s*(.+)$/m.exec(query);
  question.value = summary ? summary[1] : "";
  slug.value = dialog.dataset.slug || slugOf(title).slice(0, 40);
  trouble.hidden = true;
  question.oninput = () => { if (!slug.dataset.touched && question.value) slug.value = slugOf(question.value); };
  slug.oninput = () => { slug.dataset.touched = "yes"; };
  form.onsubmit = async (event) => {
    event.preventDefault();
    try {
      const record = await send("PUT", `/api/saved/${encodeURIComponent(slug.value.trim())}`, { query, question: question.value.trim() });
      dialog.close();
      live(t("saved", { place: record.page }));
      saved(record);
    } catch (error) {
      trouble.hidden = false;
      trouble.replaceChildren(h("p", {}, error.detail));
    }
  };
  dialog.querySelector("[data-close]").onclick = () => dialog.close();
  dialog.showModal();
  question.focus();
};
