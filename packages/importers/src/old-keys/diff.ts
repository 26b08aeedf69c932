/** Line diff of configurations for a person: removed and added lines, by line number. */
import { json5Library } from "@pagurus/core/config/json5";

/** Above this size the common lines in the middle are not searched; a configuration is far smaller. */
const MOST_CELLS = 4_000_000;
const HIDDEN_VALUE = "(hidden)";
/** Keys whose values are names of models and runtimes: all that a repair changes, and not secret. */
const SHOWN_KEY =
  /^(?:primary|fallbacks|(?:\w*M|m)odel|id|fallback|runtime|agentHarnessId|agentRuntimeOverride)$/;
/** Keys whose content belongs to another program or a plugin, whatever its keys are called. */
const HIDDEN_BELOW = new Set(["headers", "config", "env"]);

interface Line {
  mark: " " | "-" | "+";
  text: string;
}

/**
 * Unified diff, without file names and context lines; empty for equal texts. Shows only values that name models and runtimes,
 * and no comments. Both texts are JSON5.
 */
export function lineDiff(before: string, after: string): string[] {
  if (before === after) return [];
  const old = { at: 0, shown: withoutSecrets(before).split("\n") };
  const fresh = { at: 0, shown: withoutSecrets(after).split("\n") };
  const lines: string[] = [];
  let changing = false;
  for (const { mark } of compare(before.split("\n"), after.split("\n"))) {
    if (mark !== " ") {
      if (!changing) lines.push(`@@ line ${old.at + 1} → ${fresh.at + 1} @@`);
      const text = mark === "-" ? old.shown[old.at] : fresh.shown[fresh.at];
      lines.push(mark + (text ?? "").replace(/\r$/, ""));
    }
    changing = mark !== " ";
    if (mark !== "+") old.at += 1;
    if (mark !== "-") fresh.at += 1;
  }
  return lines;
}

/** The text with the same number of lines, its other values and its comments hidden. */
function withoutSecrets(text: string): string {
  const tokens = json5Library().JsonLexer.tokenize(text);
  const plain = tokens.filter(({ type }) => !/WHITESPACE|NEWLINE|COMMENT/.test(type));
  const isKey = new Set(plain.filter((_, index) => String(plain[index + 1]?.type) === "COLON"));
  /** Keys of the open objects and lists, and the last key in the innermost one. */
  const open: string[] = [];
  let key = "";
  const shown = tokens.map((token) => {
    const type = String(token.type);
    const { value } = token;
    if (isKey.has(token)) key = value.replace(/^(["'])(.*)\1$/s, "$2");
    else if (type === "BRACE_LEFT" || type === "BRACKET_LEFT") open.push(key);
    else if (type === "BRACE_RIGHT" || type === "BRACKET_RIGHT") key = open.pop() ?? "";
    else if (type === "LINE_COMMENT") return `// ${HIDDEN_VALUE}`;
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
  return value.replace(/[^\r\n]+/, HIDDEN_VALUE).replace(/(?<=[\r\n])[^\r\n]+/g, "");
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

/** Longest common subsequence; removed lines come before added ones. */
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
