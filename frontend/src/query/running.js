// One query at a time: a button that becomes Cancel, a clock, and a server that is free again when one cancels.
import { send } from "../lib/api.js";
import { naming } from "./names.js";

const nameOf = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

export class Running {
  constructor() { this.now = null; }

  get is() { return this.now !== null; }

  /** The result of the query; null where it was cancelled; `patient`: it may take minutes. Raises `Problem`. */
  run(query, { patient = false } = {}) { return this.ask("/api/run", { query, ...(patient ? { patient } : {}) }, naming); }

  /** How the query runs; null where that was cancelled. Raises `Problem`. */
  explain(query) { return this.ask("/api/plan", { query }, (plan) => plan); }

  async ask(address, body, read) {
    await this.cancel();
    const mine = { name: nameOf(), stop: new AbortController(), cancelled: false };
    this.now = mine;
    try {
      return read(await send("POST", address, { ...body, name: mine.name }, { signal: mine.stop.signal }));
    } catch (error) {
      if (mine.cancelled) return null;
      throw error;
    } finally {
      if (this.now === mine) this.now = null;
    }
  }

  /** Ends what runs, on the server too; whether there was anything. */
  async cancel() {
    const mine = this.now;
    if (!mine) return false;
    mine.cancelled = true;
    try { await send("DELETE", `/api/run/${mine.name}`); } catch { /* it ended by itself */ }
    mine.stop.abort();
    if (this.now === mine) this.now = null;
    return true;
  }
}
