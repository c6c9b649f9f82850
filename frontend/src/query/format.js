// The formatter: the same tokens in the same order, with lines and indents that show the structure.
import { tokens } from "./tokens.js";

const CLAUSES = new Set(["SELECT", "CONSTRUCT", "DESCRIBE", "ASK", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "VALUES", "PREFIX", "BASE"]);
const STEPS = new Set(["FILTER", "OPTIONAL", "BIND", "MINUS", "VALUES", "GRAPH", "SERVICE", "SELECT"]);
const KEYWORDS = new Set([...CLAUSES, ...STEPS, "DISTINCT", "REDUCED", "AS", "UNION", "NOT", "EXISTS", "IN", "BY", "ASC", "DESC", "NAMED", "SILENT", "UNDEF", "SEPARATOR", "COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT", "STR", "LANG", "LANGMATCHES", "DATATYPE", "BOUND", "REGEX", "CONTAINS", "STRSTARTS", "STRENDS", "STRLEN", "SUBSTR", "UCASE", "LCASE", "CONCAT", "COALESCE", "IF", "YEAR", "MONTH", "DAY", "ABS", "ROUND", "CEIL", "FLOOR", "REPLACE", "STRBEFORE", "STRAFTER", "SAMETERM", "IRI", "URI", "BNODE", "NOW", "RAND"]);
const CALLS = new Set(["COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT", "STR", "LANG", "LANGMATCHES", "DATATYPE", "BOUND", "REGEX", "CONTAINS", "STRSTARTS", "STRENDS", "STRLEN", "SUBSTR", "UCASE", "LCASE", "CONCAT", "COALESCE", "IF", "YEAR", "MONTH", "DAY", "ABS", "ROUND", "CEIL", "FLOOR", "REPLACE", "STRBEFORE", "STRAFTER", "SAMETERM", "IRI", "URI", "BNODE", "NOW", "RAND"]);

/** The query, laid out anew. */
export const format = (text) => {
  let out = "", line = "", depth = 0, parens = 0, squares = 0, statement = -1, verbAt = 0, count = 0, previous = null, lineOf = 0;
  const pad = () => "  ".repeat(depth);
  const flush = () => { if (line.trim()) out += `${line.trimEnd()}\n`; line = ""; };
  const begin = (indent) => { flush(); line = indent; };
  const put = (part, space = true) => { line += (space && line.trim() && !/[\s(]$/.test(line) ? " " : line.trim() ? "" : line ? "" : pad()) + part; };
  const listed = tokens(text);
  listed.forEach((token, index) => {
    const upper = token.text.toUpperCase(), next = listed[index + 1];
    const shown = token.kind === "word" && KEYWORDS.has(upper) ? upper : token.text;
    const glued = previous && previous.to === token.from;
    const blank = previous && text.slice(previous.to, token.from).split("\n").length > 2;
    if (blank && !line.trim() && out && !out.endsWith("\n\n") && !out.endsWith("{\n")) out += "\n";
    if (token.kind === "comment") {
      const own = !previous || text.slice(previous.to, token.from).includes("\n");
      if (own) { const keep = line; if (keep.trim()) { flush(); line = statement >= 0 ? " ".repeat(verbAt) : pad(); } else line = pad(); line += token.text; flush(); if (keep.trim() && statement >= 0) line = " ".repeat(verbAt); }
      else { put(token.text); flush(); if (statement >= 0) line = " ".repeat(verbAt); }
      previous = token;
      return;
    }
    if (token.text === "{") { put("{"); depth += 1; begin(""); statement = -1; count = 0; }
    else if (token.text === "}") { begin(""); depth = Math.max(0, depth - 1); line = `${pad()}}`; statement = -1; count = 0; if (next?.text.toUpperCase() !== "UNION" && next?.text !== ".") begin(""); }
    else if (token.text === "(") { const call = previous && (glued && previous.kind === "name" || CALLS.has(previous.text.toUpperCase())); put("(", !call); parens += 1; }
    else if (token.text === ")") { put(")", false); parens = Math.max(0, parens - 1); }
    else if (token.text === "[") { put("["); squares += 1; }
    else if (token.text === "]") { put("]"); squares = Math.max(0, squares - 1); }
    else if (token.text === "." && depth && !parens) { put("."); begin(""); statement = -1; count = 0; }
    else if (token.text === ";" && !parens) { put(";"); if (statement >= 0 && !squares) begin(" ".repeat(verbAt)); else if (!depth) begin(""); }
    else if (token.text === "," ) put(",", parens === 0);
    else if (token.kind === "word" && !parens && depth && STEPS.has(upper) && !(upper === "SELECT" && previous?.text === "(")) { begin(pad()); put(shown); statement = -1; count = 0; }
    else if (token.kind === "word" && !parens && !depth && CLAUSES.has(upper) && !(upper === "WHERE" && line.trim())) { begin(""); put(shown); }
    else if (token.kind === "word" && upper === "WHERE" && !parens) put(shown);
    else if (token.kind === "word" && depth && !parens && (upper === "GROUP" || upper === "ORDER" || upper === "LIMIT" || upper === "OFFSET" || upper === "HAVING")) { begin(pad()); put(shown); }
    else {
      const path = token.kind === "mark" && "^/|*+?!".includes(token.text) && !parens && depth;
      const afterPath = previous && previous.kind === "mark" && "^/|!".includes(previous.text) && depth && !parens;
      const bound = token.kind === "lang" || token.text === "^^" || previous?.text === "^^" || (parens && token.text === "!" ? false : false);
      const tight = bound || (path && token.text !== "^" && token.text !== "!" && glued) || (afterPath && glued) || (previous?.text === "!" && glued) || (previous && glued && previous.kind === "mark" && (previous.text === "-" || previous.text === "+") && token.kind === "number");
      if (depth && !parens && !squares && statement < 0 && !line.trim()) { line = pad(); statement = 0; count = 0; lineOf = line.length; }
      put(shown, !tight);
      if (statement >= 0 && !squares && !parens) { count += 1; if (count === 1) verbAt = Math.min(40, lineOf + shown.length + 1); }
      if (previous?.text.toUpperCase() === "PREFIX" || (token.kind === "iri" && !depth && /^\s*(PREFIX|BASE)\b/i.test(line))) { if (token.kind === "iri") begin(""); }
    }
    previous = token;
  });
  flush();
  const clean = out.replace(/\n{3,}/g, "\n\n").trim() + "\n";
  const same = (one) => tokens(one).map((token) => (token.kind === "word" ? token.text.toUpperCase() : token.text)).join(" ");
  return same(clean) === same(text) ? clean : text; // never at the price of another meaning
};
