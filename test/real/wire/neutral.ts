/** Recorded requests without machine-specific folders and ids; long texts are cut in their middle. */
import type { Asked } from "./codex-wire-bench.ts";

const MOST_CHARACTERS = 450;
const MOST_DESCRIPTION = 80;

function shorter(key: string, value: unknown): unknown {
  if (typeof value !== "string") return value;
  if (key === "description" && value.length > MOST_DESCRIPTION) return `${value.slice(0, 60)}…`;
  if (key !== "text" || value.length <= MOST_CHARACTERS) return value;
  return `${value.slice(0, 150)} […] ${value.slice(-100)}`;
}

/** The request as a text: its line, its headers, an empty line, its body. */
export function neutralRequest({ method, path, headers, body }: Asked, root: string): string {
  const neutral = (text: string): string =>
    text
      .replaceAll(`${root}/work`, "/home/user/project")
      .replaceAll(root, "/home/user")
      .replaceAll(/("?installation_id\\*"?:\\*")[0-9a-f-]{36}/g, "$100000000-0000-4000-8000-000000000000")
      .replaceAll(/(installation-id":")[0-9a-f-]{36}/g, "$100000000-0000-4000-8000-000000000000")
      .replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1:8080")
      .replaceAll(/\((?:Debian|Linux|Ubuntu)[^)]*\) \S+/g, "(Linux; x86_64) unknown");
  const source = body.toString();
  const parsed = JSON.parse(source) as unknown;
  // The fixture keeps Codex's byte format, which works only while both write JSON alike.
  if (JSON.stringify(parsed) !== source) throw new Error("Codex does not write JSON as JSON.stringify does");
  const short = neutral(JSON.stringify(parsed, shorter));
  const lines = Object.entries({ ...headers, "content-length": String(Buffer.byteLength(short)) }).map(
    ([name, value]) => `${name}: ${neutral(String(value))}`,
  );
  return [`${method} ${path}`, ...lines, "", short].join("\n");
}
