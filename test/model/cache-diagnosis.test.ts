/** The provider's diagnosis of cache misses: who is asked, in which form, and what an answer reports. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ModelEntryConfig, ProviderConfig } from "../../packages/core/src/config/config-types.ts";
import type { CacheReport } from "../../packages/contract/src/session/receipt.ts";
import type { ModelPart } from "../../packages/core/src/model/provider-types.ts";
import { resolveModel } from "../../packages/core/src/model/resolve.ts";
import { errorBody } from "../servers/errors.ts";
import type { Protocol, ReplyStep } from "../servers/server.ts";
import { withServer } from "./calling.ts";

const ASKS: Partial<ProviderConfig> = { cacheDiagnostics: true };

function overrides(
  id: string,
  provider = ASKS,
): { provider: Partial<ProviderConfig>; model: Partial<ModelEntryConfig> } {
  return { provider: { ...provider, models: [{ id }] }, model: { id } };
}

interface Asked {
  protocol: Protocol;
  id?: string;
  steps: readonly ReplyStep[];
  /** One for each call; undefined: the call requests no diagnosis. */
  previous: readonly (string | null | undefined)[];
  provider?: Partial<ProviderConfig>;
}

/** Makes the calls in order; returns their bodies and reports. */
async function asked({ protocol, id = "m-1", steps, previous, provider = ASKS }: Asked): Promise<{
  bodies: Record<string, unknown>[];
  reports: (CacheReport | undefined)[];
  parts: ModelPart[];
}> {
  const bodies: Record<string, unknown>[] = [];
  const reports: (CacheReport | undefined)[] = [];
  const all: ModelPart[] = [];
  await withServer(
    protocol,
    steps,
    async ({ server, call }) => {
      for (const previousResponseId of previous) {
        const { parts } = await call(previousResponseId === undefined ? {} : { previousResponseId });
        const last = parts.at(-1);
        reports.push(last?.type === "finish" ? last.cache : undefined);
        all.push(...parts);
      }
      bodies.push(...server.requests.map(({ body }) => body));
    },
    overrides(id, provider),
  );
  return { bodies, reports, parts: all };
}

describe("Messages API: the cache diagnosis", () => {
  it("is requested with the answer before, and reported with its tokens", async () => {
    const changed = { cache_miss_reason: { type: "tools_changed", cache_missed_input_tokens: 4_200 } };
    const { bodies, reports } = await asked({
      protocol: "anthropic-messages",
      steps: [{ text: "One." }, { text: "Two.", cacheDiagnostics: changed }],
      previous: [null, "msg_0"],
    });
    assert.deepEqual(
      bodies.map((body) => body["diagnostics"]),
      [{ previous_message_id: null }, { previous_message_id: "msg_0" }],
    );
    assert.deepEqual(reports, [
      { responseId: "msg_0" },
      { responseId: "msg_1", diagnosis: { reason: "tools_changed", missedTokens: 4_200 } },
    ]);
  });

  it("is `none` without a difference and `pending` where the comparison had not ended", async () => {
    const { reports } = await asked({
      protocol: "anthropic-messages",
      steps: [
        { text: "One.", cacheDiagnostics: null },
        { text: "Two.", cacheDiagnostics: { cache_miss_reason: null } },
        { text: "Three.", cacheDiagnostics: { cache_miss_reason: { type: "unavailable" } } },
      ],
      previous: ["msg_a", "msg_b", "msg_c"],
    });
    assert.deepEqual(
      reports.map((report) => report?.diagnosis),
      [{ reason: "none" }, { reason: "pending" }, { reason: "unavailable" }],
    );
  });

  it("is left out of the repeated request, and of later ones, once the endpoint has rejected it", async () => {
    const errorText = "diagnostics: Extra inputs are not permitted";
    const { bodies, parts } = await asked({
      protocol: "anthropic-messages",
      id: "m-strict",
      steps: [
        { status: 400, errorBody: errorBody("anthropic-messages", 400, errorText) },
        { text: "One." },
        { text: "Two." },
      ],
      previous: ["msg_a", "msg_b"],
    });
    assert.deepEqual(
      bodies.map((body) => "diagnostics" in body),
      [true, false, false],
    );
    assert.equal(parts.filter(({ type }) => type === "retry").length, 1);
  });

  it("is not requested of an endpoint that is not Anthropic's, nor by a call that does not want it", async () => {
    const elsewhere = { protocol: "anthropic-messages" as const, steps: [{ text: "One." }] };
    const other = await asked({ ...elsewhere, previous: ["msg_a"], provider: {} });
    const plain = await asked({ ...elsewhere, previous: [undefined] });
    assert.deepEqual(
      [...other.bodies, ...plain.bodies].map((body) => "diagnostics" in body),
      [false, false],
    );
    assert.deepEqual([...other.reports, ...plain.reports], [undefined, undefined]);
    const resolved = (baseUrl: string): boolean | undefined =>
      resolveModel(
        "anthropic/claude-x",
        { models: { providers: { anthropic: { baseUrl } } } },
        {
          ANTHROPIC_API_KEY: "k-0123456789",
        },
      ).diagnosesCache;
    assert.equal(resolved("https://api.anthropic.com"), true);
    assert.equal(resolved("https://proxy.example/anthropic"), false);
  });
});

describe("OpenAI's cache diagnosis", () => {
  const miss = { type: "cache_miss", reason: "input_changed", cache_missed_tokens: 900 };

  it("is requested of GPT-5.6 and later in the Responses API, once there is an answer to compare with", async () => {
    const { bodies, reports } = await asked({
      protocol: "openai-responses",
      id: "gpt-5.6-sol",
      steps: [
        { text: "One." },
        { text: "Two.", cacheDiagnostics: miss },
        { text: "Three.", cacheDiagnostics: { type: "cache_hit" } },
        { text: "Four.", cacheDiagnostics: { type: "comparison_response_not_found" } },
      ],
      previous: [null, "resp_0", "resp_1", "resp_2"],
    });
    assert.deepEqual(
      bodies.map((body) => body["prompt_cache_options"]),
      [undefined, ...["resp_0", "resp_1", "resp_2"].map((id) => ({ comparison_response_id: id }))],
    );
    assert.deepEqual(reports, [
      { responseId: "resp_0" },
      { responseId: "resp_1", diagnosis: { reason: "input_changed", missedTokens: 900 } },
      { responseId: "resp_2", diagnosis: { reason: "none" } },
      { responseId: "resp_3", diagnosis: { reason: "comparison_response_not_found" } },
    ]);
  });

  it("is not requested of models without it", async () => {
    for (const id of ["gpt-5.4", "o5-mini", "qwen-3"]) {
      const steps = [{ text: "One." }];
      const { bodies } = await asked({ protocol: "openai-responses", id, steps, previous: ["resp_a"] });
      assert.deepEqual(
        bodies.map((body) => "prompt_cache_options" in body),
        [false],
      );
    }
  });
});
