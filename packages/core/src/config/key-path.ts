/** Paths of configuration keys: `agents.defaults.models["openai/gpt-5.5"].agentRuntime.id`, `agents.list[0].id`. */
import { PagurusError } from "@pagurus/contract/errors";

export type KeyPath = readonly (string | number)[];

const PLAIN_KEY = /^[A-Za-z_$][\w$-]*$/;
/** Next segment: a plain key, an index, or a quoted key in brackets (as JSON, or in single quotes). */
const SEGMENT = /(?:^|\.)([^.[\]"'\s]+)|(?:\.)?\[(\d+)\]|\.?\[("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\]/y;

/** Throws `usage_invalid`, naming the place that cannot be read. */
export function parseKeyPath(text: string): KeyPath {
  const path: (string | number)[] = [];
  let at = 0;
  while (at < text.length) {
    SEGMENT.lastIndex = at;
    const match = SEGMENT.exec(text);
    const key = match ? segmentValue(match) : undefined;
    if (key === undefined) throw invalidPath(text, at);
    path.push(key);
    at = SEGMENT.lastIndex;
  }
  if (path.length === 0) throw invalidPath(text, 0);
  return path;
}

function segmentValue(match: RegExpExecArray): string | number | undefined {
  const [, plain, index, quoted] = match;
  if (index !== undefined) return Number(index);
  const key = plain ?? unquote(quoted ?? "");
  // A key that would reach an object's prototype is not a setting.
  return key === "__proto__" ? undefined : key;
}

function unquote(quoted: string): string | undefined {
  try {
    const json = quoted.startsWith("'")
      ? `"${quoted.slice(1, -1).replaceAll("\\'", "'").replaceAll('"', '\\"')}"`
      : quoted;
    return JSON.parse(json) as string;
  } catch {
    // An escape that JSON does not know: the caller names the place.
    return undefined;
  }
}

function invalidPath(text: string, at: number): PagurusError {
  return new PagurusError(
    "usage_invalid",
    `The key path ${JSON.stringify(text)} cannot be read at character ${at + 1}; separate keys with dots and write a key with dots or slashes as ["the.key"].`,
    { details: { path: text, position: at + 1 } },
  );
}

export function formatKeyPath(path: readonly PropertyKey[]): string {
  let text = "";
  for (const key of path) {
    if (typeof key === "number") text += `[${key}]`;
    else if (PLAIN_KEY.test(String(key))) text += text === "" ? String(key) : `.${String(key)}`;
    else text += `[${JSON.stringify(String(key))}]`;
  }
  return text;
}

/** The value at a path; undefined where a part of it is missing. */
export function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  let value = root;
  for (const key of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<PropertyKey, unknown>)[key];
  }
  return value;
}
