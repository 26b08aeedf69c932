/** Files that tool calls touched, collected by code and not left to a summarizer. */
import type { AgentMessage } from "../contract/message.ts";
import { callRecords, type CallRecord } from "./calls.ts";

type FileOperation = "read" | "written" | "edited";

function operationOf(record: CallRecord): FileOperation | undefined {
  const name = record.name.toLowerCase();
  if (/edit|patch|replace/.test(name)) return "edited";
  if (/write|create/.test(name)) return "written";
  return name.startsWith("read") || name === "view" ? "read" : undefined;
}

/** Calls that touched a file, in order; a failed or unanswered one changed nothing and does not count. */
function touches(records: readonly CallRecord[]): { path: string; operation: FileOperation }[] {
  return records.flatMap((record) => {
    const operation = operationOf(record);
    if (record.path === undefined || operation === undefined || record.state !== "ok") return [];
    return [{ path: record.path, operation }];
  });
}

/** The last operation on each path that changed it, else `read`; most recently used last. */
export function lastOperations(records: readonly CallRecord[]): Map<string, FileOperation> {
  const last = new Map<string, FileOperation>();
  for (const { path, operation } of touches(records)) {
    const before = last.get(path);
    last.delete(path);
    last.set(path, operation === "read" ? (before ?? "read") : operation);
  }
  return last;
}

/**
 * Paths by what was done to them, each list sorted by last use, newest first. From the arguments `path` or
 * `file_path` of successful calls of read, write and edit tools; a path may stand in several lists.
 */
export function filesTouched(messages: readonly AgentMessage[]): {
  read: string[];
  written: string[];
  edited: string[];
} {
  const paths = { read: new Set<string>(), written: new Set<string>(), edited: new Set<string>() };
  for (const { path, operation } of touches(callRecords(messages)).reverse()) paths[operation].add(path);
  return { read: [...paths.read], written: [...paths.written], edited: [...paths.edited] };
}
