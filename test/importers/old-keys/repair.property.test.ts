/** Property: a repair of any configuration keeps its comments, changes no runtime, and leaves nothing to repair. */
import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import { legacyFindings } from "../../../packages/importers/src/old-keys/findings.ts";
import { repairText } from "../../../packages/importers/src/old-keys/legacy-repair.ts";
import { checkConfig } from "../../../packages/core/src/config/config-problems.ts";
import { agentSettings } from "../../../packages/core/src/config/agent-settings.ts";
import { parseJson5 } from "../../../packages/core/src/config/json5.ts";
import { configFromValue } from "../../../packages/core/src/config/load-config.ts";
import { toPagurusError } from "../../../packages/contract/src/errors.ts";
import type { AgentHarness } from "../../../packages/contract/src/harness/harness.ts";
import { HARNESS_CONTRACT } from "../../../packages/contract/src/version.ts";
import { describeModel } from "../../../packages/core/src/model/resolve.ts";
import { selectRuntime } from "../../../packages/host/src/turn/selection/select-runtime.ts";
import { FULL } from "../../runner/short-form.ts";

const id = fc.constantFrom("auto", "embedded", "codex", "pi", "Auto", "PI");
const ref = fc.constantFrom("codex/a", "openai-codex/a", "codex-cli/b", "claude-cli/c", "openai/a", "vllm/d");
const key = fc.oneof(
  ref,
  fc.constantFrom("openai/*", "codex/*", "claude-cli/*", "openai/b", "anthropic/c", "anthropic/*"),
);
/** Models that no configuration here names: the default one, or one of `--model`. */
const UNNAMED = ["openai/z", "anthropic/z", "codex/z", "vllm/z"];
const policy = fc.record({ id, fallback: fc.constantFrom("none", "embedded", "pi") }, { requiredKeys: [] });
const entry = fc.record(
  { agentRuntime: policy, thinking: fc.constantFrom("low", "high") },
  { requiredKeys: [] },
);
const models = fc.dictionary(key, entry, { maxKeys: 4 });
const model = fc.oneof(ref, fc.record({ primary: ref, fallbacks: fc.array(ref, { maxLength: 2 }) }));
const agent = fc.record(
  {
    model,
    models,
    agentRuntime: policy,
    embeddedHarness: fc.record({ runtime: id }),
    compaction: fc.record({ model: ref }),
  },
  { requiredKeys: [] },
);
const provider = fc.record(
  { agentRuntime: policy, api: fc.constantFrom("openai-responses", "ollama") },
  { requiredKeys: [] },
);
const config = fc.record(
  {
    agents: fc.record(
      {
        defaults: agent,
        list: fc
          .uniqueArray(fc.tuple(fc.constantFrom("main", "one", "two"), agent), {
            selector: ([name]) => name,
            maxLength: 2,
          })
          .map((list) => list.map(([name, rest]) => ({ id: name, ...rest }))),
      },
      { requiredKeys: [] },
    ),
    models: fc.record({
      providers: fc.dictionary(fc.constantFrom("openai", "codex", "vllm"), provider, { maxKeys: 2 }),
    }),
  },
  { requiredKeys: [] },
);

/** JSON5 with a comment on each line, so that a lost comment is detected. */
function written(value: unknown): string {
  return JSON.stringify(value, null, 2)
    .split("\n")
    .map((line, index) => `${line} // c${index}`)
    .join("\n");
}

function harness(id: string, more: Partial<AgentHarness> = {}): AgentHarness {
  return {
    id,
    label: id,
    contract: HARNESS_CONTRACT,
    execution: { kind: "in-process" },
    seam: "embedded",
    capabilities: [],
    supports: () => ({ supported: true }),
    start: () => {
      throw new Error("Nothing runs.");
    },
    ...more,
  };
}

const harnesses = [
  harness("embedded", { aliases: ["pi"] }),
  harness("codex", { claims: ({ provider: name }) => ({ claims: name === "vllm" }) }),
  harness("claude-cli", { family: "cli" }),
];

/** The runtime of each agent's own model and of others, as a run would get it, or the code of the refusal. */
function runtimes(value: unknown): string[] {
  const { config: loaded } = configFromValue(value, "/home");
  const agents = ["main", ...(loaded.agents?.list ?? []).map(({ id: name }) => name)];
  return agents.flatMap((agentId) => {
    const { model: own } = agentSettings(loaded, agentId);
    return [...(own === undefined ? [] : [own]), ...UNNAMED].map((each) => {
      try {
        const described = describeModel(each, loaded);
        const input = { config: loaded, agentId, harnesses, model: described, checkAccess: () => undefined };
        return `${described.ref} in ${selectRuntime(input).harness.id}`;
      } catch (error) {
        return toPagurusError(error).code;
      }
    });
  });
}

it("repairs any configuration once, and no agent changes its runtime", () => {
  fc.assert(
    fc.property(config, (value) => {
      const text = written(value);
      const { after, repairs } = repairText(text, "config");
      const repaired: unknown = parseJson5(after, "config");
      assert.deepEqual(repairText(after, "config").repairs, []);
      assert.ok(legacyFindings(repaired).every(({ edits }) => edits === undefined));
      assert.equal(repairs.length === 0, after === text);
      const old = new Set(checkConfig(value).problems);
      assert.deepEqual(
        checkConfig(repaired).problems.filter((problem) => !old.has(problem)),
        [],
      );
      assert.deepEqual(runtimes(repaired), runtimes(value));
    }),
    { numRuns: FULL ? 1_000 : 40 },
  );
});
