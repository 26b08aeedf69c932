/**
 * The plugin for OpenCode 1.18: the engine writes the summary of a compaction, keeps large results, and stores each turn. The words are
 * found again by the tools of `pagurus mcp serve`, which the plugin adds to the running configuration.
 */
import { FallBack, type Conversation, type HostClient } from "../client/host-client.ts";
import { LARGE, stubOf } from "../client/large-result.ts";
import { answerText, keptWords } from "../client/words.ts";
import { mcpCommand, nodeClient, printNotice } from "../node/node-place.ts";
import { programMessages } from "./opencode-messages.ts";
import type { OpenCodeHooks, OpenCodeInput, OpenCodeMessage } from "./opencode-types.ts";

const PROGRAM = "opencode";
/** Folder of the adapter, of this file's one. */
const FOLDER = new URL("../", import.meta.url);
const SERVER = "pagurus";
/** Tools whose results the model works on as they are: files that it edits, and what it opened here. */
const WHOLE = /^(?:read|edit|write|patch|task|todo\w*|pagurus_.*)$/;
/** In place of OpenCode's own request for a summary, whose answer the engine's replaces. */
const TINY = "Answer with the one word: kept";

/** A text of the engine, with the names that its tools have here. */
function named(text: string, session: string): string {
  const of = ` (session inside/${PROGRAM}/${session})`;
  return text
    .replaceAll("context_expand", `pagurus_expand${of}`)
    .replaceAll("context_search", "pagurus_search");
}

class OpenCodeAdapter {
  readonly #input: OpenCodeInput;
  readonly #client: HostClient;
  /** Number of messages that the host has, by session. */
  readonly #sent = new Map<string, number>();
  /** Summaries of compactions whose request runs, by session. */
  readonly #summaries = new Map<string, string>();
  /** Passages for the newest prompt, by session. */
  readonly #passages = new Map<string, { id: string; text: string }>();

  constructor(input: OpenCodeInput) {
    this.#input = input;
    this.#client = nodeClient(FOLDER, { program: PROGRAM, version: "", notice: printNotice });
    void this.#client.warm();
  }

  #at(session: string): Conversation {
    return { session, cwd: this.#input.directory };
  }

  /** All messages that OpenCode has stored of a session. Throws `FallBack`. */
  async #messages(id: string): Promise<OpenCodeMessage[]> {
    const { data } = await this.#input.client.session.messages({ path: { id } });
    if (!Array.isArray(data)) throw new FallBack("OpenCode gave no messages");
    return data;
  }

  async #store(session: string): Promise<undefined> {
    const all = programMessages(await this.#messages(session));
    const known = this.#sent.get(session) ?? 0;
    if (all.length === known) return;
    const isWhole = known === 0 || all.length < known;
    const messages = isWhole ? all : all.slice(known);
    await this.#client.ask("append", this.#at(session), { messages, isWhole });
    this.#sent.set(session, all.length);
  }

  async #summarize(session: string): Promise<string> {
    const messages = programMessages(await this.#messages(session));
    const made = await this.#client.compact(this.#at(session), messages, { reason: "compaction" });
    this.#sent.delete(session);
    const kept = made.keep.flatMap((index) => messages[index] ?? []).map(keptWords);
    return [named(made.head, session), ...kept].join("\n\n");
  }

  /** Puts the passages for the newest prompt before it, the same in each request of its turn. */
  async #addPassages(session: string, messages: OpenCodeMessage[]): Promise<void> {
    const at = messages.findLastIndex(({ info }) => info.role === "user");
    const prompt = messages[at];
    const part = prompt?.parts.find(({ type, synthetic }) => type === "text" && !synthetic);
    if (!prompt || !part?.text) return;
    const { id } = prompt.info;
    if (this.#passages.get(session)?.id !== id) {
      const ask = (): Promise<object> => this.#client.ask("recall", this.#at(session), { prompt: part.text });
      const answer = await this.#client.guarded<object>("recall", ask, async () => ({}));
      this.#passages.set(session, { id, text: named(answerText({ ...answer }), session) });
    }
    const text = this.#passages.get(session)?.text ?? "";
    if (text === "") return;
    messages.splice(at, 0, { info: { ...prompt.info, id: `${id}-pagurus` }, parts: [{ ...part, text }] });
  }

  async #stub(session: string, callId: string, text: string): Promise<string> {
    const { id } = await this.#client.ask("result", this.#at(session), { callId, text });
    if (typeof id !== "string") throw new FallBack("the host named no entry");
    return stubOf(text, `${id} of the session inside/${PROGRAM}/${session}`, "pagurus_expand");
  }

  readonly hooks: OpenCodeHooks = {
    config: async (config) => {
      const command = mcpCommand(FOLDER, this.#input.directory);
      if (command && !config.mcp?.[SERVER])
        config.mcp = { ...config.mcp, [SERVER]: { type: "local", command, enabled: true } };
    },
    event: async ({ event: { type, properties } }) => {
      const session = properties?.sessionID;
      if (type !== "session.idle" || session === undefined) return;
      await this.#client.guarded<undefined>("storing the turn", () => this.#store(session), nothing);
    },
    // A compaction that failed must not give its summary to another answer.
    "chat.params": async ({ sessionID, agent }) => {
      const name = typeof agent === "string" ? agent : agent.name;
      if (name !== "compaction") this.#summaries.delete(sessionID);
    },
    "tool.execute.after": async ({ tool, sessionID, callID }, output) => {
      const text = output.output;
      if (WHOLE.test(tool) || typeof text !== "string" || text.length < LARGE) return;
      output.output = await this.#client.guarded(
        "a large result",
        () => this.#stub(sessionID, callID, text),
        async () => text,
      );
    },
    "experimental.session.compacting": async ({ sessionID }, output) => {
      const summary = await this.#client.guarded<string | undefined>(
        "the compaction",
        () => this.#summarize(sessionID),
        nothing,
      );
      if (summary === undefined) return;
      this.#summaries.set(sessionID, summary);
      output.prompt = TINY;
    },
    // The array itself is what OpenCode sends; nothing of it is stored.
    "experimental.chat.messages.transform": async (_input, { messages }) => {
      const session = messages[0]?.info.sessionID;
      if (session === undefined) return;
      if (this.#summaries.has(session)) messages.splice(0, messages.length);
      else await this.#addPassages(session, messages);
    },
    "experimental.text.complete": async ({ sessionID }, output) => {
      const summary = this.#summaries.get(sessionID);
      this.#summaries.delete(sessionID);
      if (summary !== undefined) output.text = summary;
    },
  };
}

const nothing = async (): Promise<undefined> => undefined;

export const Pagurus = async (input: OpenCodeInput): Promise<OpenCodeHooks> =>
  new OpenCodeAdapter(input).hooks;
