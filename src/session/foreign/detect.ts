/** Which program wrote a file, by its first lines. */
import { readAt } from "../lines.ts";
import { isOwnId } from "../keys.ts";
import { fieldsOf, textOf, type Fields } from "./fields.ts";
import type { OpenFile } from "./jsonl-source.ts";
import type { ForeignFormat } from "./source.ts";
import { sourceLines } from "./source-lines.ts";

const SQLITE_MAGIC = "SQLite format 3\0";
/** Lines that are looked at; sessions may begin with some that say little. */
const LOOK = 200;
const CODEX_LINES = new Set(["session_meta", "response_item", "turn_context", "event_msg"]);

/** `pagurus` for our own export, undefined where no line says what it is. */
export function detectFormat(file: OpenFile): ForeignFormat | "pagurus" | undefined {
  if (readAt(file.fd, 0, SQLITE_MAGIC.length).toString("latin1") === SQLITE_MAGIC) return "lcm";
  let looked = 0;
  for (const { value } of sourceLines(file.fd, file.size)) {
    const format = value && lineFormat(value, looked === 0);
    if (format) return format;
    looked += 1;
    if (looked >= LOOK) return undefined;
  }
  return undefined;
}

function lineFormat(value: Fields, first: boolean): ForeignFormat | "pagurus" | undefined {
  const type = textOf(value["type"]);
  if (type === "session" && first) return headerFormat(value);
  if (type !== undefined && CODEX_LINES.has(type) && fieldsOf(value["payload"])) return "codex";
  // The first versions of Codex: a header without a type.
  if (first && type === undefined && "instructions" in value && "id" in value && "timestamp" in value)
    return "codex";
  if ("parentUuid" in value && "uuid" in value && "sessionId" in value) return "claude-code";
  return undefined;
}

/** Both kinds of header look alike; ours has a key, or an id that was made here. */
function headerFormat(header: Fields): "pi" | "pagurus" | undefined {
  const id = textOf(header["id"]);
  if (id === undefined) return undefined;
  const ours = "key" in header || "storedAs" in header || isOwnId(id);
  const version = header["version"] ?? 1;
  if (ours || typeof version !== "number" || version > 3) return "pagurus";
  return "pi";
}
