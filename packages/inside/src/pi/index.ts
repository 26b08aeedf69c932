/** The extension for pi: the engine answers compactions, keeps large results, stores each turn, and recalls what fits a prompt. */
import { FallBack, type Conversation, type HostClient, type ProgramMessage } from "../client/host-client.ts";
import { LARGE, stubOf } from "../client/large-result.ts";
import { nodeClient, printNotice } from "../node/node-place.ts";
import {
  answerText,
  askedText,
  commandText,
  keptWords,
  OPEN_DESCRIPTION,
  SEARCH_DESCRIPTION,
} from "../client/words.ts";
import { named, OPEN_NAME, partMessage, SEARCH_NAME, WHOLE } from "../client/part-message.ts";
import { keptEnd } from "./kept-end.ts";
import type { PiApi, PiCompactEvent, PiContext, PiEntry, PiToolResult } from "./pi-types.ts";

const PROGRAM = "pi";
const RECALL = "pagurus.recall";

interface Listed {
  entry: PiEntry;
  message: ProgramMessage;
}

function listed(entries: readonly PiEntry[]): Listed[] {
  return entries.flatMap((entry) => {
    const message = entry.type === "message" && entry.message ? partMessage(entry.message) : undefined;
    return message ? [{ entry, message }] : [];
  });
}

/** Entries that pi still sends: those from the first one on that its last compaction kept. */
function held(branch: readonly PiEntry[]): readonly PiEntry[] {
  const last = branch.findLast(({ type }) => type === "compaction");
  const at = branch.findIndex(({ id }) => id === last?.firstKeptEntryId);
  return at < 0 ? branch : branch.slice(at);
}

const nothing = async (): Promise<undefined> => undefined;

class PiAdapter {
  readonly #client: HostClient;
  #context: PiContext | undefined;
  /** The newest entry that the host has, by session. */
  readonly #sent = new Map<string, string>();

  constructor() {
    // pi has no way to ask for its version.
    const notice = (line: string): void => this.#notice(line);
    this.#client = nodeClient(new URL("../", import.meta.url), { program: PROGRAM, version: "", notice });
  }

  #notice(line: string): void {
    if (this.#context?.hasUI) this.#context.ui.notify(line, "warning");
    else printNotice(line);
  }

  #at(ctx: PiContext): Conversation {
    this.#context = ctx;
    return { session: ctx.sessionManager.getSessionId(), cwd: ctx.cwd };
  }

  async #sendEntries(ctx: PiContext): Promise<undefined> {
    const at = this.#at(ctx);
    const all = listed(ctx.sessionManager.getBranch());
    const known = all.findIndex(({ entry }) => entry.id === this.#sent.get(at.session));
    const since = all.slice(known + 1);
    const last = all.at(-1);
    if (since.length === 0 || !last) return;
    const messages = since.map(({ message }) => message);
    await this.#client.ask("append", at, { messages, isWhole: known < 0 });
    this.#sent.set(at.session, last.entry.id);
  }

  async #compaction(event: PiCompactEvent, ctx: PiContext): Promise<object> {
    const { branchEntries, customInstructions: focus, reason, preparation } = event;
    const parts = listed(held(branchEntries));
    const messages = parts.map(({ message }) => message);
    const details = focus === undefined ? { reason } : { reason, focus };
    const made = await this.#client.compact(this.#at(ctx), messages, details);
    const { first, before } = keptEnd(messages, made.keep);
    const kept = parts[first];
    if (!kept || first === 0) throw new FallBack("the engine keeps no message to begin with");
    const words = before.flatMap((index) => messages[index] ?? []).map(keptWords);
    const summary = [named(made.head), ...words].join("\n\n");
    const { tokensBefore } = preparation;
    return { compaction: { summary, firstKeptEntryId: kept.entry.id, tokensBefore } };
  }

  async #stub(event: PiToolResult, ctx: PiContext): Promise<object | undefined> {
    const { toolName, toolCallId: callId, content, isError } = event;
    const texts = content.flatMap((part) => (part.type === "text" ? (part.text ?? "") : []));
    const text = texts.join("\n");
    if (WHOLE.test(toolName) || isError || text.length < LARGE) return undefined;
    const { id } = await this.#client.ask("result", this.#at(ctx), { callId, text });
    if (typeof id !== "string") throw new FallBack("the host named no entry");
    const others = content.filter(({ type }) => type !== "text");
    return { content: [{ type: "text", text: stubOf(text, id, OPEN_NAME) }, ...others] };
  }

  /** A message that pi stores, so that the beginning of later requests stays the same. */
  async #recall(prompt: string, ctx: PiContext): Promise<object | undefined> {
    const found = answerText(await this.#client.ask("recall", this.#at(ctx), { prompt }));
    if (found === "") return undefined;
    return { message: { customType: RECALL, content: named(found), display: false } };
  }

  addHooks(pi: PiApi): void {
    const client = this.#client;
    pi.on("session_start", (_event, ctx) => {
      this.#context = ctx;
      void client.warm();
    });
    pi.on("session_before_compact", (event, ctx) =>
      client.guarded<object | undefined>("the compaction", () => this.#compaction(event, ctx), nothing),
    );
    pi.on("tool_result", (event, ctx) =>
      client.guarded<object | undefined>("a large result", () => this.#stub(event, ctx), nothing),
    );
    pi.on("agent_settled", (_event, ctx) =>
      client.guarded<undefined>("storing the turn", () => this.#sendEntries(ctx), nothing),
    );
    pi.on("before_agent_start", ({ prompt }, ctx) =>
      client.guarded<object | undefined>("recall", () => this.#recall(prompt, ctx), nothing),
    );
  }

  addWords(pi: PiApi): void {
    for (const [name, label, description, key, operation] of [
      [OPEN_NAME, "Open", OPEN_DESCRIPTION, "id", "expand"],
      [SEARCH_NAME, "Search", SEARCH_DESCRIPTION, "query", "search"],
    ] as const)
      pi.registerTool({
        name,
        label,
        description,
        parameters: { type: "object", properties: { [key]: { type: "string" } }, required: [key] },
        execute: async (_callId, params, _signal, _onUpdate, ctx) => {
          const text = await askedText(this.#client, this.#at(ctx), operation, { [key]: params[key] });
          // Opened text is exact, so no name in it is replaced.
          const shown = operation === "search" ? named(text) : text;
          return { content: [{ type: "text", text: shown }], details: {} };
        },
      });
    pi.registerCommand("pagurus", {
      description: "Search and open what compactions took out of sight, pin messages",
      handler: async (args, ctx) =>
        ctx.ui.notify(await commandText(this.#client, this.#at(ctx), args), "info"),
    });
  }
}

export default function pagurus(pi: PiApi): void {
  const adapter = new PiAdapter();
  adapter.addHooks(pi);
  adapter.addWords(pi);
}
