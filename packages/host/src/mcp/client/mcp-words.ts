/** Cleans text of a server or the system for use in our sentences: one line, bounded, without secrets. */
import { stripVTControlCharacters } from "node:util";
import { plainText } from "@pagurus/core/data/plain-text";
import { maskKeyShapes, maskSecrets, secretForms } from "@pagurus/core/data/secret-mask";

/** Shorter values would blank out half of a sentence. */
const SHORTEST_SERVER_SECRET = 6;

function inOneLine(text: string): string {
  return plainText(stripVTControlCharacters(text).replaceAll(/\p{Cc}+/gu, " "))
    .replaceAll(/\s+/g, " ")
    .trim();
}

/** All strings that reveal the values: each value, its lines, a token without its scheme, and their escaped forms. */
export function serverSecrets(values: Iterable<string>): string[] {
  const plain = [...values].flatMap((value) => {
    const lines = value.split(/[\r\n]+/).flatMap((line) => [line, line.replace(/^\s*[A-Za-z][\w-]*\s+/, "")]);
    return [value, inOneLine(value), ...lines].map((text) => text.trim());
  });
  return secretForms(plain).filter((secret) => secret.length >= SHORTEST_SERVER_SECRET);
}

export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return maskKeyShapes(maskSecrets(text, secrets));
}

/** Call it before a text is cut: half a secret is not found any more. */
export function cleanLine(text: string, secrets: readonly string[]): string {
  // A secret may span several lines.
  return withoutSecrets(inOneLine(withoutSecrets(text, secrets)), secrets);
}
