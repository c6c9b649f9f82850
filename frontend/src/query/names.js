// The names of things beyond the first rows: the rows are shown before these are known.
import { send } from "../lib/api.js";

const PIECE = 2000;

const localName = (iri) => {
  const found = /[^/#:]+[/#]?$/.exec(iri)?.[0] ?? iri;
  try { return decodeURIComponent(found); } catch { return found; }
};

/** Takes the classes of a later answer up among those of the result; gives where each of them is now. */
const classesIn = (result, found) => found.map((one) => {
  const at = result.classes.findIndex(({ href }) => href === one.href);
  return at >= 0 ? at : result.classes.push(one) - 1;
});

/** Gives things that came without a name one made of their IRI; the result then has `named()`, a promise of the real ones. */
export const naming = (result) => {
  const bare = (result.terms ?? []).filter((term) => term.b);
  for (const term of bare) Object.assign(term, { l: localName(term.v), n: `<${term.v}>`, h: `/resource?iri=${encodeURIComponent(term.v)}` });
  const ask = async () => {
    for (let start = 0; start < bare.length; start += PIECE) {
      const piece = bare.slice(start, start + PIECE), found = await send("POST", "/api/names", { iris: piece.map(({ v }) => v) });
      const at = classesIn(result, found.classes);
      piece.forEach((term, index) => {
        const told = found.terms[index];
        Object.assign(term, told, told.c === undefined ? {} : { c: at[told.c] });
        delete term.b;
      });
    }
  };
  let asked = null;
  result.named = bare.length ? () => { asked ??= ask().catch(() => { asked = null; }); return asked; } : null; // without an answer the IRIs stand
  return result;
};
