/** Prints values in the style of the surrounding JSON5 text. */
import type { JsonObjectNode } from "@croct/json5-parser";
import { json5Library, RESERVED_WORD } from "./json5.ts";

export interface Style {
  lineEnd: string;
  /** One step of indentation. */
  unit: string;
  /** Whether an empty object is filled over several lines. */
  broken: boolean;
  /** Whether a space follows colons and commas. */
  spaced: boolean;
  /** Whether keys are unquoted where possible. */
  bareKeys: boolean;
}

/** Bare keys that every JSON5 reader accepts, apart from reserved words. */
const BARE_KEY = /^(?!(?:Infinity|NaN)$)[A-Za-z_$][\w$]*$/;
export function detectStyle(source: string, root: JsonObjectNode): Style {
  const first = root.properties[0];
  const lineEnd = source.includes("\r\n") ? "\r\n" : "\n";
  const oneLine = first !== undefined && !source.trim().includes("\n");
  const unit = /\n([ \t]+)[^\s]/.exec(source)?.[1] ?? "  ";
  return {
    lineEnd,
    unit: unit.startsWith("\t") ? "\t" : unit,
    broken: !oneLine,
    spaced: !oneLine || /:\s/.test(source),
    bareKeys: first !== undefined && first.key instanceof json5Library().JsonIdentifierNode,
  };
}

/** JSON whose line separators are escaped: the parser of files with comments refuses them in a string. */
export function printScalar(value: unknown): string {
  return JSON.stringify(value).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}

export function printKey(key: string, style: Style): string {
  const bare = style.bareKeys && BARE_KEY.test(key) && !RESERVED_WORD.test(key);
  return (bare ? key : printScalar(key)) + (style.spaced ? ": " : ":");
}

/** `indent` is that of the line where the value begins; without it the value stays on its line. */
export function printValue(value: unknown, style: Style, indent: string | undefined): string {
  if (typeof value === "number") return Object.is(value, -0) ? "0" : String(value);
  if (typeof value !== "object" || value === null) return printScalar(value);
  const inner = indent === undefined ? undefined : indent + style.unit;
  const parts = Array.isArray(value)
    ? value.map((element: unknown) => printValue(element, style, inner))
    : Object.entries(value).map(([key, element]) => printKey(key, style) + printValue(element, style, inner));
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (parts.length === 0) return open + close;
  if (inner === undefined) return open + parts.join(style.spaced ? ", " : ",") + close;
  const lines = parts.map((part) => style.lineEnd + inner + part);
  return open + lines.join(",") + style.lineEnd + (indent ?? "") + close;
}
