/** Edits of a configuration, applied to its text and, to see their effect, to its value. */
import { valueAt, type KeyPath } from "@pagurus/core/config/key-path";

export type Edit =
  | { kind: "set"; path: KeyPath; value: unknown }
  | { kind: "unset"; path: KeyPath }
  | { kind: "rename"; path: KeyPath; key: string };

type Container = Record<string | number, unknown>;

/** A copy with the edits made. */
export function editedValue(value: unknown, edits: readonly Edit[]): unknown {
  const copy: unknown = structuredClone(value);
  for (const edit of edits) {
    const key = edit.path.at(-1) ?? "";
    const parent =
      edit.kind === "set" ? made(copy, edit.path.slice(0, -1)) : valueAt(copy, edit.path.slice(0, -1));
    if (typeof parent !== "object" || parent === null) continue;
    const container = parent as Container;
    if (edit.kind === "set") container[key] = structuredClone(edit.value);
    else {
      if (edit.kind === "rename") container[edit.key] = container[key];
      Reflect.deleteProperty(container, key);
    }
  }
  return copy;
}

/** The object at a path; missing parents are created. */
function made(root: unknown, path: KeyPath): unknown {
  let value = root as Container;
  for (const key of path) {
    if (typeof value[key] !== "object" || value[key] === null) value[key] = {};
    value = value[key] as Container;
  }
  return value;
}
