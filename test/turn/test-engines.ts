/** Engines for tests of the live turn: they differ in when they are called and what they return. */
import type { ContextEngine, ContextEngineFactory } from "../../packages/contract/src/engine/engine.ts";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import { createLegacyEngine } from "../../packages/host/src/engines/legacy/legacy-engine.ts";

export type EngineKind = "legacy" | "every-call" | "stripping" | "half";

function engine(
  id: string,
  scope: "call" | "turn",
  answer: (messages: AgentMessage[]) => AgentMessage[],
): ContextEngine {
  const legacy = createLegacyEngine();
  return {
    info: { id, name: id, assembleScope: scope },
    ingest: () => Promise.resolve({ ingested: true }),
    assemble: ({ messages }) => Promise.resolve({ messages: answer(messages), estimatedTokens: 0 }),
    compact: (params) => legacy.compact(params),
  };
}

/** Copies like those of an engine with its own records: no object and no entry id is the host's. */
function strip(message: AgentMessage): AgentMessage {
  const { entryId: _entryId, timestamp: _timestamp, ...rest } = structuredClone(message);
  return rest;
}

export const ENGINES: Record<Exclude<EngineKind, "legacy">, ContextEngineFactory> = {
  "every-call": () => engine("every-call", "call", (messages) => messages),
  stripping: () => engine("stripping", "call", (messages) => messages.map(strip)),
  // Returns its input without every third message, whichever that is.
  half: () => engine("half", "call", (messages) => messages.filter((_, index) => index % 3 !== 1)),
};
