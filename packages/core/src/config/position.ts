/** Positions of keys in the text of a configuration file. */
import type { JsonPropertyNode, JsonValueNode } from "@croct/json5-parser";
import { json5Library, normalizeText, parseJson5Tree, type Json5Tree } from "./json5.ts";
import { formatKeyPath, parseKeyPath, type KeyPath } from "./key-path.ts";

export interface Position {
  /** Both are 1-based. */
  line: number;
  column: number;
}

/** Finds positions in one JSON5 text. Loads the parser (9 ms). */
export class TextPositions {
  readonly #text: readonly string[];
  readonly #tree: Json5Tree;

  /** Throws `config_invalid`. */
  constructor(text: string, file: string) {
    const normal = normalizeText(text);
    this.#text = [...normal];
    this.#tree = parseJson5Tree(normal, file);
  }

  /** Position of the key, or of its nearest existing parent; undefined where not even the first part exists. */
  of(path: KeyPath): Position | undefined {
    const { JsonArrayNode, JsonObjectNode } = json5Library();
    let at: number | undefined;
    let value: JsonValueNode | undefined = this.#tree.root;
    for (const key of path) {
      if (value instanceof JsonObjectNode) {
        // Of a duplicate key the last one counts.
        const property: JsonPropertyNode | undefined = value.properties.findLast(
          (each) => each.key.toJSON() === String(key),
        );
        if (!property) break;
        at = property.key.location.start.index;
        value = property.value;
      } else if (value instanceof JsonArrayNode) {
        value = value.elements[Number(key)];
        if (value === undefined) break;
        at = value.location.start.index;
      } else break;
    }
    return at === undefined ? undefined : this.#position(this.#tree.original(at));
  }

  #position(index: number): Position {
    const before = this.#text.slice(0, index);
    const line = before.filter((char) => char === "\n").length + 1;
    return { line, column: index - before.lastIndexOf("\n") };
  }

  /** Position of the key path at the start of a check's sentence. */
  ofSentence(sentence: string): Position | undefined {
    const [path = ""] = /^(?:[^\s"]|"(?:[^"\\]|\\.)*")+/.exec(sentence) ?? [];
    try {
      const keys = parseKeyPath(path.replace(/:$/, ""));
      return formatKeyPath(keys) === path ? this.of(keys) : undefined;
    } catch {
      // The sentence is about the whole file.
      return undefined;
    }
  }
}
