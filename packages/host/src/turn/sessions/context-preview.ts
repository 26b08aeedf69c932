import type { ContextPreview } from "@pagurus/contract/host/host";
import type { AgentMessage, UserMessage } from "@pagurus/contract/message";
import type { ToolSpec } from "@pagurus/contract/harness/tool";
import { Assembler } from "../context/assemble-context.ts";
import { EngineContext } from "../engine/engine-context.ts";
import { surroundings } from "./inspect-session.ts";
import { emptyCursor, readerOf } from "../agent/session-look.ts";
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
  const sessionKey = sessionKeyOf(host, request);
  const around = await surroundings(host, {
    cwd: request.cwd,
    sessionKey,
    turnId: PREVIEW_ENTRY,
    audience: request.audience,
  });
  const { model, guard } = around;
  const reader = readerOf(host, sessionKey);
  try {
    const record = reader?.record;
    const input: UserMessage = {
      role: "user",
      content: [{ type: "text", text: request.prompt }],
      entryId: PREVIEW_ENTRY,
      timestamp: Date.now(),
    };
    const tokenBudget = request.budget ?? around.tokenBudget;
    const session = { record, sessionKey, cursor: reader?.cursor ?? emptyCursor };
    const context = new EngineContext({ host, ...around, tokenBudget }, { session: () => session });
    guard.frame = () => ({ memorySections: around.memorySections });
    const held = (reader && readContext(reader, model.contextWindow)) ?? { messages: [], complete: true };
    const waiting = await host.subagents.results(sessionKey);
    const scope: ContextScope = {
      ...around,
      host,
      context,
      sessionKey,
      sessionId: record?.sessionId ?? "",
      turnId: PREVIEW_ENTRY,
      signal: request.signal ?? new AbortController().signal,
      inputEntryId: PREVIEW_ENTRY,
      prompt: request.prompt,
      tokenBudget,
      toolResultMaxChars: toolResultLimit(host, model.contextWindow, around.tokenBudget),
      volatile: waiting.map(({ message }) => ({ message, after: PREVIEW_ENTRY })),
      isKept: false,
      calibration: () => host.calibration(record, model.ref),
      slice: () => ({ ...held, messages: [...held.messages, input] }),
      pending: () => [],
    };
    const assembly = await new Assembler(scope).assemble();
    const last = reader ? host.receipts(reader.record).lastOwn() : undefined;
    const receipt = makeReceipt(scope, assembly, { request: 0, previous: last });
    const { system, messages } = assembly;
    const exactTokens = request.exact ? await countExactly(system, around.tools.specs, messages) : undefined;
    return { system, messages, receipt, ...defined({ exactTokens }) };
  } finally {
    reader?.close();
  }
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
