import { resolve } from "node:path";
import type { ToolCall, ToolCallContent, ToolCallLocation, ToolKind } from "@agentclientprotocol/sdk";
import type { ImagePart, TextPart } from "@pagurus/contract/message";
import { defined } from "@pagurus/core/data/defined";

/** What an editor shows of a call before its result. */
export type ShownCall = Pick<ToolCall, "title" | "kind" | "locations" | "content" | "rawInput" | "name">;

/** Kinds by the lower-case names of the host's tools and those of other runtimes. */
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

/**
 * Maps call ids to ids that are unique in the client's session: clients expect one id per call, and some models restart their ids in
 * each turn.
 */
export class CallIds {
  readonly #begun = new Map<string, number>();

  /** Returns the client's id for a call that begins. */
  next(toolCallId: string): string {
    const times = (this.#begun.get(toolCallId) ?? 0) + 1;
    this.#begun.set(toolCallId, times);
    return times === 1 ? toolCallId : `${toolCallId}#${times}`;
  }

  /** Resets the counts, before the conversation is sent from its beginning. */
  restart(): void {
    this.#begun.clear();
  }
}

export function kindOf(toolName: string): ToolKind {
  return KINDS[toolName.toLowerCase()] ?? "other";
}

/** The text on one line, truncated to `limit` characters. */
export function oneLine(text: string, limit: number): string {
  const flat = text.replace(/\s+/g, " ").trim();
  return flat.length <= limit ? flat : `${flat.slice(0, limit - 1)}…`;
}

function first(args: Record<string, unknown>, ...keys: string[]): string | undefined {
  for (const key of keys) {
    const value = args[key];
    if (typeof value === "string" && value !== "") return value;
  }
  return undefined;
}

function pathOf(args: Record<string, unknown>): string | undefined {
  return first(args, "path", "file_path", "notebook_path", "file");
}

/** Paths of a Codex patch announcement. */
function changedPaths(args: Record<string, unknown>): string[] {
  const { changes } = args;
  if (!Array.isArray(changes)) return [];
  return changes.flatMap((change: unknown) => {
    const path = (change as { path?: unknown } | null)?.path;
    return typeof path === "string" ? [path] : [];
  });
}

function titleOf(toolName: string, args: Record<string, unknown>): string {
  const detail =
    first(args, "command") ??
    pathOf(args) ??
    first(args, "pattern", "query", "url", "task", "prompt", "description") ??
    (changedPaths(args).join(", ") || undefined);
  const command = kindOf(toolName) === "execute" && detail !== undefined;
  return oneLine(command ? detail : [toolName, detail ?? ""].join(" "), LONGEST_TITLE);
}

/** The first line that a call refers to, if its arguments have one. */
function lineOf(args: Record<string, unknown>): number | undefined {
  const line = args["offset"] ?? args["line"];
  return typeof line === "number" && Number.isInteger(line) && line >= 1 ? line : undefined;
}

function locationsOf(toolName: string, args: Record<string, unknown>, cwd: string): ToolCallLocation[] {
  if (kindOf(toolName) === "execute") return [];
  const path = pathOf(args);
  const paths = path === undefined ? changedPaths(args) : [path];
  const line = paths.length === 1 ? lineOf(args) : undefined;
  return paths.map((one) => ({ path: resolve(cwd, one), ...defined({ line }) }));
}

/** Diff of an edit call; for a whole-file write only the caller knows the previous text. */
function editDiff(toolName: string, args: Record<string, unknown>, cwd: string): ToolCallContent[] {
  const path = pathOf(args);
  const oldText = first(args, "old_text", "old_string");
  const newText = args["new_text"] ?? args["new_string"];
  if (kindOf(toolName) !== "edit" || path === undefined) return [];
  if (oldText === undefined || typeof newText !== "string") return [];
  return [{ type: "diff", path: resolve(cwd, path), oldText, newText }];
}

/** The file that a call writes as a whole, and its text. */
export function writtenFile(
  toolName: string,
  args: Record<string, unknown>,
  cwd: string,
): { path: string; text: string } | undefined {
  const path = pathOf(args);
  const text = args["content"];
  const whole = toolName.toLowerCase() === "write" && path !== undefined && typeof text === "string";
  return whole ? { path: resolve(cwd, path), text } : undefined;
}

export function shownCall(toolName: string, args: Record<string, unknown>, cwd: string): ShownCall {
  return {
    title: titleOf(toolName, args),
    name: toolName,
    kind: kindOf(toolName),
    locations: locationsOf(toolName, args, cwd),
    content: editDiff(toolName, args, cwd),
    rawInput: args,
  };
}

/** Converts parts of a message or a result to content of a call. */
export function shownResult(parts: readonly (TextPart | ImagePart)[]): ToolCallContent[] {
  return parts.map((content) => ({ type: "content", content }));
}
