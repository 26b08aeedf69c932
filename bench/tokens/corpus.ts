/**
 * Texts to fit and test the token estimate on: files of the installed packages, so that a clean clone has them after
 * `npm ci`, and small committed samples. Each source belongs to one half, by the hash of its name.
 */
import { existsSync, globSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { proseOfComments, proseOfMarkdown, stringsBeyondAscii } from "./extract.ts";

export const KINDS = [
  "prose",
  "code",
  "pretty JSON",
  "minified JSON",
  "Chinese",
  "Markdown",
  "Latin with diacritics",
  "Cyrillic",
  "Japanese",
  "Korean",
  "emoji",
  "other alphabets",
] as const;
type Kind = (typeof KINDS)[number];
/** The kinds that the estimate promises a bound for; the others are reported. */
export const PROMISED: readonly Kind[] = KINDS.slice(0, 6);

type Half = "fit" | "test";

export interface CorpusText {
  kind: Kind;
  half: Half;
  /** Path below the repository. */
  source: string;
  text: string;
}

const ROOT = join(import.meta.dirname, "..", "..");
/** No single file may outweigh the others. Characters. */
const LONGEST = 60_000;
const SHORTEST = 400;
/** Nor may a package. Characters of a kind. */
const PACKAGE_LONGEST = 120_000;
/** Characters of a kind and half; more adds no information. */
const ENOUGH = 1_200_000;

/** FNV-1a over UTF-16 code units. */
function hashName(name: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
  // The low bits of FNV follow the last character; fold the high ones in.
  return (hash ^ (hash >>> 15)) >>> 0;
}

function owner(path: string): string {
  const below = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
  return below.split("/", below.startsWith("@") ? 2 : 1).join("/");
}

/** The same module as `.js`, `.cjs`, `.d.ts` or under `dist/` belongs to one half: its package and bare name. */
function half(path: string): Half {
  const name = basename(path).split(".")[0] ?? "";
  return hashName(`${owner(path)}:${name.toLowerCase()}`) % 2 === 0 ? "fit" : "test";
}

function* walk(folder: string): Generator<string> {
  const entries = readdirSync(folder, { withFileTypes: true });
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* walk(path);
    else if (entry.isFile()) yield path;
  }
}

class Collector {
  readonly texts: CorpusText[] = [];
  readonly #seen = new Set<string>();
  readonly #size = new Map<string, number>();

  add(kind: Kind, where: Half, source: string, whole: string): void {
    const text = whole.slice(0, LONGEST);
    const key = `${kind}/${where}`;
    const ownerKey = `${kind}/${owner(source)}`;
    const size = this.#size.get(key) ?? 0;
    const ownerSize = this.#size.get(ownerKey) ?? 0;
    // Copies of a licence or a vendored module differ in their first lines at most.
    const print = `${kind}:${text.slice(text.length >> 1, (text.length >> 1) + 300)}`;
    if (text.length < SHORTEST || size >= ENOUGH || this.#seen.has(print)) return;
    if (ownerSize >= PACKAGE_LONGEST && !source.includes("diagnosticMessages")) return;
    this.#seen.add(print);
    this.#size.set(ownerKey, ownerSize + text.length);
    this.#size.set(key, size + text.length);
    this.texts.push({ kind, half: where, source, text });
  }
}

/** Excludes minified and generated tables, which are unlike code that people and models write. */
function isWritten(text: string): boolean {
  const lines = text.split("\n");
  return text.length / lines.length < 90 && !lines.some((line) => line.length > 1_000);
}

/** Messages of the schema library in languages with an alphabet of their own. */
const OTHER_ALPHABETS = /zod\/v4\/locales\/(ar|bn|ckb|el|fa|gu|he|hi|hy|ka|km|kn|ta|th|ur)\.js$/;

function addFile(into: Collector, path: string): void {
  const name = basename(path);
  const source = path.slice(ROOT.length + 1);
  const where = half(source);
  const isLicence = /^licen[cs]e/i.test(name);
  if (name.startsWith(".") || (!isLicence && !/\.(md|json|[cm]?[jt]s)$/.test(name))) return;
  const { size } = statSync(path);
  if (size < SHORTEST || size > 600_000) return;
  const text = readFileSync(path, "utf8");
  if (isLicence) into.add("prose", where, source, text);
  else if (name.endsWith(".md")) {
    into.add("Markdown", where, source, text);
    if (!/change|history/i.test(name)) into.add("prose", where, source, proseOfMarkdown(text));
  } else if (OTHER_ALPHABETS.test(source)) {
    into.add("other alphabets", where, source, stringsBeyondAscii(text));
  } else if (owner(source) === "emojilib") into.add("emoji", where, source, text);
  else if (name.endsWith(".json")) addJson(into, where, source, text);
  else if (!/locale|generated|\.min\./.test(source) && isWritten(text)) {
    into.add("code", where, source, text);
    if (/\.d\.[cm]?ts$/.test(name)) into.add("prose", where, source, proseOfComments(text));
  }
}

function addJson(into: Collector, where: Half, source: string, text: string): void {
  if (/locale|diagnosticMessages/.test(source)) return;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Configuration files with comments are no JSON.
    return;
  }
  into.add("pretty JSON", where, source, JSON.stringify(value, null, 2));
  into.add("minified JSON", where, source, JSON.stringify(value));
}

/** The compiler's messages in other languages, by far the most text of them in the installed packages. */
const MESSAGE_LANGUAGES: readonly (readonly [string, Kind])[] = [
  ["zh-cn", "Chinese"],
  ["zh-tw", "Chinese"],
  ["cs", "Latin with diacritics"],
  ["de", "Latin with diacritics"],
  ["es", "Latin with diacritics"],
  ["fr", "Latin with diacritics"],
  ["pl", "Latin with diacritics"],
  ["pt-br", "Latin with diacritics"],
  ["tr", "Latin with diacritics"],
  ["ru", "Cyrillic"],
  ["ja", "Japanese"],
  ["ko", "Korean"],
];

/** Messages with the same key have the same meaning in every language, so the key chooses the half. */
function addMessages(into: Collector): void {
  const [english] = globSync("node_modules/**/typescript/lib/zh-cn/diagnosticMessages.generated.json", {
    cwd: ROOT,
  });
  if (english === undefined) return;
  for (const [language, kind] of MESSAGE_LANGUAGES) {
    const source = english.replace("zh-cn", language);
    const messages = JSON.parse(readFileSync(join(ROOT, source), "utf8")) as Record<string, string>;
    const parts: Record<Half, string[]> = { fit: [], test: [] };
    for (const [key, message] of Object.entries(messages)) {
      parts[hashName(key) % 2 === 0 ? "fit" : "test"].push(message);
    }
    for (const where of ["fit", "test"] as const) into.add(kind, where, source, parts[where].join("\n"));
  }
}

const SAMPLES: readonly (readonly [string, Kind])[] = [
  ["chinese", "Chinese"],
  ["diacritics", "Latin with diacritics"],
  ["cyrillic", "Cyrillic"],
  ["japanese", "Japanese"],
  ["korean", "Korean"],
  ["emoji", "emoji"],
];

/**
 * Committed samples, `<language>-fit.txt` and `<language>-test.txt`: everyday prose written for this purpose, with a
 * few lines of the Chinese classics. The installed packages hold no prose in these languages.
 */
function addSamples(into: Collector): void {
  for (const [language, kind] of SAMPLES) {
    for (const where of ["fit", "test"] as const) {
      const source = join("bench", "tokens", "samples", `${language}-${where}.txt`);
      if (!existsSync(join(ROOT, source))) continue;
      into.add(kind, where, source, readFileSync(join(ROOT, source), "utf8"));
    }
  }
}

/** The whole corpus, in an order that depends on the installed packages alone. Reads 10 to 20 MB. */
export function loadCorpus(): CorpusText[] {
  const into = new Collector();
  addSamples(into);
  addMessages(into);
  for (const path of walk(join(ROOT, "node_modules"))) addFile(into, path);
  return into.texts;
}
