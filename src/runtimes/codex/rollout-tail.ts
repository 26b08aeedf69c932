/**
 * What Codex writes of a thread as it goes, read from where the thread's file ended before: a thread that was resumed
 * tells no raw items on the wire, and its file has the same ones in the same order. Measured on 0.169.0: the lines of an
 * item are written before its notification is sent.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";

export type RolloutRecord =
  | { kind: "item"; item: Readonly<Record<string, unknown>> }
  /** How a call of a tool ended, before its output; fields as on the wire. */
  | { kind: "ended"; call: Readonly<Record<string, unknown>> }
  /** The end of an answer of the model. */
  | { kind: "response"; usage: unknown };

const CHUNK_BYTES = 1 << 20;

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

/** As the wire names the counts. */
function usageOf(usage: unknown): unknown {
  if (!isRecord(usage)) return undefined;
  const camel = (name: string): string =>
    name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(usage).map(([name, count]) => [camel(name), count]));
}

function endOf(item: unknown): RolloutRecord | undefined {
  if (!isRecord(item)) return undefined;
  const { id, status, success, exit_code: exitCode } = item;
  return { kind: "ended", call: { id, status, success, exitCode } };
}

function recordOf(line: string): RolloutRecord | undefined {
  try {
    const parsed: unknown = JSON.parse(line);
    if (!isRecord(parsed) || !isRecord(parsed["payload"])) return undefined;
    const { type, payload } = parsed;
    if (type === "response_item") return { kind: "item", item: payload };
    if (type === "event_msg" && payload["type"] === "item_completed") return endOf(payload["item"]);
    return type === "token_usage_record" ? { kind: "response", usage: usageOf(payload["usage"]) } : undefined;
  } catch {
    // What is not ours to write is not ours to judge: a line that cannot be read holds nothing.
    return undefined;
  }
}

export class RolloutTail {
  readonly #fd: number;
  #offset: number;
  #rest = Buffer.alloc(0);

  /** Begins at the present end of the file. Throws what opening throws. */
  constructor(file: string) {
    this.#fd = openSync(file, "r");
    this.#offset = fstatSync(this.#fd).size;
  }

  /** What has been written since the last call; a line that is not complete yet comes with a later one. */
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
