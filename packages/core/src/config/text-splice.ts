/**
 * Changes one value of a JSON5 text by replacing or adding only its characters, so that comments and formatting elsewhere are
 * kept by construction. Positions are code points, as the parser counts.
 */
import type { JsonNode } from "@croct/json5-parser";
import { PagurusError } from "@pagurus/contract/errors";
import type { Json5Tree } from "./json5.ts";
import { formatKeyPath, type KeyPath } from "./key-path.ts";
import { detectStyle, printKey, printValue, type Style } from "./print.ts";
import {
  commaAfter,
  isObject,
  isToken,
  itemsOf,
  locate,
  parseRoot,
  parts,
  tokens,
  valueOf,
  type Container,
  type Item,
} from "./config-tree.ts";

interface Cut {
  start: number;
  end: number;
  text: string;
}

/** The text with `value` at `path`; missing parents are created. Throws `usage_invalid`, `config_invalid`. */
export function setInText(written: string, file: string, path: KeyPath, value: unknown): string {
  const tree = parseRoot(written, file);
  const { root, source } = tree;
  const place = locate(root, path);
  const style = detectStyle(source, root);
  const rest = path.slice(place.depth + 1);
  const text = new TextView(written, tree);
  if (place.item) {
    const target = valueOf(place.item);
    const indent = isBroken(place.container) ? text.lineIndent(place.item.location.start.index) : undefined;
    return text.with([span(target, printValue(value, style, indent))]);
  }
  return text.with(insertion(text, place.container, style, path, place.depth, nested(path, rest, value)));
}

/** A view of the text by the tree's positions. */
class TextView {
  readonly #written: string;
  readonly #chars: readonly string[];
  readonly #original: Json5Tree["original"];

  constructor(written: string, { source, original }: Pick<Json5Tree, "source" | "original">) {
    this.#written = written;
    this.#chars = [...source];
    this.#original = original;
  }

  /** The written text with the cuts applied. */
  with(cuts: readonly Cut[]): string {
    const chars = [...this.#written];
    for (const cut of cuts.toSorted((a, b) => b.start - a.start || b.end - a.end)) {
      const start = this.#original(cut.start);
      chars.splice(start, this.#original(cut.end) - start, cut.text);
    }
    return chars.join("");
  }

  /** Indentation of the line at a position. */
  lineIndent(position: number): string {
    const start = this.lineStart(position);
    return this.#chars.slice(start, this.skipBlanks(start)).join("");
  }

  lineStart(position: number): number {
    let at = position;
    while (at > 0 && this.#chars[at - 1] !== "\n") at -= 1;
    return at;
  }

  skipBlanks(position: number): number {
    let at = position;
    while (this.#chars[at] === " " || this.#chars[at] === "\t") at += 1;
    return at;
  }
}

/** The value wrapped in the objects (and lists of one) that the rest of its path names. */
function nested(path: KeyPath, rest: KeyPath, value: unknown): unknown {
  return rest.reduceRight((inner: unknown, key) => {
    if (typeof key === "string") return { [key]: inner };
    if (key === 0) return [inner];
    throw new PagurusError(
      "usage_invalid",
      `${formatKeyPath(path)} would be element ${key} of a list that does not exist; start it with [0].`,
      { details: { path: formatKeyPath(path) } },
    );
  }, value);
}

function span(node: JsonNode, text: string): Cut {
  return { start: node.location.start.index, end: node.location.end.index, text };
}

const BLANK = new Set(["NEWLINE", "WHITESPACE"]);

/** Whether the items are on separate lines. */
function isBroken(container: Container): boolean {
  return tokens(container).some(({ type }) => type === "NEWLINE" || type === "LINE_COMMENT");
}

function insertion(
  text: TextView,
  container: Container,
  style: Style,
  path: KeyPath,
  depth: number,
  value: unknown,
): Cut[] {
  const last = itemsOf(container).at(-1);
  const broken = last ? isBroken(container) : isBroken(container) || style.broken;
  const { open, inner: content, close: bracket } = parts(container);
  const outer = text.lineIndent(open.location.start.index);
  const indent = broken ? ((last && ownLineIndent(text, last)) ?? outer + style.unit) : undefined;
  const key = isObject(container) ? printKey(String(path[depth]), style) : "";
  const entry = key + printValue(value, style, indent);
  const before = content.findLast((child) => !(isToken(child) && BLANK.has(child.type)));
  const at = (before ?? open).location.end.index;
  const comma = last && commaAfter(tokens(container), itemsOf(container), last);
  const end = last && !comma ? last.location.end.index : undefined;
  const cuts: Cut[] = end === undefined || end === at ? [] : [{ start: end, end, text: "," }];
  const lead = end === at ? "," : "";
  const trail = comma ? "," : "";
  if (indent === undefined) {
    const gap = last && style.spaced ? " " : "";
    return [...cuts, { start: at, end: at, text: lead + gap + entry + trail }];
  }
  // An empty one-line container also gets a line for its end.
  const close = isBroken(container) ? "" : style.lineEnd + outer;
  const inner = close === "" ? at : bracket.location.start.index;
  cuts.push({ start: at, end: inner, text: lead + style.lineEnd + indent + entry + trail + close });
  return cuts;
}

/** The indentation of an item that begins its line. */
function ownLineIndent(text: TextView, item: Item): string | undefined {
  const start = item.location.start.index;
  const lineStart = text.lineStart(start);
  return text.skipBlanks(lineStart) === start ? text.lineIndent(start) : undefined;
}
