/** Engines with one defect, for each check of the suite. */
import { spawn } from "node:child_process";
import { appendFileSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CompactResult } from "../../packages/contract/src/engine/engine-compaction.ts";
import type { AssembleParams, AssembleResult } from "../../packages/contract/src/engine/engine-params.ts";
import type { ContextEngine, ContextEngineInfo } from "../../packages/contract/src/engine/engine.ts";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import type { RuntimeContext } from "../../packages/contract/src/engine/runtime-context.ts";
import type { TranscriptEntry } from "../../packages/contract/src/session/transcript.ts";
import { createLegacyEngine } from "../../packages/host/src/engines/legacy/legacy-engine.ts";
import { messagesTokens } from "../../packages/core/src/tokens/message-tokens.ts";
import { createDurableEngine } from "./engines/durable.ts";
import { createInterceptingEngine } from "./engines/intercepting.ts";
import { createRotatingEngine } from "./engines/rotating.ts";

export type Create = (context: { dir: string }) => ContextEngine;
type Changes = { [K in keyof ContextEngine]?: unknown };

const MEMBERS: readonly (keyof ContextEngine)[] = [
  "bootstrap",
  "ingest",
  "ingestBatch",
  "assemble",
  "afterTurn",
  "compact",
  "interceptCompaction",
  "maintain",
  "prepareSubagentSpawn",
  "onSubagentEnded",
  "commitTurn",
  "dispose",
];

/** The engine with some members replaced; a replacement may call the original. */
function changed(base: Create, change: (engine: ContextEngine) => Changes): Create {
  return (context) => {
    const engine = base(context);
    const copy: Record<string, unknown> = { info: engine.info };
    for (const name of MEMBERS) {
      const member = engine[name];
      if (typeof member === "function") copy[name] = (member as () => unknown).bind(engine);
    }
    return Object.assign(copy, change(engine)) as unknown as ContextEngine;
  };
}

const legacy: Create = () => createLegacyEngine();
const intercepting: Create = () => createInterceptingEngine();
const rotating: Create = () => createRotatingEngine();
const durable: Create = createDurableEngine;

function info(base: Create, extra: Record<string, unknown>): Create {
  return changed(base, (engine) => ({ info: { ...engine.info, ...extra } as ContextEngineInfo }));
}

function answer(messages: AgentMessage[]): AssembleResult {
  return { messages, estimatedTokens: messagesTokens(messages) };
}

/** Another selection of the host's messages. */
function assembling(
  base: Create,
  change: (messages: AgentMessage[], params: AssembleParams) => AgentMessage[],
): Create {
  return changed(base, (engine) => ({
    assemble: async (params: AssembleParams) =>
      answer(change((await engine.assemble(params)).messages, params)),
  }));
}

function compacting(base: Create, change: (answered: CompactResult) => CompactResult): Create {
  return changed(base, (engine) => ({
    compact: async (params: Parameters<ContextEngine["compact"]>[0]) => change(await engine.compact(params)),
  }));
}

/** Another result of a compaction that was made. */
function result(base: Create, extra: Record<string, unknown>): Create {
  return compacting(base, (answered) =>
    answered.result ? { ...answered, result: { ...answered.result, ...extra } } : answered,
  );
}

/** A careless compaction: the model's text, whatever it is, and the newest message of a role stays. */
function careless(role: AgentMessage["role"]): Create {
  return changed(legacy, () => ({
    compact: async ({ runtimeContext }: { runtimeContext: RuntimeContext }) => {
      const { text } = await runtimeContext.llm.complete({
        messages: [{ role: "user", content: "Summarize." }],
      });
      const kept = await newest(runtimeContext, role);
      const numbers = { tokensBefore: 10_000, tokensAfter: 10 };
      return {
        ok: true,
        compacted: true,
        result: { summary: text, firstKeptEntryId: kept, origin: "model", ...numbers },
      };
    },
  }));
}

async function newest({ transcript }: RuntimeContext, role: AgentMessage["role"]): Promise<string> {
  for await (const entry of transcript.backward())
    if (entry.type === "message" && entry.message.role === role) return entry.id;
  return "";
}

/** Rewrites the successor's file. */
function successor(change: (lines: Record<string, unknown>[]) => Record<string, unknown>[]): Create {
  return compacting(rotating, (answered) => {
    const file = answered.sessionFile;
    if (file === undefined) return answered;
    const lines = readFileSync(file, "utf8").trim().split("\n");
    const made = change(lines.map((line) => JSON.parse(line) as Record<string, unknown>));
    writeFileSync(file, made.map((line) => `${JSON.stringify(line)}\n`).join(""));
    return answered;
  });
}

/** A live engine that keeps every message it receives. */
function hoarding(extra: (held: AgentMessage[]) => Changes = () => ({})): Create {
  return changed(legacy, (engine) => {
    const held: AgentMessage[] = [];
    return {
      info: { ...engine.info, history: "live" },
      afterTurn: async ({ messages }: { messages: AgentMessage[] }) => void held.push(...messages),
      assemble: async ({ messages }: AssembleParams) => answer([...held, ...messages]),
      ...extra(held),
    };
  });
}

/** After a call of this member the context is empty. */
function forgetfulAfter(base: Create, name: "interceptCompaction" | "onSubagentEnded"): Create {
  return changed(base, (engine) => {
    let called = false;
    return {
      [name]: async (params: never) => {
        called = true;
        return await engine[name]?.(params);
      },
      assemble: async (params: AssembleParams) => (called ? answer([]) : await engine.assemble(params)),
    };
  });
}

function shared(): Create {
  let over = false;
  return changed(durable, (engine) => ({
    dispose: async () => {
      over = true;
      await engine.dispose?.();
    },
    assemble: async (params: AssembleParams) => {
      if (over) throw new Error("The database of all engines is closed.");
      return await engine.assemble(params);
    },
  }));
}

const never = (): Promise<never> => new Promise(() => undefined);
const refuse = async (): Promise<never> => Promise.reject(new Error("This engine is broken."));
const greeting: AgentMessage = { role: "user", content: "Welcome to the harbour." };
const textOf = (message: AgentMessage): string => JSON.stringify(message.content);

/** By the id of the check that has to fail. */
export const MUTANTS: Record<string, Create> = {
  "info.identity": info(legacy, { name: " " }),
  "info.contract": info(legacy, { contract: "another.engine/9" }),
  "info.members": changed(legacy, () => ({ ingest: undefined })),
  "info.values": info(legacy, { history: "everything" }),
  "info.interception": info(legacy, { interceptsCompaction: true }),
  "info.durable": info(legacy, {
    transcriptSemantics: { turnAdvancementIdempotency: "atomic-idempotent-v1" },
  }),
  "info.maintenance": info(legacy, { turnMaintenanceMode: "background" }),
  "info.accepted-params": info(legacy, { acceptedHostParams: "prompt" }),
  "info.requirements": info(legacy, {
    hostRequirements: { "agent-run": { requiredCapabilities: ["telepathy"] } },
  }),
  "info.stable": (context) => {
    const engine = legacy(context);
    let reads = 0;
    return {
      ...engine,
      get info() {
        return { ...engine.info, version: `1.0.${(reads += 1)}` };
      },
    };
  },

  "assemble.empty": assembling(legacy, (messages) => [greeting, ...messages]),
  "assemble.valid": assembling(legacy, (messages) => messages.filter(({ role }) => role !== "toolResult")),
  "assemble.keeps-what-fits": assembling(legacy, (messages) => messages.slice(-4)),
  "assemble.parts": assembling(legacy, (messages) =>
    messages.map((message) => (message.role === "toolResult" ? { ...message, isError: false } : message)),
  ),
  "assemble.order": assembling(legacy, (messages) => messages.toReversed()),
  "assemble.prompt-once": assembling(legacy, (messages, { prompt }) =>
    prompt === undefined ? messages : [...messages, { role: "user", content: prompt }],
  ),
  "assemble.without-prompt": assembling(legacy, (messages, { prompt }) =>
    prompt === undefined ? [] : messages,
  ),
  "assemble.plain-call": changed(legacy, (engine) => ({
    assemble: async (params: AssembleParams) =>
      params.runtimeContext ? await engine.assemble(params) : await refuse(),
  })),
  "assemble.estimate": changed(legacy, () => ({
    assemble: async ({ messages }: AssembleParams) => ({ messages, estimatedTokens: 1 }),
  })),
  "assemble.begins": assembling(legacy, (messages) => messages.slice(1)),
  "assemble.budget": changed(legacy, () => ({
    assemble: async ({ messages, tokenBudget }: AssembleParams) => ({
      messages,
      estimatedTokens: tokenBudget,
    }),
  })),
  "assemble.input-untouched": assembling(legacy, (messages) => {
    for (const message of messages) delete message.entryId;
    return messages;
  }),
  "assemble.fields": changed(legacy, (engine) => ({
    assemble: async (params: AssembleParams) => ({
      ...(await engine.assemble(params)),
      promptAuthority: "mine",
    }),
  })),
  "assemble.sessions-apart": hoarding(),
  "assemble.grows-at-end": assembling(legacy, (messages) => [
    { role: "user", content: `The conversation has ${messages.length} messages.` },
    ...messages,
  ]),

  "live.input": assembling(legacy, (messages, { prompt }) =>
    prompt === undefined ? messages.slice(-2) : messages,
  ),
  "live.whole": assembling(legacy, (messages, { prompt }) =>
    prompt === undefined ? messages.slice(0, -2) : messages,
  ),
  "live.parallel-calls": assembling(legacy, (messages) =>
    messages.filter(
      (message, index) => message.role !== "toolResult" || messages[index - 1]?.role !== "toolResult",
    ),
  ),
  "live.large-result": assembling(legacy, (messages) =>
    messages.filter((message) => textOf(message).length < 50_000),
  ),
  "live.images": assembling(legacy, (messages) =>
    messages.map((message) =>
      message.role === "user" && typeof message.content !== "string"
        ? { ...message, content: message.content.filter(({ type }) => type !== "image") }
        : message,
    ),
  ),
  "live.steering": assembling(legacy, (messages) =>
    messages.filter(({ role }, index) => role !== "user" || messages[index - 1]?.role !== "toolResult"),
  ),
  "live.each-call": changed(legacy, (engine) => {
    const before = new Map<string, AssembleResult>();
    return {
      assemble: async (params: AssembleParams) => {
        const key = params.runtimeContext?.turnId ?? "";
        const answered = before.get(key) ?? (await engine.assemble(params));
        before.set(key, answered);
        return answered;
      },
    };
  }),

  "same.twice": changed(legacy, (engine) => {
    let count = 0;
    return {
      assemble: async (params: AssembleParams) => ({
        ...(await engine.assemble(params)),
        systemPromptAddition: `Context ${(count += 1)}.`,
      }),
    };
  }),
  "same.answered": changed(legacy, (engine) => {
    const list: AgentMessage[] = [];
    return {
      assemble: async (params: AssembleParams) => {
        list.splice(0, list.length, ...(await engine.assemble(params)).messages);
        return answer(list);
      },
    };
  }),
  "same.fresh": changed(legacy, (engine) => ({
    assemble: async (params: AssembleParams) => ({
      ...(await engine.assemble(params)),
      systemPromptAddition: `Today is ${new Date().toDateString()}.`,
    }),
  })),
  "same.compacted": compacting(legacy, (answered) =>
    answered.result
      ? {
          ...answered,
          result: { ...answered.result, summary: `As of ${new Date().toDateString()}: nothing.` },
        }
      : answered,
  ),

  "settle.ingest": changed(legacy, () => ({ ingest: async () => undefined })),
  "settle.ingest-batch": changed(rotating, () => ({ ingestBatch: async () => ({ ingestedCount: 99 }) })),
  "settle.after-turn": changed(intercepting, () => ({ afterTurn: refuse })),
  "settle.turns": changed(durable, (engine) => {
    let count = 0;
    return {
      commitTurn: async (params: Parameters<NonNullable<ContextEngine["commitTurn"]>>[0]) =>
        (count += 1) % 2 === 0 ? { status: "committed" } : await engine.commitTurn?.(params),
    };
  }),
  "settle.twice": hoarding(),
  "settle.equal-words": assembling(legacy, (messages) =>
    messages.filter(
      (message, index) => messages.findIndex((other) => textOf(other) === textOf(message)) === index,
    ),
  ),
  "settle.lone-input": hoarding((held) => ({
    afterTurn: async ({ messages }: { messages: AgentMessage[] }) =>
      messages.length > 1 ? void held.push(...messages) : await refuse(),
  })),
  "settle.heartbeat": hoarding((held) => ({
    afterTurn: async ({ messages, isHeartbeat }: { messages: AgentMessage[]; isHeartbeat: boolean }) =>
      void (isHeartbeat ? held.splice(0) : held.push(...messages)),
  })),
  "settle.messages-untouched": hoarding(() => ({
    afterTurn: async ({ messages }: { messages: AgentMessage[] }) => void messages.pop(),
  })),
  "settle.commit": changed(durable, () => ({ commitTurn: async () => ({ status: "committed" }) })),
  "settle.commit-restart": changed(durable, () => {
    const seen = new Set<string>();
    return {
      commitTurn: async ({ advancementKey }: { advancementKey: string }) => {
        const status = seen.has(advancementKey) ? "duplicate" : "committed";
        seen.add(advancementKey);
        return { status };
      },
    };
  }),
  "settle.live-restart": ({ dir }) => createDurableEngine({ dir: mkdtempSync(join(dir, "instance-")) }),

  "bootstrap.answer": changed(intercepting, () => ({ bootstrap: async () => ({}) })),
  "bootstrap.history": changed(durable, () => ({ bootstrap: async () => ({ bootstrapped: true }) })),
  "bootstrap.twice": hoarding((held) => ({
    bootstrap: async ({ runtimeContext }: { runtimeContext: RuntimeContext }) => {
      for await (const entry of runtimeContext.transcript.forward())
        if (entry.type === "message") held.push(entry.message);
      return { bootstrapped: true };
    },
  })),
  "bootstrap.then-turns": changed(durable, () => ({ commitTurn: async () => ({ status: "committed" }) })),
  "bootstrap.missing-file": changed(intercepting, () => ({
    bootstrap: async () => ({ bootstrapped: true, importedMessages: 7 }),
  })),
  "bootstrap.file-untouched": changed(intercepting, (engine) => ({
    compact: async (params: Parameters<ContextEngine["compact"]>[0]) => {
      appendFileSync(params.sessionFile, "{}\n");
      return await engine.compact(params);
    },
  })),

  "compact.answer": changed(legacy, () => ({ compact: async () => ({ ok: true }) })),
  "compact.nothing": compacting(legacy, (answered) => ({ ...answered, ok: answered.compacted })),
  "compact.makes-room": changed(legacy, () => ({
    compact: async () => ({ ok: true, compacted: false, reason: "not now" }),
  })),
  "compact.owner": changed(durable, () => ({ compact: async () => ({ ok: true, compacted: false }) })),
  "compact.numbers": result(legacy, { tokensAfter: 1_000_000 }),
  "compact.first-kept": result(legacy, { firstKeptEntryId: "made-up" }),
  "compact.context": careless("assistant"),
  "compact.again": changed(legacy, (engine) => {
    let count = 0;
    return {
      compact: async (params: Parameters<ContextEngine["compact"]>[0]) =>
        (count += 1) === 1
          ? await engine.compact(params)
          : { ok: true, compacted: true, result: { tokensBefore: 10, tokensAfter: 20 } },
    };
  }),
  "compact.live-turn": careless("assistant"),
  "compact.focus": changed(legacy, (engine) => ({
    compact: ({ customInstructions: _focus, ...params }: Parameters<ContextEngine["compact"]>[0]) =>
      engine.compact(params),
  })),
  "compact.threshold": changed(legacy, (engine) => ({
    compact: async (params: Parameters<ContextEngine["compact"]>[0]) =>
      params.compactionTarget === "threshold"
        ? { ok: false, compacted: false, reason: "what?" }
        : await engine.compact(params),
  })),
  "compact.aborted-before": changed(legacy, (engine) => ({
    compact: ({ abortSignal: _signal, ...params }: Parameters<ContextEngine["compact"]>[0]) =>
      engine.compact(params),
  })),
  "compact.aborted-midway": changed(legacy, (engine) => ({
    compact: ({ abortSignal: _signal, ...params }: Parameters<ContextEngine["compact"]>[0]) =>
      engine.compact(params),
  })),
  "compact.model-fails": result(legacy, { origin: "model" }),
  "compact.model-empty": result(legacy, { origin: "model" }),
  "compact.model-long": careless("user"),
  "compact.after-failure": changed(legacy, () => {
    let broken = false;
    return {
      compact: async ({ runtimeContext }: { runtimeContext: RuntimeContext }) => {
        const asked = { messages: [{ role: "user" as const, content: "Summarize." }] };
        if (!broken) await runtimeContext.llm.complete(asked).catch(() => (broken = true));
        return { ok: false, compacted: false, reason: "the circuit breaker is open" };
      },
    };
  }),

  "rotation.file": successor(([header, ...entries]) => [{ ...header, id: "another" }, ...entries]),
  "rotation.tree": successor((lines) =>
    lines.map((line) => ("parentId" in line ? { ...line, parentId: "gone" } : line)),
  ),
  "rotation.kept": successor((lines) => lines.filter(({ type }) => type !== "message")),
  "rotation.before": changed(rotating, (engine) => ({
    compact: async (params: Parameters<ContextEngine["compact"]>[0]) => {
      appendFileSync(params.sessionFile, "{}\n");
      return await engine.compact(params);
    },
  })),
  "rotation.goes-on": successor((lines) =>
    lines.filter(
      (line) =>
        (line as unknown as TranscriptEntry).type !== "message" || !JSON.stringify(line).includes("0059"),
    ),
  ),

  "intercept.answer": changed(intercepting, () => ({
    interceptCompaction: async () => ({ handled: true, summary: "" }),
  })),
  "intercept.handles": changed(intercepting, () => ({
    interceptCompaction: async () => ({ handled: false, reason: "I never do." }),
  })),
  "intercept.unknown-count": changed(intercepting, (engine) => ({
    interceptCompaction: async (request: Parameters<NonNullable<ContextEngine["interceptCompaction"]>>[0]) =>
      request.currentTokenCount === undefined ? await refuse() : await engine.interceptCompaction?.(request),
  })),
  "intercept.messages-untouched": changed(intercepting, (engine) => ({
    interceptCompaction: async (
      request: Parameters<NonNullable<ContextEngine["interceptCompaction"]>>[0],
    ) => {
      const answered = await engine.interceptCompaction?.(request);
      request.messages.splice(0, 1);
      return answered;
    },
  })),
  "intercept.aborted": changed(intercepting, (engine) => ({
    interceptCompaction: (request: Parameters<NonNullable<ContextEngine["interceptCompaction"]>>[0]) =>
      engine.interceptCompaction?.({ ...request, signal: new AbortController().signal }),
  })),
  "intercept.usable": forgetfulAfter(intercepting, "interceptCompaction"),

  "maintain.answer": changed(intercepting, () => ({ maintain: async () => undefined })),
  "maintain.empty": changed(intercepting, () => ({
    maintain: async () => ({ changed: true, bytesFreed: 0, rewrittenEntries: 0 }),
  })),
  "maintain.without-rewriting": changed(intercepting, (engine) => ({
    maintain: async (params: Parameters<NonNullable<ContextEngine["maintain"]>>[0]) =>
      params.runtimeContext?.rewriteTranscriptEntries ? await engine.maintain?.(params) : await refuse(),
  })),
  "maintain.rewrites": changed(intercepting, () => ({
    maintain: async ({ runtimeContext }: { runtimeContext: RuntimeContext }) =>
      await runtimeContext.rewriteTranscriptEntries?.([{ entryId: "made-up", message: greeting }]),
  })),
  "maintain.refused": changed(intercepting, () => ({
    maintain: async ({ runtimeContext }: { runtimeContext: RuntimeContext }) => {
      const entryId = await newest(runtimeContext, "user");
      await runtimeContext.rewriteTranscriptEntries?.([{ entryId, message: greeting }]);
      return { changed: true, bytesFreed: 0, rewrittenEntries: 1 };
    },
  })),
  "maintain.aborted": changed(intercepting, () => ({ maintain: never })),

  "subagent.prepare": changed(durable, () => ({ prepareSubagentSpawn: async () => ({}) })),
  "subagent.bare": changed(durable, (engine) => ({
    prepareSubagentSpawn: async (params: Parameters<NonNullable<ContextEngine["prepareSubagentSpawn"]>>[0]) =>
      params.childSessionId === undefined ? await refuse() : await engine.prepareSubagentSpawn?.(params),
  })),
  "subagent.rollback": changed(durable, () => ({ prepareSubagentSpawn: async () => ({ rollback: refuse }) })),
  "subagent.ended": forgetfulAfter(durable, "onSubagentEnded"),
  "subagent.unknown": changed(durable, () => ({ onSubagentEnded: refuse })),

  "end.idle": changed(durable, () => ({ dispose: refuse })),
  "end.used": changed(durable, (engine) => {
    let over = false;
    return {
      dispose: async () => {
        if (over) await refuse();
        over = true;
        await engine.dispose?.();
      },
    };
  }),
  "end.processes": changed(legacy, (engine) => ({
    compact: (params: Parameters<ContextEngine["compact"]>[0]) => {
      spawn("sleep", ["3"], { stdio: "ignore", detached: true }).unref();
      return engine.compact(params);
    },
  })),
  "end.surroundings": changed(legacy, (engine) => ({
    assemble: (params: AssembleParams) => {
      process.env["BERTHS"] = "12";
      return engine.assemble(params);
    },
  })),
  "end.apart": shared(),
};
