/**
 * Long messages of ACP clients. They are parsed beside the event loop; the library, which would parse them on it, gets each with a mark in
 * place of its values, for example `{"id": 3, "method": "session/prompt", "params": {"sessionId": "…", "pagurus.long": "8a6e…"}}`. The
 * agent's end of the connection puts the values back.
 */
import { randomUUID } from "node:crypto";
import type { Stream } from "@agentclientprotocol/sdk";
import { isRecord, recordOf, stringOf } from "@pagurus/core/data/record-fields";

const MARK = "pagurus.long";
/** Members of a message that may be long. */
const VALUES = ["params", "result", "error"] as const;
/** Members that name something, of a message and of its values: the library reads them. */
const NAMES = ["jsonrpc", "id", "method"] as const;
const INNER_NAMES = ["sessionId", "code", "message"] as const;
/** Longer names are cut: no method, session or id has so many characters. */
const LONGEST_NAME = 2_048;

type Message = Readonly<Record<string, unknown>>;

interface Kept {
  message: Message;
  release(): void;
}

export class LongMessages {
  /** By its mark; until the agent has taken it, or its request or socket is closed. */
  readonly #kept = new Map<string, Kept>();

  /** `text`: the message for the library. `release` is called once, when the message is not kept any more. */
  keep(message: Message, release: () => void): { text: Buffer; forget(): void } {
    const mark = randomUUID();
    this.#kept.set(mark, { message, release });
    const values = VALUES.filter((name) => message[name] !== undefined);
    const short = {
      ...named(message, NAMES),
      ...Object.fromEntries(
        values.map((name) => [name, { ...named(recordOf(message[name]), INNER_NAMES), [MARK]: mark }]),
      ),
    };
    return { text: Buffer.from(JSON.stringify(short)), forget: () => void this.#take(mark) };
  }

  /** The agent's end of a connection, with the values in their places. Holds no message back: one is taken when the agent reads it. */
  restored({ readable, writable }: Stream): Stream {
    const reader = readable.getReader();
    const whole = new ReadableStream<unknown>(
      {
        pull: async (controller) => {
          const { done, value } = await reader.read();
          if (done) controller.close();
          else controller.enqueue(this.#whole(value));
        },
        cancel: (reason) => reader.cancel(reason),
      },
      { highWaterMark: 0 },
    );
    return { writable, readable: whole } as Stream;
  }

  #whole(message: unknown): unknown {
    if (!isRecord(message)) return message;
    const mark = VALUES.map((name) => stringOf(recordOf(message[name])[MARK])).find((found) => found !== "");
    const kept = mark === undefined ? undefined : this.#take(mark);
    if (!kept) return message;
    const values = VALUES.filter((name) => name in kept).map((name) => [name, kept[name]]);
    return { ...message, ...Object.fromEntries(values) };
  }

  #take(mark: string): Message | undefined {
    const kept = this.#kept.get(mark);
    this.#kept.delete(mark);
    kept?.release();
    return kept?.message;
  }
}

function named(record: Message, names: readonly string[]): Record<string, unknown> {
  const short = (value: unknown): unknown =>
    typeof value === "string" ? value.slice(0, LONGEST_NAME) : value;
  const isName = (value: unknown): boolean =>
    value !== undefined && (typeof value !== "object" || value === null);
  return Object.fromEntries(
    names.filter((name) => isName(record[name])).map((name) => [name, short(record[name])]),
  );
}
