/** Five ways in which engines go wrong, each over the whole suite: which of its checks see it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AssembleParams } from "../../src/contract/engine-params.ts";
import type { ContextEngine } from "../../src/contract/engine.ts";
import type { AgentMessage } from "../../src/contract/message.ts";
import { createLegacyEngine } from "../../src/engines/legacy/engine.ts";
import { messagesTokens } from "../../src/tokens/messages.ts";
import { engineChecks, runEngineSuite } from "../../src/testkit/index.ts";
import { createDurableEngine } from "./engines/durable.ts";
import type { Create } from "./mutants.ts";

/** Groups that have nothing to do with these, and those that take the longest. */
const LEFT_OUT = /^(?:info|intercept|rotation|subagent|end)\./;

function showing(change: (messages: AgentMessage[]) => AgentMessage[]): Create {
  return () => {
    const engine = createLegacyEngine();
    return {
      ...engine,
      assemble: async (params: AssembleParams) => {
        const messages = change((await engine.assemble(params)).messages);
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
};

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

for (const [what, { create, seenBy }] of Object.entries(MUTANTS))
  test(`an engine that ${what} is seen by the suite`, async () => {
    const { results } = await runEngineSuite({ create, only, deadlineMs: 4_000 });
    const failed = results.flatMap(({ id, status }) => (status === "failed" ? [id] : []));
    for (const id of seenBy) assert.ok(failed.includes(id), `${id} is not among ${failed.join(", ")}`);
  });
