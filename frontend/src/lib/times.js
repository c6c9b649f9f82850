// Moments in the reader's zone: how long ago, or the day; the full time on hover. Without scripts the server's words stand.
import { language, t } from "./words.js";

const tag = language === "zh" ? "zh-CN" : "en-GB", AGAIN_MILLISECONDS = 30_000, WEEK_SECONDS = 7 * 86_400;
const ago = new Intl.RelativeTimeFormat(tag), full = new Intl.DateTimeFormat(tag, { dateStyle: "full", timeStyle: "long" }), day = new Intl.DateTimeFormat(tag, { dateStyle: "medium" }), minute = new Intl.DateTimeFormat(tag, { dateStyle: "medium", timeStyle: "short" });
const STAMP = /\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)/g;

/** So many whole units before now; a few seconds are none. */
const since = (seconds) => (seconds < 3600 ? ago.format(-Math.floor(seconds / 60), "minute") : seconds < 86_400 ? ago.format(-Math.floor(seconds / 3600), "hour") : ago.format(-Math.floor(seconds / 86_400), "day"));

/** Words every moment of the page anew: the elements, and the texts that hold none, such as options, around a blank. */
export const times = () => document.querySelectorAll("time[datetime], [data-when]").forEach((node) => {
  const moment = new Date(node.dataset.when ?? node.dateTime), seconds = (Date.now() - moment) / 1000, around = node.dataset.around ?? "{when}";
  if (Number.isNaN(seconds)) return;
  node.title = full.format(moment);
  const said = seconds < 60 ? (node.textContent ? "" : t("just_now")) : seconds < WEEK_SECONDS ? since(seconds) : day.format(moment);
  if (said) node.textContent = around.replace("{when}", said);
});

/** A text of a picture, which holds no elements: its moments as days and minutes in the reader's zone. */
export const inZone = (text) => text.replace(STAMP, (stamp) => minute.format(new Date(stamp)));

/** The scale for dates: where each has a time of day, in the reader's zone; days and years lie in none. */
export const ofDay = (texts) => ({ type: texts.every((text) => /T\d/.test(text)) ? "time" : "utc" });

export const startTimes = () => {
  times();
  setInterval(times, AGAIN_MILLISECONDS);
};
