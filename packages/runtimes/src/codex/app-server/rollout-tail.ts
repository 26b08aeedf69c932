/**
 * Reads new lines of a thread's rollout file: a resumed thread sends no raw items on the wire, and its file has the same ones
 * in the same order. Measured on 0.169.0: the lines of an item are written before its notification is sent.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { isObjectOrList } from "@pagurus/core/data/record-fields";

export type RolloutRecord =
  | { kind: "item"; item: Readonly<Record<string, unknown>> }
  /** How a call of a tool ended, before its output; fields as on the wire. */
  | { kind: "ended"; call: Readonly<Record<string, unknown>> }
  /** The end of an answer of the model. */
  | { kind: "response"; usage: unknown };

const CHUNK_BYTES = 1 << 20;

/** Renames the counts to the wire's names. */
function usageOf(usage: unknown): unknown {
  if (!isObjectOrList(usage)) return undefined;
  const camel = (name: string): string =>
    name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(usage).map(([name, count]) => [camel(name), count]));
}

function endOf(item: unknown): RolloutRecord | undefined {
  if (!isObjectOrList(item)) return undefined;
  const { id, status, success, exit_code: exitCode } = item;
  return { kind: "ended", call: { id, status, success, exitCode } };
}

function recordOf(line: string): RolloutRecord | undefined {
  try {
    const parsed: unknown = JSON.parse(line);
    if (!isObjectOrList(parsed) || !isObjectOrList(parsed["payload"])) return undefined;
    const { type, payload } = parsed;
    if (type === "response_item") return { kind: "item", item: payload };
    if (type === "event_msg" && payload["type"] === "item_completed") return endOf(payload["item"]);
    return type === "token_usage_record" ? { kind: "response", usage: usageOf(payload["usage"]) } : undefined;
  } catch {
    // The file is Codex's own: an unreadable line is skipped.
    return undefined;
  }
}

export class RolloutTail {
  readonly #fd: number;
  #offset: number;
  #rest = Buffer.alloc(0);

  /** Begins at the current end of the file. Throws what opening throws. */
  constructor(file: string) {
    this.#fd = openSync(file, "r");
    this.#offset = fstatSync(this.#fd).size;
  }

  /** Records since the last call; an incomplete line comes with a later call. */
  *next(): Generator<RolloutRecord> {
    for (;;) {
      const size = Math.min(CHUNK_BYTES, fstatSync(this.#fd).size - this.#offset);
      if (size <= 0) return;
      const chunk = Buffer.allocUnsafe(size);
      const read = readSync(this.#fd, chunk, 0, size, this.#offset);
      if (read === 0) return;
      this.#offset += read;
      const bytes = Buffer.concat([this.#rest, chunk.subarray(0, read)]);
      const end = bytes.lastIndexOf(0x0a) + 1;
      this.#rest = Buffer.from(bytes.subarray(end));
      for (const line of bytes.toString("utf8", 0, end).split("\n")) {
        const record = line === "" ? undefined : recordOf(line);
        if (record) yield record;
      }
    }
  }

  close(): void {
    closeSync(this.#fd);
  }
}
