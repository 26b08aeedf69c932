import type { ContextPreview } from "@pagurus/contract/host/host";
import type { AgentMessage, UserMessage } from "@pagurus/contract/message";
import type { ToolSpec } from "@pagurus/contract/harness/tool";
import { recallIn } from "@pagurus/contract/engine/recall-block";
import type { ModelInfo } from "@pagurus/contract/model";
import type { ContextSlice, SessionReader } from "@pagurus/contract/session/writer";
import { Assembler } from "../context/assemble-context.ts";
import { EngineContext } from "../engine/engine-context.ts";
import { EngineAsker } from "../context/ask-engine.ts";
import { splitLive } from "../context/live-messages.ts";
import { surroundings, type Surroundings } from "./inspect-session.ts";
import { emptyCursor, sessionReader } from "../agent/session-look.ts";
import type { ContextScope } from "../context/context-scope.ts";
import { toolResultLimit } from "../context/context-budget.ts";
import { makeReceipt } from "../run/receipt-book.ts";
import type { AgentHost } from "../agent/agent-host.ts";
import { readContext } from "../context/context-slice.ts";
import { sessionKeyOf } from "../agent/session-key.ts";
import { defined } from "@pagurus/core/data/defined";

/** Placeholder id of the entry that the input would get. */
const PREVIEW_ENTRY = "preview";

export interface PreviewRequest {
  sessionKey?: string;
  prompt: string;
  /** Tokens; default: the model's. */
  budget?: number;
  cwd?: string;
  audience?: "group" | "strangers";
  exact?: boolean;
  signal?: AbortSignal;
}

/** The context that would be assembled for a prompt now. Nothing is sent, stored or compacted. */
export async function previewContext(host: AgentHost, request: PreviewRequest): Promise<ContextPreview> {
  return withLook(host, request, async ({ around, reader, scopeOf }) => {
    const scope = scopeOf(wholeContext(reader, around.model));
    const assembly = await new Assembler(scope).assemble();
    const last = reader ? host.receipts(reader.record).lastOwn() : undefined;
    const receipt = makeReceipt(scope, assembly, { request: 0, previous: last });
    const { system, messages } = assembly;
    const exactTokens = request.exact ? await countExactly(system, around.tools.specs, messages) : undefined;
    return { system, messages, receipt, ...defined({ exactTokens }) };
  });
}

/** The passages that the engine would add for a prompt now, as it words them; empty for none. An engine that keeps the history reads none of it. */
export async function recallForPrompt(host: AgentHost, request: PreviewRequest): Promise<string> {
  return withLook(host, request, async ({ around, reader, scopeOf }) => {
    const held = around.engine.info.history === "live" ? NOTHING_HELD : wholeContext(reader, around.model);
    const scope = scopeOf(held);
    const { history, live } = splitLive(scope.slice().messages, PREVIEW_ENTRY);
    const { messages } = await new EngineAsker(scope).ask(history, live);
    return recallIn(messages);
  });
}

const NOTHING_HELD: ContextSlice = { messages: [], complete: true };

function wholeContext(reader: SessionReader | undefined, { contextWindow }: ModelInfo): ContextSlice {
  return reader ? readContext(reader, contextWindow) : NOTHING_HELD;
}

interface Look {
  around: Surroundings;
  reader: SessionReader | undefined;
  /** The turn that the prompt would begin, after these messages. */
  scopeOf(held: ContextSlice): ContextScope;
}

async function withLook<T>(
  host: AgentHost,
  request: PreviewRequest,
  work: (look: Look) => Promise<T>,
): Promise<T> {
  const sessionKey = sessionKeyOf(host, request);
  const around = await surroundings(host, {
    cwd: request.cwd,
    sessionKey,
    turnId: PREVIEW_ENTRY,
    audience: request.audience,
  });
  const reader = sessionReader(host, sessionKey);
  try {
    const waiting = await host.subagents.results(sessionKey);
    const volatile = waiting.map(({ message }) => ({ message, after: PREVIEW_ENTRY }));
    const at = { host, request, around, reader, sessionKey, volatile };
    return await work({ around, reader, scopeOf: (held) => turnScope(at, held) });
  } finally {
    reader?.close();
  }
}

function turnScope(
  at: Omit<Look, "scopeOf"> &
    Pick<ContextScope, "host" | "sessionKey" | "volatile"> & { request: PreviewRequest },
  held: ContextSlice,
): ContextScope {
  const { host, request, around, reader, sessionKey, volatile } = at;
  const { model, guard } = around;
  const record = reader?.record;
  const tokenBudget = request.budget ?? around.tokenBudget;
  const session = { record, sessionKey, cursor: reader?.cursor ?? emptyCursor };
  const input: UserMessage = {
    role: "user",
    content: [{ type: "text", text: request.prompt }],
    entryId: PREVIEW_ENTRY,
    timestamp: Date.now(),
  };
  guard.frame = () => ({ memorySections: around.memorySections });
  return {
    ...around,
    host,
    context: new EngineContext({ host, ...around, tokenBudget }, { session: () => session }),
    sessionKey,
    sessionId: record?.sessionId ?? "",
    turnId: PREVIEW_ENTRY,
    signal: request.signal ?? new AbortController().signal,
    inputEntryId: PREVIEW_ENTRY,
    prompt: request.prompt,
    tokenBudget,
    toolResultMaxChars: toolResultLimit(host, model.contextWindow, around.tokenBudget),
    volatile,
    isKept: false,
    calibration: () => host.calibration(record, model.ref),
    slice: () => ({ ...held, messages: [...held.messages, input] }),
    pending: () => [],
  };
}

/** Counts the text alone: a provider adds a few tokens of its own to each message. */
async function countExactly(
  system: string,
  tools: readonly ToolSpec[],
  messages: readonly AgentMessage[],
): Promise<number | undefined> {
  const { countExact } = await import("@pagurus/core/tokens/exact");
  const texts = [
    system,
    JSON.stringify(tools),
    ...messages.map((message) => JSON.stringify(message.content)),
  ];
  let sum = 0;
  for (const text of texts) {
    const count = await countExact(text);
    if (count === undefined) return undefined;
    sum += count;
  }
  return sum;
}
