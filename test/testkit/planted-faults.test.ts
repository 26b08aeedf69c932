/** `npm run prove -- contract.9`: faults that leave every id in place. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createPagurus } from "../../packages/app/src/app.ts";
import type { AssembleParams } from "../../packages/contract/src/engine/engine-params.ts";
import type { ContextEngine } from "../../packages/contract/src/engine/engine.ts";
import { createLegacyEngine } from "../../packages/host/src/engines/legacy/legacy-engine.ts";
import { engineChecks, runEngineSuite, runHarnessSuite } from "../../packages/testkit/src/index.ts";
import { messagesTokens } from "../../packages/core/src/tokens/message-tokens.ts";
import { FULL } from "../runner/short-form.ts";
import { assembling, changingMessages, MUTANT, type Make } from "./harness/making.ts";
import { PLANTED_FAULTS } from "./planted-faults.ts";

/** The checks of assembled contexts; in the short form one of them. */
const only = FULL
  ? engineChecks().flatMap(({ id }) => (/^(?:assemble|live|settle)\./.test(id) ? [id] : []))
  : ["assemble.keeps-what-fits"];

for (const [what, { fault }] of Object.entries(PLANTED_FAULTS)) {
  test(`the engine suite fails an engine that ${what}`, async () => {
    const create = (): ContextEngine => {
      const engine = createLegacyEngine();
      return {
        ...engine,
        assemble: async (params: AssembleParams) => {
          const messages = fault((await engine.assemble(params)).messages);
          return { messages, estimatedTokens: messagesTokens(messages) };
        },
      };
    };
    const { results } = await runEngineSuite({ create, only, deadlineMs: 20_000 });
    const found = results.filter(({ status }) => status === "failed").map(({ id }) => id);
    assert.ok(found.includes("assemble.keeps-what-fits"), found.join(", "));
  });
}

/** Harnesses with the same faults, in what they send and in what they record. */
const HARNESSES: Record<string, { create: Make; seenBy: string }> = {
  "sends calls without their arguments": {
    create: changingMessages(PLANTED_FAULTS["empties the arguments of calls"].fault, "sent"),
    seenBy: "tools.round-trip",
  },
  "sends calls with another name": {
    create: changingMessages(PLANTED_FAULTS["changes the names of calls"].fault, "sent"),
    seenBy: "tools.round-trip",
  },
  "records calls without their arguments": {
    create: changingMessages(PLANTED_FAULTS["empties the arguments of calls"].fault, "recorded"),
    seenBy: "record.transcript",
  },
  "records a success as a failure": {
    create: changingMessages(PLANTED_FAULTS["turns failures into successes"].fault, "recorded"),
    seenBy: "record.transcript",
  },
  "sends one answer in place of the others": {
    create: assembling(({ messages }) => ({
      messages: PLANTED_FAULTS["replaces the content of an entry"].fault(messages),
    })),
    seenBy: "turn.history",
  },
};

for (const [what, { create, seenBy }] of Object.entries(HARNESSES))
  test(`the harness suite fails a harness that ${what}`, async () => {
    const options = { open: createPagurus, runtime: MUTANT, create, api: "openai-responses" as const };
    const { results } = await runHarnessSuite({ ...options, only: [seenBy], deadlineMs: 20_000 });
    assert.deepEqual(
      results.map(({ id, status }) => `${id} ${status}`),
      [`${seenBy} failed`],
    );
  });
