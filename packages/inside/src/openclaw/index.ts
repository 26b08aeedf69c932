/** The plugin for OpenClaw, a context engine in its contract: it commits turns, answers compactions, and makes the context of each request. */
import {
  cutProblem,
  FallBack,
  type Compaction,
  type Conversation,
  type HostClient,
  type ProgramMessage,
} from "../client/host-client.ts";
import { LARGE, stubOf } from "../client/large-result.ts";
import { named, OPEN_NAME, partMessage, partText, SEARCH_NAME, WHOLE } from "../client/part-message.ts";
import { answerText, askedText, OPEN_DESCRIPTION, SEARCH_DESCRIPTION } from "../client/words.ts";
import { nodeClient, printNotice } from "../node/node-place.ts";
import type {
  ClawApi,
  ClawAssemble,
  ClawCommit,
  ClawCompact,
  ClawCompacted,
  ClawEngine,
  ClawMessage,
  ClawPlace,
  ClawToolPlace,
} from "./openclaw-types.ts";

const PROGRAM = "openclaw";
const ENGINE = "pagurus";
/** Share of a request's budget from which the engine compacts before the request. */
const FULL = 0.8;
/** Characters of a token, for the estimate that OpenClaw shows. */
const TOKEN = 4;

interface Listed {
  /** Index in OpenClaw's list. */
  at: number;
  message: ProgramMessage;
}

/** The id of a call in the form that a request has: OpenClaw keeps another one of the same call in a turn. */
function withPlainId<T extends { id: string }>(part: T): T {
  return { ...part, id: part.id.replaceAll(/[^A-Za-z0-9]/g, "") };
}

function listed(messages: readonly ClawMessage[]): Listed[] {
  return messages.flatMap((each, at) => {
    const message = partMessage(each);
    if (!message) return [];
    const { calls, results } = message;
    return [
      { at, message: { ...message, calls: calls.map(withPlainId), results: results.map(withPlainId) } },
    ];
  });
}

function tokensOf(messages: readonly ClawMessage[]): number {
  return Math.ceil(
    messages.reduce((sum, { content = "" }) => sum + JSON.stringify(content).length, 0) / TOKEN,
  );
}

/** An added message. It has the timestamp of its neighbour, since OpenClaw shows the time of each message. */
function userMessage(text: string, beside: ClawMessage | undefined): ClawMessage {
  return { role: "user", content: [{ type: "text", text }], timestamp: beside?.timestamp ?? Date.now() };
}

/** OpenClaw asks again with what it was answered. */
function isRecalled(message: ClawMessage): boolean {
  return message.role === "user" && /^(?:\[[^\]\n]*\] )?<recalled_passages>/.test(partText(message));
}

/** A stored result as a stub. */
function withStub(message: ClawMessage, id: string | undefined): ClawMessage {
  const { role, toolName = "", content = "", isError } = message;
  const text = role === "toolResult" ? partText(message) : "";
  if (id === undefined || isError === true || WHOLE.test(toolName) || text.length < LARGE) return message;
  const others = typeof content === "string" ? [] : content.filter(({ type }) => type !== "text");
  return { ...message, content: [{ type: "text", text: stubOf(text, id, OPEN_NAME) }, ...others] };
}

/** OpenClaw's messages as the engine shows them: its head, what it keeps, stubs of large results. */
function shown(
  messages: readonly ClawMessage[],
  all: readonly Listed[],
  answer: Record<string, unknown>,
): ClawMessage[] {
  const { head, keep, ids } = answer;
  const entries = (ids ?? {}) as Record<string, string>;
  const entryAt = new Map(all.map(({ at }, index) => [at, entries[String(index)]]));
  const stubs = (at: number): ClawMessage[] => {
    const message = messages[at];
    return message ? [withStub(message, entryAt.get(at))] : [];
  };
  if (head === undefined) return messages.flatMap((_, at) => stubs(at));
  const problem = cutProblem(
    all.map(({ message }) => message),
    answer,
  );
  if (problem !== undefined) throw new FallBack(`the answer of the host cannot be used: ${problem}`);
  const kept = (keep as number[]).flatMap((index) => all[index]?.at ?? []);
  const [first] = kept;
  const beside = first === undefined ? messages.at(-1) : messages[first];
  return [userMessage(named(head as string), beside), ...kept.flatMap(stubs)];
}

class ClawAdapter {
  readonly #client: HostClient;

  constructor() {
    // OpenClaw's version is not among what a plugin reads.
    this.#client = nodeClient(new URL("../", import.meta.url), {
      program: PROGRAM,
      version: "",
      notice: printNotice,
    });
  }

  #at(sessionId: string, { workspaceDir, agentDir }: ClawPlace): Conversation {
    return { session: sessionId, cwd: workspaceDir ?? agentDir ?? "/" };
  }

  async #context({ messages, tokenBudget, prompt }: ClawAssemble, at: Conversation): Promise<ClawMessage[]> {
    const all = listed(messages);
    const list = { messages: all.map(({ message }) => message) };
    const view = async (): Promise<ClawMessage[]> =>
      shown(messages, all, await this.#client.ask("context", at, list));
    let made = await view();
    if (tokenBudget !== undefined && tokensOf(made) > tokenBudget * FULL) {
      await this.#client.askPatiently("compact", at, {});
      made = await view();
    }
    if (!prompt || messages.some(isRecalled)) return made;
    const found = answerText(await this.#client.ask("recall", at, { prompt }));
    return found === "" ? made : [...made, userMessage(named(found), made.at(-1))];
  }

  /** OpenClaw replaces an engine that throws by its own for the rest of the process, so nothing but `commitTurn` does. */
  engine(place: ClawPlace): ClawEngine {
    const client = this.#client;
    void client.warm();
    return {
      info: {
        id: ENGINE,
        name: "Pagurus",
        ownsCompaction: true,
        transcriptSemantics: {
          currentTurnFence: "before-current-turn-entry-v1",
          turnAdvancementIdempotency: "atomic-idempotent-v1",
        },
      },
      // Turns are committed whole.
      ingest: async () => ({ ingested: false }),
      assemble: async (params) => {
        const messages = await client.guarded(
          "the context of a request",
          () => this.#context(params, this.#at(params.sessionId, place)),
          async () => params.messages,
        );
        return { messages, estimatedTokens: tokensOf(messages) };
      },
      compact: (params) => this.#compact(params, this.#at(params.sessionId, place)),
      commitTurn: (params) => this.#commit(params, this.#at(params.sessionId, place)),
    };
  }

  #compact({ customInstructions: focus }: ClawCompact, at: Conversation): Promise<ClawCompacted> {
    let reason = "the engine has nothing to compact";
    const work = async (): Promise<ClawCompacted> => {
      const made = await this.#client.askPatiently("compact", at, { focus }).catch((error: unknown) => {
        reason = error instanceof Error ? error.message : String(error);
        throw error;
      });
      const { head, tokensBefore, tokensAfter } = made as Partial<Compaction>;
      const after = tokensAfter === undefined ? {} : { tokensAfter };
      const result = { summary: named(head ?? ""), tokensBefore: tokensBefore ?? 0, ...after };
      return { ok: true, compacted: true, result };
    };
    return this.#client.guarded("the compaction", work, async () => ({
      ok: false,
      compacted: false,
      reason,
    }));
  }

  /** Throws where no host takes the turn: OpenClaw keeps it in its queue then, and offers it again before the next one. */
  async #commit(
    { advancementKey: key, messages }: ClawCommit,
    at: Conversation,
  ): Promise<{ status: "committed" | "duplicate" }> {
    const turn = listed(messages).map(({ message }) => message);
    const { status } = await this.#client.askPatiently("commit", at, { key, messages: turn });
    return { status: status === "duplicate" ? "duplicate" : "committed" };
  }

  tools(place: ClawToolPlace): ReturnType<Parameters<ClawApi["registerTool"]>[0]> {
    const kinds = [
      [OPEN_NAME, "Open", OPEN_DESCRIPTION, "id", "expand"],
      [SEARCH_NAME, "Search", SEARCH_DESCRIPTION, "query", "search"],
    ] as const;
    return kinds.map(([name, label, description, key, operation]) => ({
      name,
      label,
      description,
      parameters: { type: "object", properties: { [key]: { type: "string" } }, required: [key] },
      execute: async (_callId, params) => {
        const at = this.#at(place.sessionId ?? "", place);
        const text = await askedText(this.#client, at, operation, { [key]: params[key] });
        // Opened text is exact, so no name in it is replaced.
        return {
          content: [{ type: "text", text: operation === "search" ? named(text) : text }],
          details: {},
        };
      },
    }));
  }
}

export default {
  id: ENGINE,
  name: "Pagurus",
  description: "Keeps every message word for word and answers compactions without a model request.",
  register(api: ClawApi): void {
    const adapter = new ClawAdapter();
    api.registerContextEngine(ENGINE, (place) => adapter.engine(place));
    api.registerTool((place) => adapter.tools(place), { names: [OPEN_NAME, SEARCH_NAME] });
  },
};
