// SPARQL text as tokens, whether it is finished or not: enough to complete, format and explain without a whole parse.

const TOKEN = /(?<comment>#[^\n]*)|(?<iri><[^<>"{}|^`\\\s]*>)|(?<string>"""(?:[^"\\]|\\.|"(?!""))*(?:"""|$)|'''(?:[^'\\]|\\.|'(?!''))*(?:'''|$)|"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?)|(?<variable>[?$][\p{L}\p{N}_]+)|(?<lang>@[A-Za-z]+(?:-[A-Za-z0-9]+)*)|(?<blank>_:[\p{L}\p{N}_](?:[\p{L}\p{N}_.\-]*[\p{L}\p{N}_\-])?)|(?<name>(?:\p{L}(?:[\p{L}\p{N}_.\-]*[\p{L}\p{N}_\-])?)?:(?:(?:[\p{L}\p{N}_:%]|\\.)(?:(?:[\p{L}\p{N}_\-:%.]|\\.)*(?:[\p{L}\p{N}_\-:%]|\\.))?)?)|(?<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?<word>[\p{L}_][\p{L}\p{N}_]*)|(?<mark>\^\^|&&|\|\||!=|<=|>=|<<\(?|\)?>>|\{\||\|\}|\S)/gsu;

/** The tokens of the text: kind, text, from, to. */
export const tokens = (text) => [...text.matchAll(TOKEN)].map((match) => {
  const [kind] = Object.entries(match.groups).find(([, value]) => value !== undefined);
  return { kind, text: match[0], from: match.index, to: match.index + match[0].length };
});

const DECLARED = /\bPREFIX\s+([\p{L}\p{N}_.\-]*):\s*<([^<>]*)>/giu;

/** The prefixes that the text declares. */
export const declared = (text) => Object.fromEntries([...text.matchAll(DECLARED)].map((match) => [match[1], match[2]]));

/** The IRI that a token stands for; null where its prefix is not known. */
export const iriOf = (token, prefixes) => {
  if (token?.kind === "iri") return token.text.slice(1, -1);
  if (token?.kind !== "name") return null;
  const at = token.text.indexOf(":");
  const space = prefixes[token.text.slice(0, at)];
  return space === undefined ? null : space + token.text.slice(at + 1);
};

export const TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
const PATTERN_WORDS = new Set(["OPTIONAL", "UNION", "MINUS", "GRAPH", "SERVICE", "FILTER", "BIND", "VALUES", "EXISTS", "NOT", "SELECT", "WHERE", "AS", "IN"]);

/** What a position of the text is for: subject, verb or object of a statement, else an expression or the head. */
export class Reader {
  constructor(text, prefixes) {
    this.prefixes = { ...prefixes, ...declared(text) };
    this.types = new Map();
    this.last = null;
    this.all = tokens(text);
  }

  /** Reads on to the position; afterwards `role`, `subject`, `verb` and the classes of subjects (of the whole text) are known. */
  at(position) {
    this.walk(this.all, null);
    const types = new Map(this.types);
    const state = this.walk(this.all.filter((token) => token.kind !== "comment" && token.to <= position), position);
    return { ...state, types, prefixes: this.prefixes };
  }

  walk(listed) {
    let role = "head", subject = null, verb = null, braces = 0;
    const outer = [];
    for (const token of listed) {
      if (token.kind === "comment") continue;
      const { text } = token;
      if (text === "{") { outer.push({ subject, verb, role }); braces += 1; role = "subject"; subject = verb = null; continue; }
      if (text === "}") { outer.pop(); braces = Math.max(0, braces - 1); role = braces ? "subject" : "tail"; subject = verb = null; continue; }
      if (text === "(") { outer.push({ subject, verb, role, paren: true }); if (role === "verb") continue; role = role === "object" || role === "subject" ? "expression" : role; continue; }
      if (text === ")") { const before = outer.at(-1)?.paren ? outer.pop() : null; if (before) { ({ subject, verb } = before); role = before.role === "verb" ? "verb" : before.role; } if (role === "expression") role = "subject"; continue; }
      if (text === "[") { outer.push({ subject, verb, role, square: true }); subject = { kind: "blank", text: `[${token.from}` }; role = "verb"; continue; }
      if (text === "]") { const before = outer.at(-1)?.square ? outer.pop() : null; if (before) { ({ subject, verb, role } = before); role = role === "subject" ? "verb" : "after"; } continue; }
      if (!braces || role === "expression") continue;
      if (token.kind === "word" && PATTERN_WORDS.has(text.toUpperCase())) { role = /^(FILTER|BIND|VALUES|SELECT|AS|IN|NOT)$/i.test(text) ? "expression" : "subject"; if (/^(FILTER|BIND)$/i.test(text)) role = "subject"; continue; }
      if (text === ".") { role = "subject"; subject = verb = null; continue; }
      if (text === ";") { role = subject ? "verb" : "subject"; verb = null; continue; }
      if (text === ",") { role = verb ? "object" : role; continue; }
      if (role === "subject") { subject = token; role = "verb"; continue; }
      if (role === "verb") {
        if (token.kind === "mark" && "^/|!*+?".includes(text)) { if ("/|".includes(text)) verb = null; continue; }
        if (verb) { this.note(subject, verb, token); role = "after"; continue; }
        verb = token;
        role = "path";
        continue;
      }
      if (role === "path") { // after one step of a path: more of it, or the object
        if (token.kind === "mark" && "/|".includes(text)) { role = "verb"; verb = null; continue; }
        if (token.kind === "mark" && "*+?".includes(text)) continue;
        this.note(subject, verb, token);
        role = "after";
        continue;
      }
      if (role === "object") { this.note(subject, verb, token); role = "after"; }
    }
    return { role: role === "path" ? "object" : role, subject, verb, braces };
  }

  note(subject, verb, object) {
    if (!subject || !(verb.text === "a" || iriOf(verb, this.prefixes) === TYPE)) return;
    const class_ = iriOf(object, this.prefixes);
    if (!class_) return;
    const key = subject.text;
    this.types.set(key, [...new Set([...(this.types.get(key) ?? []), class_])]);
  }
}
