/** Where a key stands in the text of a configuration file. */
import type { JsonPropertyNode, JsonValueNode } from "@croct/json5-parser";
import { json5Library, normalizeText, parseJson5Tree, type Json5Tree } from "./json5.ts";
import { formatKeyPath, parseKeyPath, type KeyPath } from "./key-path.ts";

export interface Position {
  /** Both from 1 on. */
  line: number;
  column: number;
}

/** Finds places in one text, which has to be JSON5. Loads the parser (9 ms). */
export class TextPositions {
  readonly #text: readonly string[];
  readonly #tree: Json5Tree;

  /** Throws `config_invalid`. */
  constructor(text: string, file: string) {
    const normal = normalizeText(text);
    this.#text = [...normal];
    this.#tree = parseJson5Tree(normal, file);
  }

  /** Of the key, or of what is nearest above it; undefined where not even its first part is there. */
  of(path: KeyPath): Position | undefined {
    const { JsonArrayNode, JsonObjectNode } = json5Library();
    let at: number | undefined;
    let value: JsonValueNode | undefined = this.#tree.root;
    for (const key of path) {
      if (value instanceof JsonObjectNode) {
        // Where a key stands twice the last one counts.
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

  /** Of the key path that a sentence of the check begins with. */
  ofSentence(sentence: string): Position | undefined {
    const [path = ""] = /^(?:[^\s"]|"(?:[^"\\]|\\.)*")+/.exec(sentence) ?? [];
    try {
      const keys = parseKeyPath(path.replace(/:$/, ""));
      return formatKeyPath(keys) === path ? this.of(keys) : undefined;
    } catch {
      // The sentence is about the file as a whole.
      return undefined;
    }
  }
}
