// A question while it is answered: the steps as they are taken, then the page of the answer in place of this one.
import { send } from "../lib/api.js";
import { h, live } from "../lib/dom.js";
import { restoreQuestions } from "../lib/drafts.js";
import { startAll } from "../lib/figures.js";
import { number, t } from "../lib/words.js";
import { start as startAnswer } from "./ask.js";

const LONGEST = 120;

const nameOf = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const brief = (text) => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);

/** What is said of a step beside its name: how many, and of what. */
const said = ({ stage, detail, number: amount }) => {
  if (stage === "query") return h("code", { title: detail }, brief(detail.replace(/\s+/g, " ").trim()));
  if (stage === "source") return t(`step_source_${detail}`);
  const counted = amount === null ? "" : t(`step_number_${stage}`, { n: number(amount) });
  return [counted, brief(detail)].filter(Boolean).join(" · ");
};

class Waiting {
  constructor(root) {
    this.root = root;
    this.name = nameOf();
    this.list = root.querySelector(".steps");
    this.begun = performance.now();
    this.stages = new Map();
  }

  /** Waits for the answer; the promise is kept when the page of it is there, or nobody wants it any more. */
  start() {
    const clock = this.root.querySelector(".clock"), tick = () => { clock.textContent = t("running", { t: ((performance.now() - this.begun) / 1000).toFixed(1) }); };
    this.clock = setInterval(tick, 100);
    tick();
    this.root.querySelector("[data-cancel]").addEventListener("click", () => this.cancel());
    this.pressed = (event) => { if (event.key === "Escape" && !document.querySelector("dialog[open]")) this.cancel(); };
    addEventListener("keydown", this.pressed);
    return new Promise((resolve) => {
      this.resolve = resolve;
      this.source = new EventSource(`${this.root.dataset.events}&name=${this.name}`);
      this.source.addEventListener("step", ({ data }) => this.step(JSON.parse(data)));
      this.source.addEventListener("page", ({ data }) => this.arrived(JSON.parse(data).html));
      this.source.addEventListener("plain", () => this.plainly());
      this.source.onerror = () => this.plainly(); // it would ask again by itself
    });
  }

  step(step) {
    this.list.querySelectorAll("li:not(.done)").forEach((item) => item.classList.add("done"));
    const words = said(step), item = h("li", { class: "come" }, h("b", {}, t(`step_${step.stage}`)), words ? [" ", words] : null);
    const before = this.stages.get(step.stage);
    before ? before.replaceWith(item) : this.list.append(item); // a second try takes the place of the first
    this.stages.set(step.stage, item);
  }

  async arrived(html) {
    this.end();
    const page = new DOMParser().parseFromString(html, "text/html"), fresh = page.querySelector("[data-page=ask]");
    if (!fresh) { this.plainly(); return; }
    document.title = page.title;
    this.root.replaceWith(document.adoptNode(fresh));
    restoreQuestions(fresh);
    await Promise.all([startAnswer(fresh, { calmly: true }), startAll(fresh)]);
    live(fresh.querySelector(".answer")?.textContent ?? "");
    this.resolve();
  }

  end() {
    clearInterval(this.clock);
    this.source?.close();
    removeEventListener("keydown", this.pressed);
  }

  /** Goes on to the page without steps, unless the server is gone: the browser's own page would say nothing of the question. */
  async plainly() {
    this.end();
    try {
      await fetch(location.href, { method: "HEAD" });
      location.replace(this.root.dataset.plain);
    } catch { this.stopped(t("away")); }
  }

  /** Says in place of the clock why there is no answer, and offers to ask again. */
  stopped(why) {
    this.resolve();
    this.root.querySelector(".asking-now").replaceChildren(h("span", { class: "faint" }, why), " ", h("a", { href: location.href }, t("ask_again")));
    live(why);
  }

  /** Gives the question up: the server ends its work at the next step. */
  async cancel() {
    this.end();
    this.stopped(t("ask_cancelled"));
    try { await send("DELETE", `/api/ask/events/${this.name}`); } catch { /* it was answered meanwhile */ }
    this.root.querySelector(".askbox input[name=question]")?.focus();
  }
}

export const start = (root) => new Waiting(root).start();
