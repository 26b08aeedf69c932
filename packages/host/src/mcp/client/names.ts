/** Names under which models see the tools of MCP servers. */
import { createHash } from "node:crypto";

/** Length limit: OpenAI and Anthropic allow 64 of these characters. */
const MOST_CHARACTERS = 64;
const HASH_CHARACTERS = 8;
const HASHED = /_[0-9a-f]{8}$/;
const SEPARATOR = "__";

function plain(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9_-]/g, "_");
}

/**
 * `<server>__<tool>`. A name that is too long or has characters a provider rejects is shortened or replaced and gets a hash
 * of the true names, so that two tools never share one. Pure: the same names always give the same result. Never begins with
 * `mcp__`, which Codex reserves.
 */
export function toolName(server: string, tool: string): string {
  const wanted = `${plain(server)}${SEPARATOR}${plain(tool)}`;
  const exact =
    plain(server) === server &&
    plain(tool) === tool &&
    // Google requires a letter at the start.
    /^[A-Za-z]/.test(server) &&
    // The first separator has to be the one between the two.
    !`${server}_`.includes(SEPARATOR) &&
    server !== "mcp" &&
    // Hashed names end like that.
    !HASHED.test(tool) &&
    wanted.length <= MOST_CHARACTERS;
  if (exact) return wanted;
  const hash = createHash("sha256")
    .update(JSON.stringify([server, tool]))
    .digest("hex");
  const suffix = `_${hash.slice(0, HASH_CHARACTERS)}`;
  const safe =
    /^[A-Za-z]/.test(wanted) && !wanted.startsWith(`mcp${SEPARATOR}`) ? wanted : `server_${wanted}`;
  return safe.slice(0, MOST_CHARACTERS - suffix.length) + suffix;
}

/** Whether a tool's own name matches one of the patterns: the name itself, where `*` matches any characters. */
export function fitsOne(tool: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => {
    const parts = pattern.split("*").map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`));
    return new RegExp(`^${parts.join(".*")}$`, "s").test(tool);
  });
}
