// A page that waits for work of the server: the seconds that it took so far, and the page anew once it is done.
import { events } from "../lib/api.js";
import { seconds, t } from "../lib/words.js";

export const start = (root) => {
  const begun = performance.now(), clock = root.querySelector(".clock");
  setInterval(() => { clock.textContent = t("seconds_short", { n: seconds((performance.now() - begun) / 1000) }); }, 1000);
  events("/api/jobs/events", { end: () => location.reload() });
};
