/** Engines with known mistakes, each over the whole suite: which checks detect them, and with which sentences. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import type { AssembleParams } from "../../packages/contract/src/engine/engine-params.ts";
import type { ContextEngine } from "../../packages/contract/src/engine/engine.ts";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import { createLegacyEngine } from "../../packages/host/src/engines/legacy/legacy-engine.ts";
import { messagesTokens } from "../../packages/core/src/tokens/message-tokens.ts";
import { engineChecks, runEngineSuite } from "../../packages/testkit/src/index.ts";
import { FULL } from "../runner/short-form.ts";
import { createDurableEngine } from "./engines/durable.ts";
import type { Create } from "./mutants.ts";
import { everyOther } from "../runner/long-tests.ts";

/** Groups without relation to these mistakes, and the slowest ones. */
const LEFT_OUT = /^(?:info|intercept|rotation|subagent|end)\./;

function showing(change: (messages: AgentMessage[], params: AssembleParams) => AgentMessage[]): Create {
  return () => {
    const engine = createLegacyEngine();
    return {
      ...engine,
      assemble: async (params: AssembleParams) => {
        const messages = change((await engine.assemble(params)).messages, params);
        return { messages, estimatedTokens: messagesTokens(messages) };
      },
    };
  };
}

const first = (messages: AgentMessage[]): AgentMessage[] => {
  const at = messages.findIndex(({ role }) => role === "toolResult");
  return messages.filter((_message, index) => index !== at);
};

interface Mutant {
  create: Create;
  /** Checks that have to fail, among others. */
  seenBy: string[];
  /** Pattern of one of their error sentences. */
  says?: RegExp;
}

const MUTANTS: Record<string, Mutant> = {
  "reorders messages": {
    create: showing((messages) => messages.toReversed()),
    seenBy: ["assemble.order", "assemble.valid", "settle.turns"],
  },
  "drops a tool result": {
    create: showing(first),
    seenBy: ["assemble.valid", "live.parallel-calls"],
  },
  "ignores the budget": {
    create: () => ({
      ...createLegacyEngine(),
      assemble: async ({ messages, tokenBudget }: AssembleParams) => ({
        messages,
        estimatedTokens: Math.min(messagesTokens(messages), tokenBudget ?? Infinity),
      }),
    }),
    seenBy: ["assemble.budget"],
  },
  "forgets to commit": {
    create: (context): ContextEngine => ({
      ...bound(createDurableEngine(context)),
      commitTurn: async () => ({ status: "committed" as const }),
    }),
    seenBy: ["settle.commit", "settle.turns", "settle.live-restart", "bootstrap.then-turns"],
  },
  "leaks a timestamp into its head": {
    create: showing((messages) => [
      { role: "user", content: `It is ${new Date().toISOString()}.` },
      ...messages,
    ]),
    seenBy: ["same.fresh"],
  },
  "leaks a random id into its head": {
    create: (context) => {
      const head: AgentMessage = { role: "user", content: `Session ${randomUUID()}` };
      return showing((messages) => [head, ...messages])(context);
    },
    seenBy: ["same.fresh", "same.compacted"],
    says: /^In another engine the context differs: .*Session/,
  },
  "drops the images of the history": {
    create: showing((messages, { prompt }) =>
      prompt === undefined ? messages : messages.map(withoutImages),
    ),
    seenBy: ["assemble.parts"],
    says: /^The image of an earlier input is not in the context/,
  },
  "shows a message twice": {
    create: showing((messages) =>
      messages.flatMap((message, at) => (at === 1 ? [message, message] : [message])),
    ),
    seenBy: ["assemble.order", "assemble.valid"],
    says: /is twice in the assembled context/,
  },
  "empties the list that it is given": {
    create: showing((messages, params) => {
      const kept = [...messages];
      params.messages.length = 0;
      return kept;
    }),
    seenBy: ["assemble.input-untouched"],
    says: /different after the call/,
  },
  "writes into the messages that it is given": {
    create: showing((messages) => {
      for (const message of messages) message.timestamp = 0;
      return messages;
    }),
    seenBy: ["assemble.input-untouched"],
    says: /different after the call/,
  },
  "answers a compaction after its abort": {
    create: () => {
      const engine = createLegacyEngine();
      return { ...engine, compact: ({ abortSignal: _deaf, ...params }) => engine.compact(params) };
    },
    seenBy: ["compact.aborted-before"],
    says: /^An aborted compaction reports success\.$/,
  },
  "swallows what a user adds to a turn": {
    create: showing((messages) =>
      messages.filter(({ role }, at) => role !== "user" || messages[at - 1]?.role !== "toolResult"),
    ),
    seenBy: ["live.steering"],
    says: /the assembled context lacks "user\|Request 0087/,
  },
  "leaves a process": {
    create: () => {
      const engine = createLegacyEngine();
      return {
        ...engine,
        compact: (params) => {
          spawn("sleep", ["5"], { stdio: "ignore", detached: true }).unref();
          return engine.compact(params);
        },
      };
    },
    seenBy: ["end.processes"],
    says: /^1 process of the engine is left after its end: sleep\.$/,
  },
  "adds to the prototype of all objects": {
    create: showing((messages) => {
      Object.defineProperty(Object.prototype, "berth", { value: 12, configurable: true });
      return messages;
    }),
    seenBy: ["end.surroundings"],
    says: /Object\.prototype\.berth/,
  },
  "goes to another working folder": {
    create: showing((messages) => {
      process.chdir("/");
      return messages;
    }),
    seenBy: ["end.surroundings"],
    says: /^The engine has changed \["the working folder"\]\.$/,
  },
};

function withoutImages(message: AgentMessage): AgentMessage {
  if (message.role !== "user" || typeof message.content === "string") return message;
  return { ...message, content: message.content.filter(({ type }) => type !== "image") };
}

/** The members of a class instance as an object's own. */
function bound(engine: ContextEngine): ContextEngine {
  const own: Record<string, unknown> = { info: engine.info };
  for (
    let at: object | null = engine;
    at && at !== Object.prototype;
    at = Object.getPrototypeOf(at) as object | null
  )
    for (const name of Object.getOwnPropertyNames(at)) {
      const value: unknown = Reflect.get(engine, name);
      if (typeof value === "function" && name !== "constructor")
        own[name] ??= (value as () => unknown).bind(engine);
    }
  return own as unknown as ContextEngine;
}

const only = engineChecks()
  .map(({ id }) => id)
  .filter((id) => !LEFT_OUT.test(id) && !/^compact\.(?:aborted|model)/.test(id));

for (const [what, { create, seenBy, says }] of everyOther(Object.entries(MUTANTS)))
  test(`an engine that ${what} is detected by the suite`, async () => {
    const cwd = process.cwd();
    try {
      // The short form runs those that have to fail.
      const chosen = FULL && says === undefined ? only : seenBy;
      const { results } = await runEngineSuite({ create, only: chosen, deadlineMs: 20_000 });
      const failed = results.filter(({ status }) => status === "failed");
      const ids = failed.map(({ id }) => id);
      for (const id of seenBy) assert.ok(ids.includes(id), `${id} is not among ${ids.join(", ")}`);
      const reasons = failed.map(({ reason = "" }) => reason);
      assert.ok(
        reasons.some((reason) => says?.test(reason) ?? true),
        reasons.join("\n"),
      );
    } finally {
      process.chdir(cwd);
      Reflect.deleteProperty(Object.prototype, "berth");
    }
  });
