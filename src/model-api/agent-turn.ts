/** Turns of an agent, asked for in the protocols of models: only the newest input enters. */
import { Readable } from "node:stream";
import { PagurusError, toPagurusError } from "../contract/errors.ts";
import type { TurnEvent } from "../contract/host/events.ts";
import type { InputPart } from "../contract/host/run.ts";
import type { AssistantMessage, Usage, UserMessage } from "../contract/message.ts";
import type { Dialect, WireRequest } from "../gateway/dialect/wire-dialect.ts";
import type { WireCall } from "../gateway/server/gateway-call.ts";

/** Runs turns of agents with the host's tools. */
export interface AgentTurns {
  /** The last event is `turn.completed` or `turn.failed`. */
  run(request: AgentTurnRequest): AsyncIterable<TurnEvent>;
}

export interface AgentTurnRequest {
  /** Id of the token that asks. */
  owner: string;
  sessionKey: string;
  agentId: string;
  prompt: string;
  /** After the prompt. */
  parts: InputPart[];
  idempotencyKey?: string;
  signal: AbortSignal;
}

/** The fields of a request that an agent honours; it has instructions, tools and a model of its own. */
const FIELDS: ReadonlySet<string> = new Set([
  "model",
  "messages",
  "input",
  "stream",
  "stream_options",
  "max_tokens",
  "store",
  "metadata",
  "user",
]);

/** One sentence on what a request asks of an agent that it does not do; undefined: nothing. */
export function agentProblem(body: Record<string, unknown>, request: WireRequest): string | undefined {
  const field = Object.entries(body).find(([name, value]) => !FIELDS.has(name) && value != null)?.[0];
  if (field !== undefined)
    return `An agent does not support the field "${field}"; remove it from the request.`;
  if (request.prefixCount > 0 || request.items.some(({ kind }) => kind === "setting"))
    return "An agent has instructions of its own; remove the system message from the request.";
  return undefined;
}

/** The input in the form of a turn. */
export function inputOf({ content }: UserMessage): { prompt: string; parts: InputPart[] } {
  if (typeof content === "string") return { prompt: content, parts: [] };
  const [first, ...rest] = content;
  return first?.type === "text" ? { prompt: first.text, parts: rest } : { prompt: "", parts: [...content] };
}

/** The answer that a client sees of a turn: its text, without the calls of the host's tools. */
class Seen {
  text = "";
  usage: Usage | undefined;
  /** Text that a new message begins after. */
  #separates = false;

  /** The text that an event adds; throws what the turn failed with. */
  take(event: TurnEvent): string {
    if (event.type === "turn.failed")
      throw new PagurusError(event.error.code as PagurusError["code"], event.error.message);
    if (event.type === "turn.completed") this.usage = event.usage;
    if (event.type === "message" && event.message.role === "toolResult") this.#separates = this.text !== "";
    if (event.type !== "text.delta" || event.delta === "") return "";
    const delta = this.#separates ? `\n\n${event.delta}` : event.delta;
    this.#separates = false;
    this.text += delta;
    return delta;
  }

  get message(): AssistantMessage {
    const { text, usage } = this;
    return {
      role: "assistant",
      content: [{ type: "text", text }],
      stopReason: "stop",
      ...(usage ? { usage } : {}),
    };
  }
}

/** Answers a request with a turn; returns the answer, undefined if the client left before its end. Throws what refuses the turn, before anything is sent. */
export async function answerByTurn(
  events: AsyncIterable<TurnEvent>,
  { call, dialect, request }: { call: WireCall; dialect: Dialect; request: WireRequest },
): Promise<AssistantMessage | undefined> {
  const seen = new Seen();
  const writer = dialect.writer(request);
  const chunks = async function* (): AsyncGenerator<Buffer> {
    try {
      for await (const event of events) {
        const delta = seen.take(event);
        if (delta !== "") yield writer.write({ type: "text", delta });
      }
      yield writer.write({ type: "finish", message: seen.message });
    } catch (error) {
      if (seen.text === "") throw error;
      yield writer.fail(toPagurusError(error).message);
    }
  };
  const source = chunks();
  // A turn that is refused gets an error as its reply, so nothing is sent before its first text.
  let first = await source.next();
  while (first.done !== true && first.value.length === 0 && seen.text === "" && !seen.usage)
    first = await source.next();
  const rest = async function* (): AsyncGenerator<Buffer> {
    if (first.done !== true && first.value.length > 0) yield first.value;
    for await (const chunk of source) if (chunk.length > 0) yield chunk;
  };
  const { status, headers } = writer.head;
  const rawHeaders = Object.entries(headers).flat();
  const { left } = await call.pass({ status, headers, rawHeaders, stream: Readable.from(rest()) });
  return left ? undefined : seen.message;
}
