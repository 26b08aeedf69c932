/** A line diff of configurations for a person: what is taken out and what is put in, by line number. */
import { json5Library } from "../json5.ts";

/** Above this the common lines in the middle are not looked for; a configuration is far smaller. */
const MOST_CELLS = 4_000_000;
const HIDDEN = "(hidden)";
/** Keys whose values are names of models and runtimes: all that a repair changes, and no secrets. */
const SHOWN_KEY =
  /^(?:primary|fallbacks|(?:\w*M|m)odel|id|fallback|runtime|agentHarnessId|agentRuntimeOverride)$/;
/** What stands in these is another program's or a plugin's, whatever its keys are called. */
const HIDDEN_BELOW = new Set(["headers", "config", "env"]);

interface Line {
  mark: " " | "-" | "+";
  text: string;
}

/**
 * Unified, without file names and without the lines around a change; empty where the texts are the same. Of the values
 * only names of models and runtimes are shown, of comments nothing. Both texts are JSON5.
 */
export function lineDiff(before: string, after: string): string[] {
  if (before === after) return [];
  const old = { at: 0, shown: withoutSecrets(before).split("\n") };
  const fresh = { at: 0, shown: withoutSecrets(after).split("\n") };
  const told: string[] = [];
  let changing = false;
  for (const { mark } of compare(before.split("\n"), after.split("\n"))) {
    if (mark !== " ") {
      if (!changing) told.push(`@@ line ${old.at + 1} → ${fresh.at + 1} @@`);
      const text = mark === "-" ? old.shown[old.at] : fresh.shown[fresh.at];
      told.push(mark + (text ?? "").replace(/\r$/, ""));
    }
    changing = mark !== " ";
    if (mark !== "+") old.at += 1;
    if (mark !== "-") fresh.at += 1;
  }
  return told;
}

/** The text with as many lines, and with its other values and its comments hidden. */
function withoutSecrets(text: string): string {
  const tokens = json5Library().JsonLexer.tokenize(text);
  const plain = tokens.filter(({ type }) => !/WHITESPACE|NEWLINE|COMMENT/.test(type));
  const isKey = new Set(plain.filter((_, index) => String(plain[index + 1]?.type) === "COLON"));
  /** Keys of the objects and lists that are open, and the last key in the innermost one. */
  const open: string[] = [];
  let key = "";
  const shown = tokens.map((token) => {
    const type = String(token.type);
    const { value } = token;
    if (isKey.has(token)) key = value.replace(/^(["'])(.*)\1$/s, "$2");
    else if (type === "BRACE_LEFT" || type === "BRACKET_LEFT") open.push(key);
    else if (type === "BRACE_RIGHT" || type === "BRACKET_RIGHT") key = open.pop() ?? "";
    else if (type === "LINE_COMMENT") return `// ${HIDDEN}`;
    else if (type === "BLOCK_COMMENT") return `/* ${linesOf(value)} */`;
    else if (type === "STRING" || type === "NUMBER") {
      const known = SHOWN_KEY.test(key) && !open.some((each) => HIDDEN_BELOW.has(each));
      return known ? value : linesOf(value);
    }
    return value;
  });
  return shown.join("");
}

function linesOf(value: string): string {
  return value.replace(/[^\r\n]+/, HIDDEN).replace(/(?<=[\r\n])[^\r\n]+/g, "");
}

function compare(before: string[], after: string[]): Line[] {
  let start = 0;
  while (start < Math.min(before.length, after.length) && before[start] === after[start]) start += 1;
  let end = 0;
  const rest = Math.min(before.length, after.length) - start;
  while (end < rest && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const same = (lines: string[]): Line[] => lines.map((text) => ({ mark: " ", text }));
  return [
    ...same(before.slice(0, start)),
    ...middle(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...same(before.slice(before.length - end)),
  ];
}

/** Longest common subsequence; what is taken out stands before what is put in. */
function middle(before: string[], after: string[]): Line[] {
  const width = after.length + 1;
  const small = (before.length + 1) * width <= MOST_CELLS;
  const lengths = new Uint32Array(small ? (before.length + 1) * width : 0);
  const at = (row: number, column: number): number => lengths[row * width + column] ?? 0;
  if (small) {
    for (let row = before.length - 1; row >= 0; row -= 1)
      for (let column = after.length - 1; column >= 0; column -= 1)
        lengths[row * width + column] =
          before[row] === after[column]
            ? at(row + 1, column + 1) + 1
            : Math.max(at(row + 1, column), at(row, column + 1));
  }
  const lines: Line[] = [];
  let row = 0;
  let column = 0;
  while (row < before.length || column < after.length) {
    const old = before[row];
    const fresh = after[column];
    if (small && old !== undefined && old === fresh) {
      lines.push({ mark: " ", text: old });
      row += 1;
      column += 1;
    } else if (old !== undefined && (fresh === undefined || at(row + 1, column) >= at(row, column + 1))) {
      lines.push({ mark: "-", text: old });
      row += 1;
    } else {
      lines.push({ mark: "+", text: fresh ?? "" });
      column += 1;
    }
  }
  return lines;
}
