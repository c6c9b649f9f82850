// The Documents page: files dropped anywhere on it, and the work as it goes on, from the server's events.
import { events, getJSON } from "../lib/api.js";
import { later, live } from "../lib/dom.js";
import { number, t } from "../lib/words.js";
import { startAll } from "../lib/figures.js";
import { times } from "../lib/times.js";

const ASK_AGAIN_MILLISECONDS = 2000, LIST_MILLISECONDS = 600;

const duration = (seconds) => (seconds < 90 ? t("seconds_short", { n: Math.max(1, Math.round(seconds)) }) : t("minutes_short", { n: Math.round(seconds / 60) }));

/** Takes parts of the page anew from the server, as it shows them now. */
const renew = async (ids) => {
  const response = await fetch(location.href, { credentials: "same-origin" });
  if (!response.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  for (const id of ids) {
    const fresh = page.getElementById(id), old = document.getElementById(id);
    if (fresh && old) old.replaceWith(document.adoptNode(fresh));
  }
  times();
  await startAll();
};

const dropping = (root) => {
  const form = root.querySelector("form.drop");
  if (!form) return;
  const input = form.querySelector("input[type=file]");
  const limit = Number(form.dataset.limit) || Infinity, say = form.querySelector(".drop-say");
  const chosen = () => {
    const megabytes = [...input.files].reduce((sum, file) => sum + file.size, 0) / 1e6;
    if (megabytes > limit) { say.textContent = t("too_large", { n: number(Math.ceil(megabytes)), m: number(limit) }); live(say.textContent); return; }
    if (!input.files.length) return;
    form.classList.add("ready");
    say.textContent = t("sending");
    live(t("chosen", { n: number(input.files.length) }));
    form.submit();
  };
  input.addEventListener("change", chosen);
  let inside = 0;
  const holds = (event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragenter", (event) => { if (holds(event)) { inside += 1; form.classList.add("over"); } });
  addEventListener("dragleave", (event) => { if (holds(event) && --inside <= 0) { inside = 0; form.classList.remove("over"); } });
  addEventListener("dragover", (event) => { if (holds(event)) event.preventDefault(); });
  addEventListener("drop", (event) => {
    if (!holds(event)) return;
    event.preventDefault();
    inside = 0;
    form.classList.remove("over");
    input.files = event.dataTransfer.files;
    chosen();
  });
};

const paint = (record) => {
  const card = document.querySelector("#work .job");
  if (!card || record.state === "idle") return;
  const building = record.phase === "building", title = card.querySelector(".job-name");
  title.textContent = building ? t("job_building") : record.current ? record.current.split("/").pop() : t(record.state === "paused" ? "job_paused" : "job_reading");
  const said = [t("job_of", { n: number(record.done), m: number(record.total) })];
  if (record.failed) said.push(t("job_failed", { n: number(record.failed) }));
  if (record.rate) said.push(t("job_rate", { n: Number(record.rate.toPrecision(2)) }));
  if (record.eta_seconds !== null && record.state === "running" && !building) said.push(t("job_left", { t: duration(record.eta_seconds) }));
  if (record.crew) said.push(record.crew.note ? t("job_crew_gone") : t("job_crew", { n: number(record.crew.workers), m: number(record.crew.in_hand) }));
  if (record.state === "paused") said.push(t("job_paused"));
  card.querySelector(".job-line").textContent = said.join(" · ");
  [...card.querySelectorAll(".stages li")].forEach((item, index) => {
    const { stage, documents } = record.stages[index];
    item.className = record.stage === stage ? "now" : record.total && documents >= record.total ? "done" : "";
    item.style.setProperty("--part", record.total ? documents / record.total : 0);
    item.querySelector("b").textContent = number(documents);
  });
};

const watching = (root) => {
  let known = "", source = null, done = -1;
  const listed = later(() => renew(["counts", "shelf"]), LIST_MILLISECONDS);
  const shape = (record) => `${record.phase} ${record.state} ${record.run} ${record.trouble}`;
  const heard = (record) => {
    const now = shape(record);
    if (known && known !== now) renew(["work"]).then(() => paint(record));
    known = now;
    if (done >= 0 && record.done !== done) listed();
    done = record.done ?? 0;
    paint(record);
  };
  const ended = async () => { source?.close(); source = null; root.dataset.open = "no"; await renew(["counts", "work", "shelf"]); live(document.querySelector("#work .outcome")?.textContent ?? t("job_done")); };
  const again = async () => {
    const record = await getJSON("/api/jobs");
    heard(record);
    record.phase === "idle" && record.state !== "running" ? ended() : setTimeout(again, ASK_AGAIN_MILLISECONDS);
  };
  source = events("/api/jobs/events", { progress: heard, end: ended });
  source.addEventListener("error", () => { if (source?.readyState === EventSource.CLOSED) { source = null; again().catch(() => {}); } });
};

export const start = (root) => {
  dropping(root);
  if (root.dataset.open === "yes") watching(root);
};
