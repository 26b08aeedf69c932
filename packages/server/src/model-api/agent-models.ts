/** The models `agent/<id>`: a turn of an agent answers, in a session of its own that the client's history continues. */
import type { PagurusConfig } from "@pagurus/core/config/config-types";
import type { Pagurus } from "@pagurus/contract/host/host";
import type { WireApi } from "@pagurus/contract/harness/wire";
import type { UserMessage } from "@pagurus/contract/message";
import { stringOf } from "@pagurus/core/data/record-fields";
import { dialectOf } from "@pagurus/gateway/dialect/dialects";
import type { WireRequest } from "@pagurus/gateway/dialect/wire-dialect";
import { longJson } from "@pagurus/core/platform/json/long-json";
import { LONG_BYTES, nextSlice } from "@pagurus/core/platform/pace";
import { historyMessages, liveMessages, readMessages } from "@pagurus/gateway/wrap/request-messages";
import { WireCallError } from "@pagurus/gateway/server/faults";
import { agentFields, clientInstructions } from "./agent-request.ts";
import { answerByTurn, inputOf, type AgentTurns } from "./agent-turn.ts";
import { Conversations, type Place } from "./conversations.ts";
import { nextDigest } from "./message-chain.ts";
import { textsOf } from "./request-length.ts";
import type { PrefixIndex } from "./prefix-index.ts";
import { namingUnread } from "./unread-fields.ts";
import type { WholeRequest } from "./whole-request.ts";
import { defined } from "@pagurus/core/data/defined";

const PREFIX = "agent/";

export interface AgentModelsOptions {
  config: PagurusConfig;
  pagurus: Pick<Pagurus, "sessions" | "checkInput">;
  turns: AgentTurns;
  index: PrefixIndex;
}

export class AgentModels {
  readonly #options: AgentModelsOptions;
  readonly #running = new Map<string, Promise<void>>();
  readonly #conversations = new Map<string, Conversations>();

  constructor(options: AgentModelsOptions) {
    this.#options = options;
  }

  /** The agent whose sessions an owner's conversations are in; undefined for those of no agent. */
  agentOf(owner: string): string | undefined {
    return owner.startsWith(PREFIX) ? owner.slice(PREFIX.length).split("/", 1)[0] : undefined;
  }

  isBusy(sessionKey: string): boolean {
    return this.#running.has(sessionKey);
  }

  /** `agent/main`, and one for each configured agent. */
  get names(): string[] {
    const ids = new Set(["main", ...(this.#options.config.agents?.list ?? []).map(({ id }) => id)]);
    return [...ids].map((id) => `${PREFIX}${id}`);
  }

  has(model: string): boolean {
    return this.names.includes(model);
  }

  /** Throws `live_turn_too_large` for a request with a text that is too long for the agent's models. */
  async checkLength(asked: Readonly<Record<string, unknown>>): Promise<void> {
    const agentId = stringOf(asked["model"]).slice(PREFIX.length);
    const { newest, others } = textsOf(asked);
    const parts = newest.map((text) => ({ type: "text" as const, text }));
    await this.#options.pagurus.checkInput({ agentId, prompt: "", parts });
    for (const prompt of others) await this.#options.pagurus.checkInput({ agentId, prompt });
  }

  /** Throws `WireCallError`, and what refuses the turn. */
  async serve(whole: WholeRequest, api: WireApi): Promise<void> {
    const { call, asked, idempotencyKey } = whole;
    if (call.path !== "/chat/completions" && call.path !== "/messages" && call.path !== "/responses")
      throw new WireCallError("bad_request", `An agent does not answer /v1${call.path}.`);
    await this.checkLength(asked);
    const model = stringOf(asked["model"]);
    const dialect = await dialectOf(api);
    const input =
      typeof asked["input"] === "string" ? [{ role: "user", content: asked["input"] }] : asked["input"];
    const body = await longJson({ ...asked, ...defined({ input }) });
    if (body.length > LONG_BYTES) await nextSlice();
    const request = dialect.read(call.path, call.headers, body);
    await readMessages(request);
    const { problem, unread } = agentFields(call.path, api, asked);
    if (problem !== undefined) throw new WireCallError("bad_request", problem);
    const answering = namingUnread(call, unread);
    const newest = newestInput(request);
    const agentId = model.slice(PREFIX.length);
    const owner = `${PREFIX}${agentId}/${whole.owner}`;
    let served = Promise.resolve();
    await this.#of(agentId).place(
      { ...whole, owner, continuesTurn: idempotencyKey !== undefined },
      request,
      (place) => {
        if (place.known !== undefined && place.known < historyMessages(request).length)
          throw new WireCallError(
            "bad_request",
            "An agent's session has not these earlier messages; resend its conversation as it was, or begin a new one.",
          );
        this.#options.index.note(owner, place.sessionKey, place.chain);
        whole.placed?.(place.sessionKey);
        const asks = {
          owner: whole.token,
          sessionKey: place.sessionKey,
          agentId,
          ...inputOf(newest),
          additionalContext: clientInstructions(request),
          signal: call.signal,
          ...defined({ idempotencyKey }),
        };
        served = answerByTurn(this.#options.turns.run(asks), { call: answering, dialect, request }).then(
          (answer) => {
            if (answer) this.#options.index.note(owner, place.sessionKey, answered(place, answer));
          },
        );
        this.#follow(place.sessionKey, served);
        return Promise.resolve();
      },
    );
    await served;
  }

  #follow(sessionKey: string, served: Promise<void>): void {
    const settled = served.catch(() => undefined);
    this.#running.set(sessionKey, settled);
    void settled.then(() => {
      if (this.#running.get(sessionKey) === settled) this.#running.delete(sessionKey);
    });
  }

  #of(agentId: string): Conversations {
    const known = this.#conversations.get(agentId);
    if (known) return known;
    const made = new Conversations({
      index: this.#options.index,
      store: () => this.#options.pagurus.sessions(agentId),
      busy: (key) => this.#running.get(key),
      isLive: () => false,
    });
    this.#conversations.set(agentId, made);
    return made;
  }
}

function answered({ chain }: Place, answer: Parameters<typeof nextDigest>[1]): string[] {
  return [...chain, nextDigest(chain.at(-1) ?? "", answer)];
}

/** Throws `WireCallError`. */
function newestInput(request: WireRequest): UserMessage {
  const [input, ...more] = liveMessages(request);
  if (request.kind === "main" && input?.role === "user" && more.length === 0) return input;
  throw new WireCallError("bad_request", "The last message has to be the user's input for the agent.");
}
