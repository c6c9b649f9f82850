// Moments in the reader's zone: how long ago, or the day; the full time on hover. Without scripts the server's words stand.
import { language, t } from "./words.js";

const tag = language === "zh" ? "zh-CN" : "en-GB", AGAIN_MILLISECONDS = 30_000, WEEK_SECONDS = 7 * 86_400;
const ago = new Intl.RelativeTimeFormat(tag), full = new Intl.DateTimeFormat(tag, { dateStyle: "full", timeStyle: "long" }), day = new Intl.DateTimeFormat(tag, { dateStyle: "medium" });

/** So many whole units before now; a few seconds are none. */
const since = (seconds) => (seconds < 3600 ? ago.format(-Math.floor(seconds / 60), "minute") : seconds < 86_400 ? ago.format(-Math.floor(seconds / 3600), "hour") : ago.format(-Math.floor(seconds / 86_400), "day"));

/** Words every moment of the page anew. */
export const times = () => document.querySelectorAll("time[datetime]").forEach((node) => {
  const moment = new Date(node.dateTime), seconds = (Date.now() - moment) / 1000;
  if (Number.isNaN(seconds)) return;
  node.title = full.format(moment);
  if (seconds >= 60) node.textContent = seconds < WEEK_SECONDS ? since(seconds) : day.format(moment);
  else if (!node.textContent) node.textContent = t("just_now");
});

export const startTimes = () => {
  times();
  setInterval(times, AGAIN_MILLISECONDS);
};
