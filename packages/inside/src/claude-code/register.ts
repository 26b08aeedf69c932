/** The mod for Claude Code: the engine answers compactions, keeps large results, stores each turn, and recalls what fits a prompt. */
import { FallBack } from "../client/host-client.ts";
import { largestText, stubOf, withText } from "../client/large-result.ts";
import {
  checkedMessages,
  clientOf,
  conversationOf,
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
const USAGE =
  "/pagurus search <words>, /pagurus open <id>, /pagurus pin [id], /pagurus left-out: what the last compaction took out of sight.";

/** A text of the engine, with the names that its tools have here. */
function named(text: string): string {
  return text.replaceAll("context_expand", OPEN_NAME).replaceAll("context_search", SEARCH_NAME);
}

/** A message as a compaction returns it: the program's own, without the handle, with which it would be lost at the next resume. */
function withoutHandle({ handle: _handle, ...message }: ModMessage): Omit<ModMessage, "handle"> {
  return message;
}

async function compacts($: ModEngine, e: CompactEvent, next: Next<CompactEvent, object>): Promise<object> {
  noteCompaction(e.agentId);
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
      async () => textOf(await client.ask("recall", await conversationOf($, undefined), { prompt: e.text })),
      async () => "",
    );
  return next(found === "" ? e : { ...e, context: [...(e.context ?? []), named(found)] });
}

function textOf({ text }: Record<string, unknown>): string {
  return typeof text === "string" ? text : "";
}

/** Runs one request of the user or the model, and returns its text or why there is none. */
async function asked($: ModEngine, operation: string, body: object): Promise<string> {
  try {
    const client = await clientOf($);
    const answer = await client.ask(operation, await conversationOf($, undefined), body);
    return operation === "left-out" ? leftOutText(answer["left"]) : textOf(answer);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function leftOutText(left: unknown): string {
  if (typeof left !== "object" || left === null) return "No compaction has left anything out yet.";
  const { messages, requests } = left as { messages: number; requests: string[] };
  const lines = requests.map((line) => `  ${line.replaceAll(/\s+/g, " ").slice(0, 120)}`);
  return [
    `${messages} messages are out of sight and kept word for word. Your requests among them:`,
    ...lines,
  ].join("\n");
}

async function commandText($: ModEngine, args: string): Promise<string> {
  const [, verb = "", rest = ""] = /^(\S*)\s*([\s\S]*)$/.exec(args.trim()) ?? [];
  if (verb === "search" && rest !== "") return asked($, "search", { query: rest });
  if (verb === "open" && rest !== "") return asked($, "expand", { id: rest });
  if (verb === "pin") return asked($, "pin", { id: rest });
  if (verb === "left-out") return asked($, "left-out", {});
  return USAGE;
}

/** Its end is waited for: tools that came later would change the beginning of the next request. */
async function introduce($: ModEngine): Promise<void> {
  const text = { type: "string" };
  await Promise.all([
    $.tool.register({
      name: OPEN_TOOL,
      description:
        "Gives the exact text of an entry that Pagurus keeps: a large tool result of which only a part is shown, or a message that a compaction took out of sight.",
      inputSchema: { type: "object", properties: { id: text }, required: ["id"] },
      isDeferred: false,
    }),
    $.tool.register({
      name: SEARCH_TOOL,
      description:
        "Searches all messages of this conversation, also those that compactions took out of sight. Each line begins with the id that opens it.",
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
  origin?: { kind: string };
}

function appends(_$: ModEngine, e: AppendEvent, next: Next<AppendEvent, object>): Promise<object> {
  noteOrigin(e.uuid, e.origin?.kind ?? "");
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
  return { result: await asked($, "search", { query: e.query ?? "" }) };
}

async function runs($: ModEngine, e: { args: string }): Promise<object> {
  return { text: await commandText($, e.args) };
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
