/** Detects which program wrote a file, by its first lines. */
import { asRecord, type Fields, filledString } from "@pagurus/core/data/record-fields";
import { readAt } from "@pagurus/host/stores/files/transcript/transcript-lines";
import { isOwnId } from "@pagurus/host/stores/files/keys";
import type { OpenFile } from "./jsonl-source.ts";
import type { ForeignFormat } from "./foreign-source.ts";
import { sourceLines } from "./source-lines.ts";

const SQLITE_MAGIC = "SQLite format 3\0";
/** Lines to check; the first lines of a session may be ambiguous. */
const LOOKED_LINES = 200;
const CODEX_LINES = new Set(["session_meta", "response_item", "turn_context", "event_msg"]);

/** `pagurus` for our own export, undefined when no line is conclusive. */
export function detectFormat(file: OpenFile): ForeignFormat | "pagurus" | undefined {
  if (readAt(file.fd, 0, SQLITE_MAGIC.length).toString("latin1") === SQLITE_MAGIC) return "lcm";
  let looked = 0;
  for (const { value } of sourceLines(file.fd, file.size)) {
    const format = value && lineFormat(value, looked === 0);
    if (format) return format;
    looked += 1;
    if (looked >= LOOKED_LINES) return undefined;
  }
  return undefined;
}

function lineFormat(value: Fields, first: boolean): ForeignFormat | "pagurus" | undefined {
  const type = filledString(value["type"]);
  if (type === "session" && first) return headerFormat(value);
  if (type !== undefined && CODEX_LINES.has(type) && asRecord(value["payload"])) return "codex";
  // The first versions of Codex: a header without a type.
  if (first && type === undefined && "instructions" in value && "id" in value && "timestamp" in value)
    return "codex";
  if ("parentUuid" in value && "uuid" in value && "sessionId" in value) return "claude-code";
  return undefined;
}

/** Both kinds of header are alike; ours has a key, or an id that was made here. */
function headerFormat(header: Fields): "pi" | "pagurus" | undefined {
  const id = filledString(header["id"]);
  if (id === undefined) return undefined;
  const ours = "key" in header || "storedAs" in header || isOwnId(id);
  const version = header["version"] ?? 1;
  if (ours || typeof version !== "number" || version > 3) return "pagurus";
  return "pi";
}
