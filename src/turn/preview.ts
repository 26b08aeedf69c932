import type { ContextPreview } from "../contract/host.ts";
import type { AgentMessage, UserMessage } from "../contract/message.ts";
import type { ToolSpec } from "../contract/tool.ts";
import { Assembler } from "./assemble.ts";
import { EngineContext } from "./engine-context.ts";
import { emptyCursor, readerOf, surroundings } from "./inspect.ts";
import { citationsMode, toolResultLimit } from "./prepare.ts";
import { readPromptHooks } from "./prompt-hooks.ts";
import { makeReceipt } from "./receipt-book.ts";
import type { AgentHost } from "./scope.ts";
import { readContext } from "./context-slice.ts";

/** Stands for the entry that the input would get. */
const PREVIEW_ENTRY = "preview";

export interface PreviewRequest {
  sessionKey?: string;
  prompt: string;
  /** Tokens; default: the model's. */
  budget?: number;
  cwd?: string;
  exact?: boolean;
  signal?: AbortSignal;
}

/** What would be assembled for a prompt now. Nothing is sent or stored, nothing is compacted. */
export async function previewContext(host: AgentHost, request: PreviewRequest): Promise<ContextPreview> {
  const sessionKey = request.sessionKey ?? "main";
  const around = await surroundings(host, { cwd: request.cwd, sessionKey, turnId: PREVIEW_ENTRY });
  const { engine, harness, model, guard, cwd } = around;
  const reader = readerOf(host, sessionKey);
  try {
    const record = reader?.record;
    const signal = request.signal ?? new AbortController().signal;
    const input: UserMessage = {
      role: "user",
      content: [{ type: "text", text: request.prompt }],
      entryId: PREVIEW_ENTRY,
    };
    const tokenBudget = request.budget ?? around.tokenBudget;
    const cursor = reader?.cursor ?? emptyCursor;
    const context = new EngineContext({
      host,
      engine,
      model,
      harness,
      cwd,
      tokenBudget,
      session: () => ({ record, sessionKey, cursor }),
    });
    guard.frame = () => ({ memorySections: around.memorySections });
    const held = (reader && readContext(reader, model.contextWindow)) ?? { messages: [], complete: true };
    const waiting = await host.subagents.results(sessionKey);
    const assembly = await new Assembler({
      engine,
      trusted: host.slot.bundled,
      guard,
      model,
      inputEntryId: () => PREVIEW_ENTRY,
      prompt: request.prompt,
      system: around.system,
      tools: around.tools.specs,
      tokenBudget,
      mostTokens: model.contextWindow - around.fixedTokens,
      toolResultMaxChars: toolResultLimit(host, model.contextWindow, around.tokenBudget),
      citationsMode: citationsMode(host),
      calibration: () => host.calibration(record?.sessionId ?? "", model.ref),
      signal,
      pending: () => [],
      volatile: () => waiting.map(({ message }) => ({ message, after: PREVIEW_ENTRY })),
      slice: () => ({ ...held, messages: [...held.messages, input] }),
      base: () => context.base(),
      inAttempt: false,
      promptHooks: readPromptHooks({
        host,
        guard,
        sessionKey,
        writer: { record: { sessionId: record?.sessionId ?? "" } },
        turnId: PREVIEW_ENTRY,
        signal,
      }),
    }).assemble();
    const receipt = makeReceipt(
      { ...around, turnId: PREVIEW_ENTRY },
      tokenBudget,
      assembly,
      0,
      reader ? host.receipts(reader.record).last() : undefined,
    );
    const { system, messages } = assembly;
    const exactTokens = request.exact ? await countExactly(system, around.tools.specs, messages) : undefined;
    return { system, messages, receipt, ...(exactTokens === undefined ? {} : { exactTokens }) };
  } finally {
    reader?.close();
  }
}

/** Of the words alone: a provider adds a few tokens of its own to each message. */
async function countExactly(
  system: string,
  tools: readonly ToolSpec[],
  messages: readonly AgentMessage[],
): Promise<number | undefined> {
  const { countExact } = await import("../tokens/exact.ts");
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
