/** Requests of Gemini CLI in `test/gateway/recorded`. */
import { readdirSync, readFileSync } from "node:fs";
import { generateContentDialect } from "../../../packages/gateway/src/dialect/generate-content/generate-content-dialect.ts";
import type { WireHeaders, WireRequest } from "../../../packages/gateway/src/dialect/wire-dialect.ts";

const FOLDER = new URL("../recorded/gemini-cli-0.61.0/", import.meta.url);

export interface Recorded {
  path: string;
  headers: WireHeaders;
  body: Buffer;
}

export const NAMES: readonly string[] = readdirSync(FOLDER)
  .filter((name) => name.endsWith(".http"))
  .map((name) => name.slice(0, -".http".length));

/** As the gateway passes it. */
export function recorded(name: string): Recorded {
  const bytes = readFileSync(new URL(`${name}.http`, FOLDER));
  const end = bytes.indexOf("\n\n");
  const [first = "", ...lines] = bytes.toString("utf8", 0, end).split("\n");
  const headers = Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(": ");
      return [line.slice(0, at).toLowerCase(), line.slice(at + 2)];
    }),
  );
  return { path: first.split(" ")[1] ?? "", headers, body: bytes.subarray(end + 2) };
}

export function readRecorded(name: string): WireRequest {
  const { path, headers, body } = recorded(name);
  return generateContentDialect.read(path, headers, body);
}
