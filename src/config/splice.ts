/**
 * Changes one value of a JSON5 text by replacing, adding or removing just its characters, so that comments and
 * formatting elsewhere stay by construction. Positions are code points, as the parser counts.
 */
import type {
  JsonArrayNode,
  JsonNode,
  JsonObjectNode,
  JsonPropertyNode,
  JsonValueNode,
} from "@croct/json5-parser";
import { PagurusError } from "../contract/errors.ts";
import { json5Library, parseJson5Tree, type Json5Tree } from "./json5.ts";
import { formatKeyPath, type KeyPath } from "./key-path.ts";
import { detectStyle, printKey, printValue, type Style } from "./print.ts";

type Container = JsonObjectNode | JsonArrayNode;
type Item = JsonPropertyNode | JsonValueNode;
interface Cut {
  start: number;
  end: number;
  text: string;
}

interface Place {
  container: Container;
  /** The item at the path's next key; absent when there is none yet. */
  item?: Item;
  /** How many keys of the path lead to the container. */
  depth: number;
}

/** The text with `value` at `path`, missing objects on the way made. Throws `usage_invalid`, `config_invalid`. */
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

/** The text without the value at `path`; undefined when there is none. Throws `config_invalid`. */
export function unsetInText(written: string, file: string, path: KeyPath): string | undefined {
  const tree = parseRoot(written, file);
  const place = locate(tree.root, path);
  if (!place.item || place.depth !== path.length - 1) return undefined;
  const text = new TextView(written, tree);
  return text.with(removal(text, place.container, place.item));
}

/**
 * The text with another key for the value at `path`; undefined when there is none. The value and its comments stay.
 * Throws `config_invalid`.
 */
export function renameInText(written: string, file: string, path: KeyPath, key: string): string | undefined {
  const tree = parseRoot(written, file);
  const { item, depth } = locate(tree.root, path);
  if (!item || depth !== path.length - 1 || !(item instanceof json5Library().JsonPropertyNode))
    return undefined;
  const single = [...tree.source][item.key.location.start.index] === "'" && !/['\\]/.test(key);
  return new TextView(written, tree).with([span(item.key, single ? `'${key}'` : JSON.stringify(key))]);
}

/** Positions are those of the tree. */
class TextView {
  readonly #written: string;
  readonly #chars: readonly string[];
  readonly #original: Json5Tree["original"];

  constructor(written: string, { source, original }: Pick<Json5Tree, "source" | "original">) {
    this.#written = written;
    this.#chars = [...source];
    this.#original = original;
  }

  /** The text as it was written, with the cuts made. */
  with(cuts: readonly Cut[]): string {
    const chars = [...this.#written];
    for (const cut of cuts.toSorted((a, b) => b.start - a.start || b.end - a.end)) {
      const start = this.#original(cut.start);
      chars.splice(start, this.#original(cut.end) - start, cut.text);
    }
    return chars.join("");
  }

  /** Spaces and tabs at the start of the line that holds a position. */
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

  skipBlanksBack(position: number): number {
    let at = position;
    while (this.#chars[at - 1] === " " || this.#chars[at - 1] === "\t") at -= 1;
    return at;
  }

  /** The position after the line end that stands here; undefined when none does. */
  afterLineEnd(position: number): number | undefined {
    const at = this.#chars[position] === "\r" ? position + 1 : position;
    return this.#chars[at] === "\n" ? at + 1 : undefined;
  }
}

function parseRoot(written: string, file: string): Json5Tree & { root: JsonObjectNode } {
  const tree = parseJson5Tree(written, file);
  const { root } = tree;
  if (isObject(root)) return { ...tree, root };
  throw new PagurusError("config_invalid", `${file} must hold an object; put its settings in braces.`, {
    details: { file },
  });
}

function isObject(node: unknown): node is JsonObjectNode {
  return node instanceof json5Library().JsonObjectNode;
}

function isArray(node: unknown): node is JsonArrayNode {
  return node instanceof json5Library().JsonArrayNode;
}

function itemsOf(container: Container): readonly Item[] {
  return isObject(container) ? container.properties : container.elements;
}

function valueOf(item: Item): JsonValueNode {
  return item instanceof json5Library().JsonPropertyNode ? item.value : item;
}

function itemAt(container: Container, key: string | number): Item | undefined {
  if (isArray(container)) return container.elements[Number(key)];
  return container.properties.find((property) => property.key.toJSON() === String(key));
}

function locate(root: JsonObjectNode, path: KeyPath): Place {
  let container: Container = root;
  for (const [depth, key] of path.entries()) {
    checkIndex(container, path, depth);
    const item = itemAt(container, key);
    if (!item || depth === path.length - 1) return item ? { container, item, depth } : { container, depth };
    const value = valueOf(item);
    if (!isObject(value) && !isArray(value)) throw notContainer(path, depth);
    container = value;
  }
  return { container, depth: 0 };
}

function checkIndex(container: Container, path: KeyPath, depth: number): void {
  if (!isArray(container)) return;
  const index = Number(path[depth]);
  const { length } = container.elements;
  if (Number.isInteger(index) && index >= 0 && index <= length) return;
  throw new PagurusError(
    "usage_invalid",
    `${formatKeyPath(path.slice(0, depth))} is a list of ${length}; name an element by its index, or [${length}] for a new one.`,
    { details: { path: formatKeyPath(path) } },
  );
}

function notContainer(path: KeyPath, depth: number): PagurusError {
  const outer = formatKeyPath(path.slice(0, depth + 1));
  return new PagurusError(
    "usage_invalid",
    `${outer} holds a single value, so ${formatKeyPath(path)} cannot be reached; set ${outer} to an object first.`,
    { details: { path: formatKeyPath(path) } },
  );
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

type Token = JsonNode & { readonly type: string };
const OPENING = new Set(["BRACE_LEFT", "BRACKET_LEFT"]);
const CLOSING = new Set(["BRACE_RIGHT", "BRACKET_RIGHT"]);
const BLANK = new Set(["NEWLINE", "WHITESPACE"]);

function isToken(node: JsonNode): node is Token {
  return node instanceof json5Library().JsonTokenNode;
}

/** The brackets and what stands between them; the parser counts what surrounds the root as its children too. */
function parts(container: Container): { open: Token; inner: JsonNode[]; close: Token } {
  const { children } = container;
  const first = children.findIndex((child) => isToken(child) && OPENING.has(child.type));
  const last = children.findLastIndex((child) => isToken(child) && CLOSING.has(child.type));
  // A parsed container has both brackets.
  return {
    open: children[first] as Token,
    inner: children.slice(first + 1, last),
    close: children[last] as Token,
  };
}

function tokens(container: Container): Token[] {
  return parts(container).inner.filter(isToken);
}

/** Whether the items stand on lines of their own. */
function isBroken(container: Container): boolean {
  return tokens(container).some(({ type }) => type === "NEWLINE" || type === "LINE_COMMENT");
}

function commaAfter(container: Container, item: Item): Token | undefined {
  const items = itemsOf(container);
  const next = items[items.indexOf(item) + 1]?.location.start.index ?? Number.POSITIVE_INFINITY;
  return tokens(container).find(
    ({ type, location }) =>
      type === "COMMA" && location.start.index >= item.location.end.index && location.start.index < next,
  );
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
  const comma = last && commaAfter(container, last);
  const end = last && !comma ? last.location.end.index : undefined;
  const cuts: Cut[] = end === undefined || end === at ? [] : [{ start: end, end, text: "," }];
  const lead = end === at ? "," : "";
  const trail = comma ? "," : "";
  if (indent === undefined) {
    const gap = last && style.spaced ? " " : "";
    return [...cuts, { start: at, end: at, text: lead + gap + entry + trail }];
  }
  // An empty container that stood on one line gets a line for its end as well.
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

function removal(text: TextView, container: Container, item: Item): Cut[] {
  const items = itemsOf(container);
  const own = commaAfter(container, item);
  const previous = items[items.indexOf(item) - 1];
  const cuts: Cut[] = [];
  const cut: Cut = span(item, "");
  if (own && text.skipBlanks(cut.end) === own.location.start.index) cut.end = own.location.end.index;
  else if (own) cuts.push(span(own, ""));
  else if (previous) {
    // The last of a list without a trailing comma: the one before it becomes the last.
    const comma = commaAfter(container, previous);
    if (comma) cuts.push(span(comma, ""));
  }
  const lineStart = text.lineStart(cut.start);
  const startsLine = text.skipBlanks(lineStart) >= cut.start;
  const after = text.skipBlanks(cut.end);
  const nextLine = text.afterLineEnd(after);
  if (startsLine && nextLine !== undefined) {
    cut.start = lineStart;
    cut.end = nextLine;
  } else if (startsLine || own) cut.end = after;
  else cut.start = Math.max(text.skipBlanksBack(cut.start), cuts[0]?.end ?? 0);
  return [...cuts, cut];
}
