/** The mod for Claude Code: the engine answers compactions, keeps large results, stores each turn, and recalls what fits a prompt. */
import { FallBack } from "../client/host-client.ts";
import { answerText, askedText, commandText, OPEN_DESCRIPTION, SEARCH_DESCRIPTION } from "../client/words.ts";
import { largestText, stubOf, withText } from "../client/large-result.ts";
import {
  checkedMessages,
  clientOf,
  conversationOf,
  noteAnswered,
  noteBoundary,
  noteCompaction,
  noteOrigin,
  programMessage,
  sendRows,
} from "./mod-session.ts";
import type { CompactEvent, ModEngine, ModMessage, ToolAnswer, ToolEvent } from "./mod-types.ts";

type Next<E, R> = (event: E) => Promise<R>;
/** `on`, of which each call names another event. */
type On = (event: string, ...hook: unknown[]) => unknown;

const OPEN_TOOL = "open";
const SEARCH_TOOL = "search";
/** As the model calls it. */
const OPEN_NAME = "mcp__pagurus__open";
const SEARCH_NAME = "mcp__pagurus__search";
/** Tools whose results the model works on as they are: files that it edits, and what it opened here. */
const WHOLE = /^(?:Read|Edit|Write|NotebookEdit|Agent|Task|Skill|mcp__pagurus__.*)$/;

/** A text of the engine, with the names that its tools have here. */
function named(text: string): string {
  return text.replaceAll("context_expand", OPEN_NAME).replaceAll("context_search", SEARCH_NAME);
}

/** A message as a compaction returns it: the program's own, without the handle, with which it would be lost at the next resume. */
function withoutHandle({ handle: _handle, ...message }: ModMessage): Omit<ModMessage, "handle"> {
  return message;
}

async function compacts($: ModEngine, e: CompactEvent, next: Next<CompactEvent, object>): Promise<object> {
  noteCompaction(e.agentId, Array.isArray(e.messages) ? e.messages : []);
  const client = await clientOf($).catch(() => undefined);
  if (!client) return next(e);
  return client.guarded<object>(
    "the compaction",
    async () => {
      const messages = checkedMessages(e.messages);
      const { trigger: reason, instructions: focus } = e;
      const details = { reason, ...(focus === undefined ? {} : { focus }) };
      const at = await conversationOf($, e.agentId);
      const made = await client.compact(at, messages.map(programMessage), details);
      noteAnswered(e.agentId);
      const head = { role: "user", text: named(made.head), toolUses: [] };
      const kept = made.keep.flatMap((index) => {
        const message = messages[index];
        return message ? [withoutHandle(message)] : [];
      });
      const { tokensBefore, tokensAfter } = made;
      return {
        messages: [head, ...kept],
        ...(tokensBefore === undefined ? {} : { tokensBefore }),
        ...(tokensAfter === undefined || e.trigger === "precompute" ? {} : { tokensAfter }),
      };
    },
    () => next(e),
  );
}

async function keepsResult(
  $: ModEngine,
  e: ToolEvent,
  next: Next<ToolEvent, ToolAnswer>,
): Promise<ToolAnswer> {
  const ran = await next(e);
  if (WHOLE.test(e.tool) || ran.isError || ran.deny !== undefined) return ran;
  const large = largestText(ran.result);
  if (!large) return ran;
  const client = await clientOf($).catch(() => undefined);
  if (!client) return ran;
  return client.guarded<ToolAnswer>(
    "a large result",
    async () => {
      const at = await conversationOf($, e.agentId);
      const { id } = await client.ask("result", at, { callId: e.tool_use_id, text: large.text });
      if (typeof id !== "string") throw new FallBack("the host named no entry");
      const stub = stubOf(large.text, id, OPEN_NAME);
      const { context } = ran;
      return {
        result: withText(ran.result, large.path, stub),
        ...(context === undefined ? {} : { context }),
      };
    },
    async () => ran,
  );
}

interface PromptEvent {
  text: string;
  context?: readonly string[];
  command?: unknown;
}

async function recalls($: ModEngine, e: PromptEvent, next: Next<PromptEvent, object>): Promise<object> {
  if (e.command !== undefined || e.text.trim() === "") return next(e);
  const client = await clientOf($).catch(() => undefined);
  let found = "";
  if (client)
    found = await client.guarded(
      "recall",
      async () =>
        answerText(await client.ask("recall", await conversationOf($, undefined), { prompt: e.text })),
      async () => "",
    );
  return next(found === "" ? e : { ...e, context: [...(e.context ?? []), named(found)] });
}

/** Runs one request of the user or the model, and returns its text or why there is none. */
async function asked($: ModEngine, operation: string, body: object): Promise<string> {
  try {
    return await askedText(await clientOf($), await conversationOf($, undefined), operation, body);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function wordsFor($: ModEngine, args: string): Promise<string> {
  try {
    return await commandText(await clientOf($), await conversationOf($, undefined), args);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Its end is waited for: tools that came later would change the beginning of the next request. */
async function introduce($: ModEngine): Promise<void> {
  const text = { type: "string" };
  await Promise.all([
    $.tool.register({
      name: OPEN_TOOL,
      description: OPEN_DESCRIPTION,
      inputSchema: { type: "object", properties: { id: text }, required: ["id"] },
      isDeferred: false,
    }),
    $.tool.register({
      name: SEARCH_TOOL,
      description: SEARCH_DESCRIPTION,
      inputSchema: { type: "object", properties: { query: text }, required: ["query"] },
      isDeferred: false,
    }),
    $.command.register({
      name: "pagurus",
      description: "Search and open what compactions took out of sight, pin messages",
      argumentHint: "search|open|pin|left-out",
    }),
  ]);
}

async function starts($: ModEngine, e: object, next: Next<object, object>): Promise<object> {
  const started = await next(e);
  await introduce($);
  void clientOf($)
    .then((client) => client.warm())
    .catch(() => undefined);
  return started;
}

interface AppendEvent {
  uuid: string;
  agentId?: string;
  /** How it came: `prompt`, `command`, `compaction`. */
  door?: string;
  /** `name`: kind of a row that neither the person nor the model wrote. */
  message?: { name?: string };
  origin?: { kind: string };
}

function appends($: ModEngine, e: AppendEvent, next: Next<AppendEvent, object>): Promise<object> {
  noteOrigin(e.uuid, e.origin?.kind ?? "");
  if (e.door === "compaction" && e.message?.name === "compact_boundary") noteBoundary($, e.agentId);
  return next(e);
}

interface TurnEvent {
  agentId?: string;
}

async function completes($: ModEngine, e: TurnEvent, next: Next<TurnEvent, object>): Promise<object> {
  const client = await clientOf($).catch(() => undefined);
  if (client)
    await client.guarded(
      "storing the turn",
      () => sendRows($, e.agentId),
      async () => undefined,
    );
  return next(e);
}

async function opens($: ModEngine, e: ToolEvent & { id?: string }): Promise<ToolAnswer> {
  return { result: await asked($, "expand", { id: e.id ?? "" }) };
}

async function searches($: ModEngine, e: ToolEvent & { query?: string }): Promise<ToolAnswer> {
  return { result: named(await asked($, "search", { query: e.query ?? "" })) };
}

async function runs($: ModEngine, e: { args: string }): Promise<object> {
  return { text: await wordsFor($, e.args) };
}

export const register = (on: On): void => {
  on("session.start", starts);
  on("session.append", appends);
  on("session.compact", compacts);
  on("prompt.submit", recalls);
  on("tool.call", { tool: "mcp__pagurus__open" }, opens);
  on("tool.call", { tool: "mcp__pagurus__search" }, searches);
  on("tool.call", keepsResult);
  on("turn.complete", completes);
  on("command.run", { command: "pagurus" }, runs);
};
