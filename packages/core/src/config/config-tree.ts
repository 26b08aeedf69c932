/** The parse tree of a JSON5 text: its objects and lists, their items, and the path to a value. */
import type {
  JsonArrayNode,
  JsonNode,
  JsonObjectNode,
  JsonPropertyNode,
  JsonValueNode,
} from "@croct/json5-parser";
import { PagurusError } from "@pagurus/contract/errors";
import { json5Library, parseJson5Tree, type Json5Tree } from "./json5.ts";
import { formatKeyPath, type KeyPath } from "./key-path.ts";

export type Container = JsonObjectNode | JsonArrayNode;
export type Item = JsonPropertyNode | JsonValueNode;
export type Token = JsonNode & { readonly type: string };

export interface Place {
  container: Container;
  /** The item at the path's next key; absent when there is none yet. */
  item?: Item;
  /** How many keys of the path lead to the container. */
  depth: number;
}

/** A text whose root is an object. */
export type RootTree = Json5Tree & { root: JsonObjectNode };

/** Throws `config_invalid`. */
export function parseRoot(written: string, file: string): RootTree {
  const tree = parseJson5Tree(written, file);
  const { root } = tree;
  if (isObject(root)) return { ...tree, root };
  throw new PagurusError("config_invalid", `${file} must hold an object; put its settings in braces.`, {
    details: { file },
  });
}

export function isObject(node: unknown): node is JsonObjectNode {
  return node instanceof json5Library().JsonObjectNode;
}

function isArray(node: unknown): node is JsonArrayNode {
  return node instanceof json5Library().JsonArrayNode;
}

export function itemsOf(container: Container): readonly Item[] {
  return isObject(container) ? container.properties : container.elements;
}

export function valueOf(item: Item): JsonValueNode {
  return item instanceof json5Library().JsonPropertyNode ? item.value : item;
}

/** The object or list that an item is or holds. */
export function containerOf(item: Item): Container | undefined {
  const value = valueOf(item);
  return isObject(value) || isArray(value) ? value : undefined;
}

export function keyOf(item: Item): string | undefined {
  return item instanceof json5Library().JsonPropertyNode ? item.key.toJSON() : undefined;
}

/** Access to a tree whose text has changed since it was parsed. */
export interface Reading {
  items(container: Container): readonly Item[];
  key(item: Item): string | undefined;
  inner(item: Item): Container | undefined;
}

const AS_PARSED: Reading = { items: itemsOf, key: keyOf, inner: containerOf };

/** Throws `usage_invalid`. */
export function locate(root: JsonObjectNode, path: KeyPath, reading: Reading = AS_PARSED): Place {
  let container: Container = root;
  for (const [depth, key] of path.entries()) {
    const held = reading.items(container);
    if (isArray(container)) checkIndex(held.length, path, depth);
    const item: Item | undefined = isArray(container)
      ? held[Number(key)]
      : held.find((each) => reading.key(each) === String(key));
    if (!item || depth === path.length - 1) return item ? { container, item, depth } : { container, depth };
    const inner = reading.inner(item);
    if (!inner) throw notContainer(path, depth);
    container = inner;
  }
  return { container, depth: 0 };
}

function checkIndex(length: number, path: KeyPath, depth: number): void {
  const index = Number(path[depth]);
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

const OPENING_TOKENS = new Set(["BRACE_LEFT", "BRACKET_LEFT"]);
const CLOSING = new Set(["BRACE_RIGHT", "BRACKET_RIGHT"]);

export function isToken(node: JsonNode): node is Token {
  return node instanceof json5Library().JsonTokenNode;
}

/** The brackets and the nodes between them; the parser also counts the root's surroundings as its children. */
export function parts(container: Container): { open: Token; inner: JsonNode[]; close: Token } {
  const { children } = container;
  const first = children.findIndex((child) => isToken(child) && OPENING_TOKENS.has(child.type));
  const last = children.findLastIndex((child) => isToken(child) && CLOSING.has(child.type));
  // A parsed container has both brackets.
  return {
    open: children[first] as Token,
    inner: children.slice(first + 1, last),
    close: children[last] as Token,
  };
}

/** Spaces, line ends, comments and commas between the brackets. */
export function tokens(container: Container): Token[] {
  return parts(container).inner.filter(isToken);
}

/** The comma after an item, from those of its container. */
export function commaAfter<T extends Token>(
  commas: readonly T[],
  items: readonly Item[],
  item: Item,
): T | undefined {
  const next = items[items.indexOf(item) + 1]?.location.start.index ?? Number.POSITIVE_INFINITY;
  return commas.find(
    ({ type, location }) =>
      type === "COMMA" && location.start.index >= item.location.end.index && location.start.index < next,
  );
}
