/** What a server or the system says, as part of a sentence of ours: in one line, bounded, and without secrets. */
import { stripVTControlCharacters } from "node:util";

const SECRET = "[secret]";
/** Shorter values would blank out half of a sentence. */
const SHORTEST_SECRET = 6;
// oxlint-disable-next-line no-control-regex -- what moves a cursor, and what hides or turns around characters
const UNSEEN = /[\s\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+/g;

function inOneLine(text: string): string {
  return stripVTControlCharacters(text).toWellFormed().replaceAll(UNSEEN, " ").trim();
}

/** All that would give the values away: each as it is, its lines, a token without its scheme, and the ways to escape it. */
export function secretsOf(values: Iterable<string>): string[] {
  const found = new Set<string>();
  for (const value of values) {
    const lines = value.split(/[\r\n]+/).flatMap((line) => [line, line.replace(/^\s*[A-Za-z][\w-]*\s+/, "")]);
    for (const plain of [value, inOneLine(value), ...lines].map((text) => text.trim())) {
      found.add(plain);
      found.add(JSON.stringify(plain).slice(1, -1));
      found.add(encodeURIComponent(plain.toWellFormed()));
    }
  }
  return [...found]
    .filter((secret) => secret.length >= SHORTEST_SECRET)
    .toSorted((a, b) => b.length - a.length || (a < b ? -1 : 1));
}

export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((clean, secret) => clean.replaceAll(secret, SECRET), text);
}

/** To be done before a text is cut: half a secret is not found any more. */
export function cleanLine(text: string, secrets: readonly string[]): string {
  // A secret may have lines of its own.
  return withoutSecrets(inOneLine(withoutSecrets(text, secrets)), secrets);
}
