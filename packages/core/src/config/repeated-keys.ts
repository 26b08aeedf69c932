/** Keys that one object of a configuration has twice. A parser takes the last one without a word. */
import { containerOf, itemsOf, keyOf, parseRoot, type Container } from "./config-tree.ts";
import { normalizeText } from "./json5.ts";
import { formatKeyPath } from "./key-path.ts";

/** One sentence each. */
export function repeatedKeys(text: string, file: string): string[] {
  const found: string[] = [];
  const visit = (container: Container, path: readonly (string | number)[]): void => {
    const seen = new Set<string>();
    for (const [index, item] of itemsOf(container).entries()) {
      const key = keyOf(item);
      const at = [...path, key ?? index];
      if (key !== undefined && seen.has(key))
        found.push(`${formatKeyPath(at)} is in ${file} twice; the last one counts. Remove the other.`);
      if (key !== undefined) seen.add(key);
      const inner = containerOf(item);
      if (inner) visit(inner, at);
    }
  };
  visit(parseRoot(normalizeText(text), file).root, []);
  return found;
}
