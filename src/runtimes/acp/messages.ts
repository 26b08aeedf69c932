/** An agent's standard output and input as messages, one JSON object a line. */
import type { Readable, Writable } from "node:stream";
import type { AnyMessage, Stream } from "@agentclientprotocol/sdk/unstable";
import { LineSplitter } from "../../rpc/lines.ts";

/** A longer line is no message of an agent. */
export const MOST_LINE_MB = 64;

export interface MessageReader {
  /**
   * The `params` of each `session/update`, in the order of the wire and before anything behind it is handled. The library
   * would drop, and print to the terminal, those of a kind that it does not know.
   */
  update(params: unknown): void;
  /** Told how many lines were no messages until now. */
  skipped(count: number): void;
  /** A line is longer than any message may be: what comes behind it cannot be read. */
  tooLong(): void;
}

/**
 * What the library reads and writes. Lines that are no JSON object are passed over: programs print to their output, and
 * an answer to such a line would confuse them.
 */
export function messageStream(child: { input: Readable; output: Writable }, reader: MessageReader): Stream {
  const splitter = new LineSplitter(MOST_LINE_MB * 1024 * 1024);
  let count = 0;
  let over = false;
  const readable = new ReadableStream<AnyMessage>({
    start(controller) {
      const end = (error?: unknown): void => {
        if (over) return;
        over = true;
        if (error === undefined) controller.close();
        else controller.error(error);
      };
      child.input.on("data", (chunk: Buffer) => {
        if (over) return;
        try {
          for (const line of splitter.push(chunk)) {
            const message = messageOf(line);
            if (message && isUpdate(message)) reader.update(message.params);
            else if (message) controller.enqueue(message);
            else if (line.trim() !== "") reader.skipped((count += 1));
          }
        } catch (error) {
          if (error instanceof RangeError) reader.tooLong();
          end(error);
        }
      });
      for (const event of ["end", "close", "error"]) child.input.once(event, () => end());
    },
    cancel: () => {
      over = true;
    },
  });
  const writable = new WritableStream<AnyMessage>({
    write: (message) =>
      new Promise((resolve, reject) => {
        child.output.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve()));
      }),
  });
  // A broken pipe is told by the write; it can be told once more.
  child.output.on("error", () => undefined);
  return { readable, writable };
}

function isUpdate(message: AnyMessage): message is AnyMessage & { params: unknown } {
  return "method" in message && message.method === "session/update" && !("id" in message);
}

function messageOf(line: string): AnyMessage | undefined {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    return "method" in value || "id" in value ? (value as AnyMessage) : undefined;
  } catch {
    return undefined;
  }
}
