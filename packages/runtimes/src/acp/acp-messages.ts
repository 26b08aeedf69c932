/** Message stream over an agent's standard output and input, one JSON object a line. */
import type { Readable, Writable } from "node:stream";
import type { AnyMessage, Stream } from "@agentclientprotocol/sdk/unstable";
import { LineSplitter } from "@pagurus/core/rpc/rpc-lines";

/** Longest line of an agent's message. */
export const MOST_LINE_MB = 64;

export interface MessageReader {
  /**
   * The `params` of each `session/update`, in the order of the wire and before later messages are handled. The library would
   * drop unknown kinds and print them to the terminal.
   */
  update(params: unknown): void;
  /** Called with the number of invalid lines so far. */
  skipped(count: number): void;
  /** A line exceeds the limit; nothing after it can be read. */
  tooLong(): void;
}

/**
 * Stream for the library. Lines that are not JSON objects are skipped: programs print to their output, and an answer to such
 * a line would confuse them.
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
  // A broken pipe is reported by the write, and may be reported again here.
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
