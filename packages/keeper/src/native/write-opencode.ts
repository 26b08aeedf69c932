/** A conversation as the document that `opencode import` takes. */
import { randomBytes } from "node:crypto";
import type { AssistantMessage, ToolResultMessage } from "@pagurus/contract/message";
import { toolName } from "@pagurus/core/protocols/protocol-parts";
import {
  answerParts,
  callId,
  dataUrl,
  inputParts,
  resultImages,
  resultText,
  thoughtsOf,
  Times,
  type NativeIds,
  type NativeSession,
  type Portable,
  type PortableItem,
} from "./portable.ts";

type Fields = Record<string, unknown>;
interface Message {
  info: Fields;
  parts: Fields[];
}

export interface OpenCodeModel {
  providerID: string;
  modelID: string;
}

const VERSION = "1.18.0";
const NO_TOKENS = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } };
const TIME_MASK = (1n << 48n) - 1n;

/** Ids that sort in order of their making, and before those that OpenCode makes later. */
class Ids {
  readonly session: string;
  #next: bigint;

  constructor(now: number, count: number) {
    this.#next = BigInt(now) * 4096n - BigInt(count);
    this.session = `ses_${hex(~this.#next & TIME_MASK)}${tail()}`;
  }

  next(kind: "msg" | "prt"): string {
    this.#next += 1n;
    return `${kind}_${hex(this.#next & TIME_MASK)}${tail()}`;
  }
}

function hex(value: bigint): string {
  return value.toString(16).padStart(12, "0");
}

function tail(): string {
  return randomBytes(7).toString("hex");
}

/** `model`: that of the messages, with which OpenCode continues. */
export function writeOpenCode(
  { cwd, title, items }: Portable,
  { now }: Pick<NativeIds, "now">,
  model: OpenCodeModel,
): NativeSession {
  const parts = items.reduce((sum, { role }) => sum + (role === "assistant" ? 8 : 4), 0);
  const images = items.reduce((sum, item) => sum + ("content" in item ? item.content.length : 0), 0);
  const writer = new Writer(cwd, new Ids(now, parts + images), new Times(now, items), model);
  const results = new Map(
    items.flatMap((item) => (item.role === "toolResult" ? [[item.toolCallId, item] as const] : [])),
  );
  for (const item of items) writer.add(item, results);
  const { session } = writer.ids;
  const info = {
    id: session,
    slug: `kept-${session.slice(-6)}`,
    projectID: "global",
    directory: cwd,
    title: title ?? "Continued conversation",
    version: VERSION,
    time: { created: now, updated: now },
  };
  return {
    id: session,
    name: `${session}.json`,
    content: JSON.stringify({ info, messages: writer.messages }),
    thoughts: thoughtsOf(items),
  };
}

class Writer {
  readonly messages: Message[] = [];
  readonly ids: Ids;
  readonly #cwd: string;
  readonly #times: Times;
  readonly #model: OpenCodeModel;
  /** The message of the user that the next answer belongs to. */
  #asked: string | undefined;

  constructor(cwd: string, ids: Ids, times: Times, model: OpenCodeModel) {
    this.#cwd = cwd;
    this.ids = ids;
    this.#times = times;
    this.#model = model;
  }

  add(item: PortableItem, results: ReadonlyMap<string, ToolResultMessage>): void {
    const time = this.#times.next(item);
    switch (item.role) {
      case "summary":
        this.#user([{ type: "compaction", auto: true }], time);
        this.#answer([{ type: "text", text: item.text }], time, {
          summary: true,
          mode: "compaction",
          agent: "compaction",
        });
        // What follows is asked by a message of its own.
        this.#asked = undefined;
        return;
      case "user": {
        const parts = inputParts(item.content).map((part): Fields =>
          part.type === "text"
            ? { type: "text", text: part.text }
            : { type: "file", mime: part.mimeType, filename: "image", url: dataUrl(part) },
        );
        if (parts.length > 0) this.#user(parts, time);
        return;
      }
      case "assistant":
        return this.#assistant(item, time, results);
      case "toolResult":
        // Beside its call.
        return;
    }
  }

  #user(parts: Fields[], created: number): void {
    const id = this.ids.next("msg");
    const info = { id, sessionID: this.ids.session, role: "user", time: { created }, agent: "build" };
    this.messages.push({ info: { ...info, model: this.#model }, parts: this.#parts(id, parts) });
    this.#asked = id;
  }

  #parts(messageID: string, parts: readonly Fields[]): Fields[] {
    return parts.map((part) => ({
      ...part,
      id: this.ids.next("prt"),
      sessionID: this.ids.session,
      messageID,
    }));
  }

  #answer(parts: readonly Fields[], created: number, more: Fields): void {
    if (this.#asked === undefined) this.#user([{ type: "text", text: "(continued)" }], created);
    const id = this.ids.next("msg");
    const finish = parts.some(({ type }) => type === "tool") ? "tool-calls" : "stop";
    const info = {
      id,
      sessionID: this.ids.session,
      role: "assistant",
      parentID: this.#asked,
      mode: "build",
      agent: "build",
      path: { cwd: this.#cwd, root: "/" },
      cost: 0,
      tokens: NO_TOKENS,
      ...this.#model,
      time: { created, completed: created },
      finish,
      ...more,
    };
    const steps = [
      { type: "step-start" },
      ...parts,
      { type: "step-finish", reason: finish, tokens: NO_TOKENS, cost: 0 },
    ];
    this.messages.push({ info, parts: this.#parts(id, steps) });
  }

  #assistant(message: AssistantMessage, time: number, results: ReadonlyMap<string, ToolResultMessage>): void {
    const parts = answerParts(message).map((part): Fields => {
      if (part.type === "text") return { type: "text", text: part.text, time: { start: time, end: time } };
      const call = { type: "tool", callID: callId(part.id), tool: toolName(part.name) };
      return { ...call, state: this.#state(part.arguments, results.get(part.id), time) };
    });
    if (parts.length > 0) this.#answer(parts, time, {});
  }

  #state(input: Fields, result: ToolResultMessage | undefined, start: number): Fields {
    const time = { start, end: result?.timestamp ?? start };
    if (!result) return { status: "error", input, error: "The result is missing.", time };
    const text = resultText(result);
    if (result.isError) return { status: "error", input, error: text === "" ? "failed" : text, time };
    const attachments = resultImages(result).map((image) => ({
      type: "file",
      id: this.ids.next("prt"),
      sessionID: this.ids.session,
      messageID: this.messages.at(-1)?.info["id"],
      mime: image.mimeType,
      url: dataUrl(image),
    }));
    const images = attachments.length > 0 ? { attachments } : {};
    return { status: "completed", input, output: text, title: "", metadata: {}, time, ...images };
  }
}
