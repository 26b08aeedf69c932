/** Writes values in the style of the JSON5 text around them. */
import type { JsonObjectNode } from "@croct/json5-parser";
import { json5Library, RESERVED_WORD } from "./json5.ts";

export interface Style {
  lineEnd: string;
  /** One step of indentation. */
  unit: string;
  /** Whether an empty object is filled over several lines. */
  broken: boolean;
  /** Whether a space stands after colons and commas. */
  spaced: boolean;
  /** Whether keys go without quotes where they can. */
  bareKeys: boolean;
}

/** Bare keys that every JSON5 reader takes, reserved words apart. */
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

export function printKey(key: string, style: Style): string {
  const bare = style.bareKeys && BARE_KEY.test(key) && !RESERVED_WORD.test(key);
  return (bare ? key : JSON.stringify(key)) + (style.spaced ? ": " : ":");
}

/** `indent` is that of the line the value begins in; without one the value stays on its line. */
export function printValue(value: unknown, style: Style, indent: string | undefined): string {
  if (typeof value === "number") return Object.is(value, -0) ? "0" : String(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
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
