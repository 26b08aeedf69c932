import { resolve } from "node:path";
import type { ToolCall, ToolCallContent, ToolCallLocation, ToolKind } from "@agentclientprotocol/sdk";
import type { ImagePart, TextPart } from "../../contract/message.ts";

/** What an editor shows of a call before it has a result. */
export type ShownCall = Pick<ToolCall, "title" | "kind" | "locations" | "content" | "rawInput" | "name">;

/** By the names of the host's tools and of those that other runtimes bring, in lower case. */
const KINDS: Readonly<Record<string, ToolKind>> = {
  read: "read",
  notebookread: "read",
  write: "edit",
  edit: "edit",
  multiedit: "edit",
  notebookedit: "edit",
  apply_patch: "edit",
  glob: "search",
  grep: "search",
  search: "search",
  ls: "search",
  context_search: "search",
  shell: "execute",
  bash: "execute",
  exec_command: "execute",
  web_fetch: "fetch",
  webfetch: "fetch",
  web_search: "fetch",
  websearch: "fetch",
  update_plan: "think",
  todowrite: "think",
};
const LONGEST_TITLE = 160;

/** Ids of a session's calls as the client knows them: it takes one id for one call, and some models begin anew each turn. */
export class CallIds {
  readonly #begun = new Map<string, number>();

  /** For a call that begins. */
  next(toolCallId: string): string {
    const times = (this.#begun.get(toolCallId) ?? 0) + 1;
    this.#begun.set(toolCallId, times);
    return times === 1 ? toolCallId : `${toolCallId}#${times}`;
  }

  /** The conversation is told from its beginning. */
  restart(): void {
    this.#begun.clear();
  }
}

export function kindOf(toolName: string): ToolKind {
  return KINDS[toolName.toLowerCase()] ?? "other";
}

/** In one line, cut. */
export function oneLine(text: string, limit: number): string {
  const flat = text.replace(/\s+/g, " ").trim();
  return flat.length <= limit ? flat : `${flat.slice(0, limit - 1)}…`;
}

function first(given: Record<string, unknown>, ...keys: string[]): string | undefined {
  for (const key of keys) {
    const value = given[key];
    if (typeof value === "string" && value !== "") return value;
  }
  return undefined;
}

function pathOf(given: Record<string, unknown>): string | undefined {
  return first(given, "path", "file_path", "notebook_path", "file");
}

/** Files that Codex announces with a patch. */
function changedPaths(given: Record<string, unknown>): string[] {
  const { changes } = given;
  if (!Array.isArray(changes)) return [];
  return changes.flatMap((change: unknown) => {
    const path = (change as { path?: unknown } | null)?.path;
    return typeof path === "string" ? [path] : [];
  });
}

function titleOf(toolName: string, given: Record<string, unknown>): string {
  const told =
    first(given, "command") ??
    pathOf(given) ??
    first(given, "pattern", "query", "url", "task", "prompt", "description") ??
    (changedPaths(given).join(", ") || undefined);
  const command = kindOf(toolName) === "execute" && told !== undefined;
  return oneLine(command ? told : [toolName, told ?? ""].join(" "), LONGEST_TITLE);
}

/** The first line that a call is about, where it says one. */
function lineOf(given: Record<string, unknown>): number | undefined {
  const line = given["offset"] ?? given["line"];
  return typeof line === "number" && Number.isInteger(line) && line >= 1 ? line : undefined;
}

function locationsOf(toolName: string, given: Record<string, unknown>, cwd: string): ToolCallLocation[] {
  if (kindOf(toolName) === "execute") return [];
  const path = pathOf(given);
  const paths = path === undefined ? changedPaths(given) : [path];
  const line = paths.length === 1 ? lineOf(given) : undefined;
  return paths.map((one) => ({ path: resolve(cwd, one), ...(line === undefined ? {} : { line }) }));
}

/** The replacement that an edit asks for; of a whole file only the caller knows what it was before. */
function editDiff(toolName: string, given: Record<string, unknown>, cwd: string): ToolCallContent[] {
  const path = pathOf(given);
  const oldText = first(given, "old_text", "old_string");
  const newText = given["new_text"] ?? given["new_string"];
  if (kindOf(toolName) !== "edit" || path === undefined) return [];
  if (oldText === undefined || typeof newText !== "string") return [];
  return [{ type: "diff", path: resolve(cwd, path), oldText, newText }];
}

/** The file that a call writes as a whole, and its text. */
export function writtenFile(
  toolName: string,
  given: Record<string, unknown>,
  cwd: string,
): { path: string; text: string } | undefined {
  const path = pathOf(given);
  const text = given["content"];
  const whole = toolName.toLowerCase() === "write" && path !== undefined && typeof text === "string";
  return whole ? { path: resolve(cwd, path), text } : undefined;
}

export function shownCall(toolName: string, given: Record<string, unknown>, cwd: string): ShownCall {
  return {
    title: titleOf(toolName, given),
    name: toolName,
    kind: kindOf(toolName),
    locations: locationsOf(toolName, given, cwd),
    content: editDiff(toolName, given, cwd),
    rawInput: given,
  };
}

/** Parts of a message or a result as content of a call. */
export function shownResult(parts: readonly (TextPart | ImagePart)[]): ToolCallContent[] {
  return parts.map((content) => ({ type: "content", content }));
}
