/** MCP servers of OpenClaw. Most keys mean the same here; what means something else there is said anew. */
import { formatKeyPath, type KeyPath } from "../../config/key-path.ts";
import { isRecord } from "../../config/record.ts";
import type { ConfigDraft } from "./config-draft.ts";

const SERVERS: KeyPath = ["mcp", "servers"];
const TRANSPORTS: readonly unknown[] = ["stdio", "http", "streamable-http", "sse"];
/** As long as a timer can wait. */
const LONGEST_MS = 2_000_000_000;

/** Times in seconds, what they are here, and what counts before them. */
const SECONDS: readonly [theirs: string, ours: string, before: readonly string[]][] = [
  ["timeout", "timeoutMs", ["requestTimeoutMs", "timeoutMs"]],
  ["connectTimeout", "connectTimeoutMs", ["connectionTimeoutMs", "connectTimeoutMs"]],
  ["connect_timeout", "connectTimeoutMs", ["connectionTimeoutMs", "connectTimeoutMs"]],
];

/** What is left of a server can be started or reached; keys that are not known stay in the draft. */
export function takeMcpServers(draft: ConfigDraft): void {
  for (const name of draft.keys(SERVERS)) {
    const server = [...SERVERS, name];
    // What is no object is left out with all else that is not valid.
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
  // What held nothing else is gone already, and told.
  if (!command && !url) draft.drop(server, "it names neither a program nor an address");
  return command === true || url === true;
}

/** There the type counts where no transport is named, and a server with neither is spoken to in the older way. */
function takeTransport(draft: ConfigDraft, server: KeyPath): void {
  const transport: KeyPath = [...server, "transport"];
  const [hasType, hasTransport] = ["type", "transport"].map(
    (key) => draft.at([...server, key]) !== undefined,
  );
  if (hasType && hasTransport) draft.drop([...server, "type"], "the transport beside it counts");
  if (hasType || hasTransport || draft.at([...server, "url"]) === undefined) return;
  draft.set(transport, "sse", {
    path: formatKeyPath(transport),
    as: '"sse", as it is there where none is named',
  });
}

function takeSeconds(draft: ConfigDraft, server: KeyPath): void {
  for (const [theirs, ours, before] of SECONDS) {
    const path = [...server, theirs];
    const seconds = draft.at(path);
    if (seconds === undefined) continue;
    if (typeof seconds !== "number" || !(seconds > 0)) draft.drop(path, "it is no time");
    else if (before.some((key) => draft.at([...server, key]) !== undefined))
      draft.drop(path, "the time in milliseconds beside it counts");
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
  else draft.drop(path, "what enabled says counts");
}
