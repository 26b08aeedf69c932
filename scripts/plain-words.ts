/**
 * The word list of the house: words that a reader of the field would have to translate, in comments, error sentences, texts of
 * the command line, test titles, names and pages. `node scripts/plain-words.ts [PATH…]` prints each place in these paths.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./command.ts";
import { filesUnder } from "./source-files.ts";
import { blanked, lineAt, sourceTokens } from "./source-tokens.ts";

/** A pattern over prose, and what to write instead. */
const WORDS: readonly [pattern: RegExp, instead: string][] = [
  [/\b(?:told|tells?|telling)\b/i, "reported, sent, logged, passed"],
  [/\bbehind\b(?! (?:a|the|its) (?:proxy|firewall))/i, "after, in the background, late"],
  [/\b(?:stands?|stood|standing)\b/i, "is, state"],
  [/\bsaid\b/i, "message, content, reported"],
  [/\b(?:nobody|somebody)\b/i, "no caller, no process, another process"],
  [/\banew\b/i, "again, new"],
  [/\bmend(?:s|ed|ing)?\b/i, "fix, repair"],
  [/\b(?:go(?:es|ing)?|went|gone) on\b(?! (?:a|the|one|with)\b (?:line|row|path))/i, "continue"],
  [/\bgiven\b(?! (?:up|that)\b)/i, "input, passed, received"],
  [/\b(?:for|of|gives?|without) leave\b/i, "permission"],
  [/\b(?:deaf|insistent|unheard|heard|hears?|hearing)\b/i, "received, sees, not listening"],
  [/\bseats?\b/i, "route, registration"],
  [/\brooms?\b/i, "layer, stage, budget, free tokens"],
  [/\bfor ever\b/i, "forever"],
  [/\bby heart\b/i, "cached"],
  [/\bbe(?:side|hind)hand\b/i, "beforehand"],
];
const NAME_PARTS = new Set(
  "told tell tells telling stand stands standing stood behind said nobody somebody anew mend mended deaf heard hear hears seat seats insistent room rooms".split(
    " ",
  ),
);
/** Where a word of the list must stay: a part of a path, and the text around it. */
const ALLOWED: readonly [path: RegExp, text: RegExp][] = [
  // What a model reads: other bytes would end prompt caches and change measured figures.
  [/\bcompaction\/summary\/(?:candidates|model-summary|summary-prompt|terms)\.ts$/, /^["`][^]*["`]$/],
  [/\blossless\/(?:src\/)?(?:head|recall|summary)\//, /^["`][^]*["`]$/],
  [/\b(?:skill\/section|model\/offline|runtimes\/(?:src\/)?acp\/acp-projection)\.ts$/, /^["`][^]*["`]$/],
  [/\bturn\/(?:prepare\/base-instructions|subagents\/subagent-result)\.ts$/, /^["`][^]*["`]$/],
  [
    /\bgateway\/(?:src\/)?(?:dialect\/messages|upstream\/translate|wrap)\//,
    /^"(?:\(The (?:conversation|turn) goes on|Runs a command and tells)[^]*"$/,
  ],
  [/\btool\/(?:tool-permission|files\/read-tool)\.ts$/, /^["`](?:Permission denied|"\$\{at)[^]*["`]$/],
  // Words of people, by which their rules are recognized.
  [/^(?:.*\bcompaction\/summary\/rule-(?:topics|words)|bench\/context\/rules\/\w+)\.ts$/, /^["`][^]*["`]$/],
  // What is stored: a column, and texts of imported transcripts.
  [/\bstores\/files\/subagent-log\.ts$/, /^["`][^]*["`]$/],
  [/\bimporters\/(?:src\/)?(?:sessions\/pi|openclaw\/sessions\/openclaw-transcript)\.ts$/, /^["`][^]*["`]$/],
  [/strings\.test\.ts$|lossless\/(?:src\/)?epoch\.ts$/, /^said$/],
  // Members of the contract that plugins use, and of reports that `--json` prints.
  [/./, /^(?:said|told|tell|mended)$/],
  // Generated corpora, whose figures are compared between versions.
  [/^bench\/(?:generate|context\/(?:continuity\/job|policies\/head|recall\/facts))\.ts$/, /^["`][^]*["`]$/],
];

const TITLE = /\b(?:test|it|describe)(?:\.\w+)?\(\s*$/;

interface Prose {
  line: number;
  kind: "comment" | "text" | "page";
  text: string;
}

/** Comments, and the strings that people read: sentences of `src` and `scripts`, the titles of tests. */
function* proseOf(file: string, source: string): Generator<Prose> {
  const isTest = file.startsWith("test/");
  for (const { kind, text, index } of sourceTokens(source)) {
    const line = lineAt(source, index);
    if (kind === "comment") yield { line, kind, text };
    else if (kind === "text" && (text.match(/ /g)?.length ?? 0) >= 2) {
      const isTitle = TITLE.test(source.slice(Math.max(0, index - 40), index));
      if (isTitle || !isTest) yield { line, kind, text };
    }
  }
}

function* pageProse(source: string): Generator<Prose> {
  const prose = source.replaceAll(/^```[^]*?^```|`[^`\n]*`/gm, (code) => code.replaceAll(/[^\n]/g, " "));
  for (const [index, text] of prose.split("\n").entries()) yield { line: index + 1, kind: "page", text };
}

function withoutAllowed(file: string, text: string): string {
  return ALLOWED.filter(([path]) => path.test(file)).reduce(
    (left, [, allowed]) => left.replaceAll(new RegExp(allowed, "g"), ""),
    text,
  );
}

/** The declared names of a file that have a listed word as a part. */
function* namesIn(source: string): Generator<[line: number, name: string]> {
  const code = blanked(source, ["comment", "text", "regex"]);
  const declared =
    /\b(?:function\*?|const|let|class|interface|type|readonly)\s+(#?\w+)|^\s*(?:static |async |get |#)*(#?\w+)[(?:]/gm;
  for (const found of code.matchAll(declared)) {
    const name = found[1] ?? found[2] ?? "";
    const parts = name.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? [];
    if (parts.some((part) => NAME_PARTS.has(part.toLowerCase()))) yield [lineAt(code, found.index), name];
  }
}

/** One line for each listed word: place, word, what to write instead. */
function plainWords(root: string, file: string): string[] {
  const source = readFileSync(join(root, file), "utf8");
  if (source.includes("@generated") || /GENERATED CODE/.test(source.slice(0, 300))) return [];
  const isPage = file.endsWith(".md");
  const problems: string[] = [];
  for (const { line, kind, text } of isPage ? pageProse(source) : proseOf(file, source)) {
    const left = withoutAllowed(file, text);
    for (const [pattern, instead] of WORDS) {
      const found = pattern.exec(left);
      if (found !== null) problems.push(`${file}:${line}: ${kind} with “${found[0]}”; write: ${instead}`);
    }
  }
  if (!isPage)
    for (const [line, name] of namesIn(source))
      if (withoutAllowed(file, name) !== "") problems.push(`${file}:${line}: the name ${name}`);
  return problems;
}

function plainFiles(root: string): string[] {
  const code = ["packages", "test", "bench", "scripts", "examples"].flatMap((top) =>
    filesUnder(root, top, ".ts"),
  );
  const pages = filesUnder(root, "docs", ".md");
  return [...code, ...pages, "README.md", "CONTRIBUTING.md", "CHANGELOG.md"].filter(
    (file) => !file.includes("node_modules/") && file !== "scripts/plain-words.ts",
  );
}

/** Each place of the project that holds a word of the list. */
export function checkWords(root: string, paths: readonly string[] = []): string[] {
  return plainFiles(root)
    .filter((file) => paths.length === 0 || paths.some((path) => file.startsWith(path)))
    .flatMap((file) => plainWords(root, file));
}

if (import.meta.main) {
  const problems = checkWords(ROOT, process.argv.slice(2));
  for (const problem of problems) console.log(problem);
  console.log(`${problems.length} places`);
  process.exitCode = problems.length === 0 ? 0 : 1;
}
