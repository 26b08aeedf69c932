/** Turns of an agent, asked for in the protocols of models: only the newest input enters. */
import { Readable } from "node:stream";
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { AdditionalContext } from "@pagurus/contract/fragment";
import type { TurnEvent } from "@pagurus/contract/host/events";
import type { InputPart } from "@pagurus/contract/host/run";
import type { AssistantMessage, Usage, UserMessage } from "@pagurus/contract/message";
import type { Dialect, WireRequest } from "@pagurus/gateway/dialect/wire-dialect";
import type { WireCall } from "@pagurus/gateway/server/gateway-call";
import { defined } from "@pagurus/core/data/defined";

/** A permission question of a turn. */
export interface AgentQuestion {
  type: "agent.question";
  id: string;
  summary: string;
  /** When it is answered with a refusal unless someone has answered it, ms. */
  expiresInMs: number;
}

/** Runs turns of agents with the host's tools. */
export interface AgentTurns {
  /** The last event is `turn.completed` or `turn.failed`. */
  run(request: AgentTurnRequest): AsyncIterable<TurnEvent | AgentQuestion>;
}

export interface AgentTurnRequest {
  /** Id of the token that asks. */
  owner: string;
  sessionKey: string;
  agentId: string;
  prompt: string;
  /** After the prompt. */
  parts: InputPart[];
  /** The client's instructions besides the agent's own, as a complete set. */
  additionalContext: AdditionalContext;
  idempotencyKey?: string;
  signal: AbortSignal;
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
  take(event: TurnEvent | AgentQuestion): string {
    if (event.type === "agent.question") return this.#said(questionForCaller(event), true);
    if (event.type === "turn.failed")
      throw new PagurusError(event.error.code as PagurusError["code"], event.error.message);
    if (event.type === "turn.completed") this.usage = event.usage;
    if (event.type === "message" && event.message.role === "toolResult") this.#separates = this.text !== "";
    return event.type === "text.delta" && event.delta !== "" ? this.#said(event.delta) : "";
  }

  /** `isWhole`: a paragraph of its own. */
  #said(text: string, isWhole = false): string {
    const delta = this.#separates || (isWhole && this.text !== "") ? `\n\n${text}` : text;
    this.#separates = isWhole;
    this.text += delta;
    return delta;
  }

  get message(): AssistantMessage {
    const { text, usage } = this;
    return {
      role: "assistant",
      content: [{ type: "text", text }],
      stopReason: "stop",
      ...defined({ usage }),
    };
  }
}

/** The question for the client, with the way to answer it, as the client has no other way to learn of it. */
function questionForCaller({ id, summary, expiresInMs }: AgentQuestion): string {
  const minutes = Math.max(1, Math.round(expiresInMs / 60_000));
  return (
    `[The agent asks for permission: ${summary}\n` +
    `Answer with POST /api/v1/approvals/${id} and {"answer": "once"} or {"answer": "deny"}; ` +
    `without an answer it is denied in ${minutes} min.]`
  );
}

/** Answers a request with a turn; returns the answer, undefined if the client left before its end. Throws what refuses the turn, before anything is sent. */
export async function answerByTurn(
  events: AsyncIterable<TurnEvent | AgentQuestion>,
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
