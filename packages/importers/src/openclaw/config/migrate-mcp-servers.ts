/** Converts MCP servers of OpenClaw. Most keys mean the same here; the others are converted. */
import { formatKeyPath, type KeyPath } from "@pagurus/core/config/key-path";
import type { ConfigDraft } from "./config-draft.ts";
import { isRecord } from "@pagurus/core/data/record-fields";

const SERVERS: KeyPath = ["mcp", "servers"];
const TRANSPORTS: readonly unknown[] = ["stdio", "http", "streamable-http", "sse"];
/** Longest delay of a timer. */
const LONGEST_MS = 2_000_000_000;

/** Times in seconds, their keys here, and the keys that take precedence over them. */
const SECONDS: readonly [theirs: string, ours: string, before: readonly string[]][] = [
  ["timeout", "timeoutMs", ["requestTimeoutMs", "timeoutMs"]],
  ["connectTimeout", "connectTimeoutMs", ["connectionTimeoutMs", "connectTimeoutMs"]],
  ["connect_timeout", "connectTimeoutMs", ["connectionTimeoutMs", "connectTimeoutMs"]],
];

/** Keeps only servers that can be started or reached; unknown keys stay in the draft. */
export function takeMcpServers(draft: ConfigDraft): void {
  for (const name of draft.keys(SERVERS)) {
    const server = [...SERVERS, name];
    // A non-object is dropped with all other invalid values.
    if (!isRecord(draft.at(server)) || !canBeUsed(draft, server)) continue;
    takeTransport(draft, server);
    takeSeconds(draft, server);
    takeFilter(draft, server);
    takeHeaders(draft, server);
    takeSwitch(draft, server);
  }
}

function canBeUsed(draft: ConfigDraft, server: KeyPath): boolean {
  for (const key of ["type", "transport"]) {
    const value = draft.at([...server, key]);
    if (typeof value !== "string" || TRANSPORTS.includes(value)) continue;
    draft.drop(server, "its transport is not spoken here");
    return false;
  }
  for (const key of ["command", "url"]) {
    const value = draft.at([...server, key]);
    if (value !== undefined && (typeof value !== "string" || value.trim() === ""))
      draft.drop([...server, key], "it names nothing");
  }
  const [command, url] = ["command", "url"].map((key) => draft.at([...server, key]) !== undefined);
  if (command && url) {
    const isRemote = /http|sse/.test(String(draft.at([...server, "transport"])));
    draft.drop([...server, isRemote ? "command" : "url"], "a server is a program or an address, not both");
  }
  // Empty parents have been removed already, with a report.
  if (!command && !url) draft.drop(server, "it names neither a program nor an address");
  return command === true || url === true;
}

/** OpenClaw uses the type if no transport is named, and the older transport for a server with neither. */
function takeTransport(draft: ConfigDraft, server: KeyPath): void {
  const transport: KeyPath = [...server, "transport"];
  const [hasType, hasTransport] = ["type", "transport"].map(
    (key) => draft.at([...server, key]) !== undefined,
  );
  if (hasType && hasTransport) draft.drop([...server, "type"], "the transport beside it takes precedence");
  if (hasType || hasTransport || draft.at([...server, "url"]) === undefined) return;
  draft.set(transport, "sse", {
    path: formatKeyPath(transport),
    as: '"sse", the default there',
  });
}

function takeSeconds(draft: ConfigDraft, server: KeyPath): void {
  for (const [theirs, ours, before] of SECONDS) {
    const path = [...server, theirs];
    const seconds = draft.at(path);
    if (seconds === undefined) continue;
    if (typeof seconds !== "number" || !(seconds > 0)) draft.drop(path, "it is not a duration");
    else if (before.some((key) => draft.at([...server, key]) !== undefined))
      draft.drop(path, "the time in milliseconds beside it takes precedence");
    else draft.rename(path, ours, Math.min(LONGEST_MS, Math.max(1, Math.floor(seconds * 1_000))));
  }
}

function takeFilter(draft: ConfigDraft, server: KeyPath): void {
  const theirs: KeyPath = [...server, "toolFilter"];
  const ours: KeyPath = [...server, "tools"];
  if (!isRecord(draft.at(theirs)) || draft.at(ours) !== undefined) return;
  draft.rename(theirs, "tools");
  if (draft.at([...ours, "include"]) !== undefined) draft.rename([...ours, "include"], "allow");
  if (draft.at([...ours, "exclude"]) !== undefined) draft.rename([...ours, "exclude"], "deny");
}

function takeHeaders(draft: ConfigDraft, server: KeyPath): void {
  for (const name of draft.keys([...server, "headers"])) {
    const path = [...server, "headers", name];
    const value = draft.at(path);
    if (typeof value === "number" || typeof value === "boolean")
      draft.set(path, String(value), { path: formatKeyPath(path), as: "the same as a text" });
  }
}

function takeSwitch(draft: ConfigDraft, server: KeyPath): void {
  const path: KeyPath = [...server, "disabled"];
  const disabled = draft.at(path);
  if (typeof disabled !== "boolean") return;
  if (draft.at([...server, "enabled"]) === undefined) draft.rename(path, "enabled", !disabled);
  else draft.drop(path, "enabled takes precedence");
}
