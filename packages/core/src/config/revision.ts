/**
 * Changes values of a JSON5 text, one after the other, by removing or replacing only their characters: the text is parsed once,
 * and each change sees the result of the previous ones. Positions are code points, as the parser counts.
 */
import type { JsonNode } from "@croct/json5-parser";
import { json5Library } from "./json5.ts";
import type { KeyPath } from "./key-path.ts";
import { printScalar } from "./print.ts";
import {
  commaAfter,
  containerOf,
  itemsOf,
  keyOf,
  locate,
  parseRoot,
  tokens,
  valueOf,
  type Container,
  type Item,
  type Reading,
  type RootTree,
  type Token,
} from "./config-tree.ts";

/** The text without the value at `path`; undefined when there is none. Throws `config_invalid`, `usage_invalid`. */
export function unsetInText(written: string, file: string, path: KeyPath): string | undefined {
  const revision = new Revision(written, file);
  return revision.remove(path) ? revision.text : undefined;
}

/**
 * The text with another key for the value at `path`; undefined when there is none. The value and its comments stay.
 * Throws `config_invalid`, `usage_invalid`.
 */
export function renameInText(written: string, file: string, path: KeyPath, key: string): string | undefined {
  const revision = new Revision(written, file);
  return revision.rename(path, key) ? revision.text : undefined;
}

/** The remaining items of a container. */
interface Held {
  items: Item[];
  commas: Token[];
}

interface Span {
  start: number;
  end: number;
}

export class Revision {
  readonly #written: string;
  readonly #tree: RootTree;
  readonly #rest: Rest;
  readonly #held = new Map<Container, Held>();
  readonly #renamed = new Map<Item, string>();
  /** Items whose value was replaced. */
  readonly #replaced = new Set<Item>();
  readonly #reading: Reading = {
    items: (container) => this.#in(container).items,
    key: (item) => this.#renamed.get(item) ?? keyOf(item),
    inner: (item) => (this.#replaced.has(item) ? undefined : containerOf(item)),
  };

  /** Throws `config_invalid`. */
  constructor(written: string, file: string) {
    this.#written = written;
    this.#tree = parseRoot(written, file);
    this.#rest = new Rest(this.#tree.source);
  }

  /** Whether an object of the text has a duplicate key: without one of the two its value is the other's. */
  get hasTwins(): boolean {
    const twinned = (container: Container): boolean => {
      const items = itemsOf(container);
      const keys = items.map(keyOf).filter((key) => key !== undefined);
      if (new Set(keys).size < keys.length) return true;
      return items.some((item) => {
        const inner = containerOf(item);
        return inner !== undefined && twinned(inner);
      });
    };
    return twinned(this.#tree.root);
  }

  /** Removes a value; false if there is none at the path. Throws `usage_invalid`. */
  remove(path: KeyPath): boolean {
    const found = this.#find(path);
    if (found) this.#cut(this.#in(found.container), found.item);
    return found !== undefined;
  }

  /** Renames the key of a value, whose comments are kept. False if there is none at the path. Throws `usage_invalid`. */
  rename(path: KeyPath, key: string): boolean {
    const item = this.#find(path)?.item;
    if (!(item instanceof json5Library().JsonPropertyNode)) return false;
    const span = spanOf(item.key);
    const single = this.#rest.startsWith(span.start, "'") && !/['\\]/.test(key);
    this.#rest.replace(span, single ? `'${key}'` : printScalar(key));
    this.#renamed.set(item, key);
    return true;
  }

  /** Replaces a value. False if there is none at the path. Throws `usage_invalid`. */
  replace(path: KeyPath, value: string | number | boolean): boolean {
    const item = this.#find(path)?.item;
    if (!item) return false;
    this.#rest.replace(spanOf(valueOf(item)), printScalar(value));
    this.#replaced.add(item);
    return true;
  }

  /** The written text with the changes. */
  get text(): string {
    const chars = [...this.#written];
    const { original } = this.#tree;
    const writtenIn = ({ start, end }: Span): string => chars.slice(original(start), original(end)).join("");
    return this.#rest
      .parts()
      .map((part) => (typeof part === "string" ? part : writtenIn(part)))
      .join("");
  }

  #find(path: KeyPath): { container: Container; item: Item } | undefined {
    const { container, item, depth } = locate(this.#tree.root, path, this.#reading);
    return item && depth === path.length - 1 ? { container, item } : undefined;
  }

  #in(container: Container): Held {
    const held = this.#held.get(container) ?? {
      items: [...itemsOf(container)],
      commas: tokens(container).filter(({ type }) => type === "COMMA"),
    };
    this.#held.set(container, held);
    return held;
  }

  #cut(held: Held, item: Item): void {
    const { items, commas } = held;
    const rest = this.#rest;
    const own = commaAfter(commas, items, item);
    const previous = items[items.indexOf(item) - 1];
    // The last of a list without a trailing comma: the previous one becomes the last.
    const before = own || !previous ? undefined : commaAfter(commas, items, previous);
    const cut = spanOf(item);
    if (own && rest.skipBlanks(cut.end) === own.location.start.index) cut.end = own.location.end.index;
    const lineStart = rest.lineStart(cut.start);
    const startsLine = rest.skipBlanks(lineStart) >= cut.start;
    const after = rest.skipBlanks(cut.end);
    const nextLine = rest.afterLineEnd(after);
    if (startsLine && nextLine !== undefined) {
      cut.start = lineStart;
      cut.end = nextLine;
    } else if (startsLine || own) cut.end = after;
    else cut.start = rest.skipBlanksBack(cut.start);
    for (const comma of [own, before]) if (comma) rest.remove(spanOf(comma));
    rest.remove(cut);
    held.items = items.filter((each) => each !== item);
    held.commas = commas.filter((comma) => comma !== own && comma !== before);
  }
}

function spanOf({ location: { start, end } }: JsonNode): Span {
  return { start: start.index, end: end.index };
}

/** The remaining characters of a text. A replacement counts as the first character it replaces. */
class Rest {
  readonly #chars: string[];
  readonly #gone: Uint8Array;
  readonly #fresh = new Set<number>();

  constructor(source: string) {
    this.#chars = [...source];
    this.#gone = new Uint8Array(this.#chars.length);
  }

  remove({ start, end }: Span): void {
    this.#gone.fill(1, start, end);
  }

  /** The text begins and ends with no space, and has one line. */
  replace({ start, end }: Span, text: string): void {
    this.#chars[start] = text;
    this.#fresh.add(start);
    this.remove({ start: start + 1, end });
  }

  startsWith(position: number, beginning: string): boolean {
    return this.#chars[position]?.startsWith(beginning) === true;
  }

  /** The remaining spans in order, and the replacement texts. */
  parts(): (Span | string)[] {
    const parts: (Span | string)[] = [];
    const { length } = this.#chars;
    const fresh = [...this.#fresh].toSorted((a, b) => a - b);
    for (let start = this.#at(0); start < length;) {
      while (fresh[0] !== undefined && fresh[0] < start) fresh.shift();
      const next = this.#gone.indexOf(1, start);
      const end = Math.min(next < 0 ? length : next, fresh[0] ?? length);
      if (start === fresh[0]) parts.push(this.#chars[start] ?? "");
      else parts.push({ start, end });
      start = this.#at(start === fresh[0] ? start + 1 : end);
    }
    return parts;
  }

  lineStart(position: number): number {
    let at = position;
    for (let before = this.#before(at); before >= 0; before = this.#before(at)) {
      if (this.#chars[before] === "\n") break;
      at = before;
    }
    return at;
  }

  skipBlanks(position: number): number {
    let at = this.#at(position);
    while (isBlank(this.#chars[at])) at = this.#at(at + 1);
    return at;
  }

  skipBlanksBack(position: number): number {
    let at = position;
    for (let before = this.#before(at); isBlank(this.#chars[before]); before = this.#before(at)) at = before;
    return at;
  }

  /** The position after the line end at this position; undefined if there is none. */
  afterLineEnd(position: number): number | undefined {
    const first = this.#at(position);
    const at = this.#chars[first] === "\r" ? this.#at(first + 1) : first;
    return this.#chars[at] === "\n" ? at + 1 : undefined;
  }

  /** The first remaining position from here on. */
  #at(position: number): number {
    const at = this.#gone.indexOf(0, position);
    return at < 0 ? this.#chars.length : at;
  }

  /** The last remaining position before this one; -1 where there is none. */
  #before(position: number): number {
    return position === 0 ? -1 : this.#gone.lastIndexOf(0, position - 1);
  }
}

function isBlank(char: string | undefined): boolean {
  return char === " " || char === "\t";
}
