/** Every rule of the selection as a row: the configuration, the model, and which rule chooses which runtime. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PagurusError } from "../../../packages/contract/src/errors.ts";
import type { AgentHarness } from "../../../packages/contract/src/harness/harness.ts";
import type {
  ClaimResult,
  RuntimeRule,
  SupportResult,
} from "../../../packages/contract/src/harness/runtimes.ts";
import { HARNESS_CONTRACT } from "../../../packages/contract/src/version.ts";
import { configFromValue } from "../../../packages/core/src/config/load-config.ts";
import { describeModel } from "../../../packages/core/src/model/resolve.ts";
import {
  selectRuntime,
  traceSelection,
  type SelectionInput,
} from "../../../packages/host/src/turn/selection/select-runtime.ts";

const NOT_FOUND = "Codex was found nowhere.";

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
      throw new Error("A selection runs nothing.");
    },
    ...more,
  };
}

const embedded = harness("embedded", { aliases: ["openclaw", "pi"] });
const ours = ({ provider }: { provider: string }): boolean => provider === "openai";
function codexWith(claim: ClaimResult, support: SupportResult = { supported: true }): AgentHarness {
  return harness("codex", {
    supports: () => support,
    claims: (model) => (ours(model) ? claim : { claims: false }),
  });
}
const codex = codexWith({ claims: true });
const absentCodex = codexWith({ claims: false, reason: NOT_FOUND });
const greedyCli = harness("scripted-cli", {
  family: "cli",
  execution: { kind: "child-process" },
  claims: () => ({ claims: true }),
});
const wasm = harness("wasm", {
  claims: ({ provider }) => (provider === "vllm" ? { claims: true } : { claims: false }),
});

const unaskable = harness("broken", {
  supports: () => {
    throw new Error("no disk");
  },
  claims: () => ({ claims: true }),
});

interface Setting {
  config?: Record<string, unknown>;
  ref?: string;
  agentId?: string;
  requested?: string;
  harnesses?: AgentHarness[];
  /** The host has no key. */
  keyless?: boolean;
}

function inputOf(setting: Setting): SelectionInput {
  const { config } = configFromValue(setting.config ?? {}, "/home");
  return {
    config,
    agentId: setting.agentId ?? "main",
    model: describeModel(setting.ref ?? "openai/gpt-5.5", config),
    requested: setting.requested,
    harnesses: setting.harnesses ?? [embedded, codex, greedyCli, wasm],
    checkAccess: () => {
      if (setting.keyless === true) throw new PagurusError("credential_missing", "There is no key.");
    },
  };
}

const use = (id: string, fallback?: string): object => ({
  agentRuntime: { id, ...(fallback === undefined ? {} : { fallback }) },
});
const defaults = (models: object, more: object = {}): object => ({
  agents: { defaults: { models }, ...more },
});

type Row = [what: string, setting: Setting, runtime: string, rule: RuntimeRule, source: string];

const EXACT = 'agents.defaults.models["openai/gpt-5.5"].agentRuntime';
const CHOSEN: Row[] = [
  ["the run's own id", { requested: "wasm" }, "wasm", "run", "the run itself"],
  [
    "the run's own id before every policy",
    { requested: "embedded", config: { ...defaults({ "openai/gpt-5.5": use("codex") }) } },
    "embedded",
    "run",
    "the run itself",
  ],
  ["an alias, openclaw", { requested: "openclaw" }, "embedded", "run", "the run itself"],
  [
    "an alias, pi",
    { config: { ...defaults({ "openai/gpt-5.5": use("pi") }) } },
    "embedded",
    "default-model",
    EXACT,
  ],
  ["an id in capitals", { requested: "Codex" }, "codex", "run", "the run itself"],
  ["auto, asked for by the run", { requested: "auto" }, "codex", "claim", "claimed by codex"],
  ["auto in capitals and with spaces", { requested: " Auto " }, "codex", "claim", "claimed by codex"],
  [
    "a model of the agent before one of the defaults",
    {
      agentId: "Work",
      config: defaults(
        { "openai/gpt-5.5": use("codex") },
        { list: [{ id: "other" }, { id: "work", models: { "openai/gpt-5.5": use("wasm") } }] },
      ) as Record<string, unknown>,
    },
    "wasm",
    "agent-model",
    'agents.list[1].models["openai/gpt-5.5"].agentRuntime',
  ],
  [
    "no model of another agent",
    {
      config: defaults({}, { list: [{ id: "work", models: { "openai/gpt-5.5": use("wasm") } }] }) as Record<
        string,
        unknown
      >,
    },
    "codex",
    "claim",
    "claimed by codex",
  ],
  [
    "a wildcard of the agent before an exact model of the defaults",
    {
      config: defaults(
        { "openai/gpt-5.5": use("codex") },
        { list: [{ id: "main", models: { "openai/*": use("wasm") } }] },
      ) as Record<string, unknown>,
    },
    "wasm",
    "agent-wildcard",
    'agents.list[0].models["openai/*"].agentRuntime',
  ],
  [
    "an exact model before a wildcard",
    { config: { ...defaults({ "openai/*": use("codex"), "openai/gpt-5.5": use("wasm") }) } },
    "wasm",
    "default-model",
    EXACT,
  ],
  [
    "a wildcard before the provider",
    {
      ref: "vllm/found-just-now",
      config: {
        ...defaults({ "vllm/*": use("embedded") }),
        models: { providers: { vllm: { agentRuntime: { id: "wasm" } } } },
      },
    },
    "embedded",
    "default-wildcard",
    'agents.defaults.models["vllm/*"].agentRuntime',
  ],
  [
    "a model entry of the provider before a wildcard",
    {
      ref: "vllm/known",
      config: {
        ...defaults({ "vllm/*": use("embedded") }),
        models: { providers: { vllm: { models: [{ id: "known", agentRuntime: { id: "wasm" } }] } } },
      },
    },
    "wasm",
    "provider-model",
    "models.providers.vllm.models[0].agentRuntime",
  ],
  [
    "the provider",
    { ref: "vllm/m", config: { models: { providers: { vllm: { agentRuntime: { id: "embedded" } } } } } },
    "embedded",
    "provider",
    "models.providers.vllm.agentRuntime",
  ],
  [
    "auto at a model, which hides the provider's id",
    {
      config: {
        ...defaults({ "openai/gpt-5.5": use("auto") }),
        models: { providers: { openai: { agentRuntime: { id: "embedded" } } } },
      },
    },
    "codex",
    "claim",
    "claimed by codex",
  ],
  ["a claim of codex for openai", {}, "codex", "claim", "claimed by codex"],
  ["a claim of a plugin's runtime", { ref: "vllm/m" }, "wasm", "claim", "claimed by wasm"],
  [
    "the compatibility runtime where nobody claims",
    { ref: "anthropic/claude-opus-4-7" },
    "embedded",
    "compatibility",
    "compatibility runtime",
  ],
  [
    "a CLI backend by its id, with the ref as it is",
    { ref: "anthropic/claude-opus-4-7", config: { ...defaults({ "anthropic/*": use("scripted-cli") }) } },
    "scripted-cli",
    "default-wildcard",
    'agents.defaults.models["anthropic/*"].agentRuntime',
  ],
  [
    "codex by a ref with its prefix, whatever the policy of the canonical ref",
    { ref: "codex/gpt-5.5", config: { ...defaults({ "openai/gpt-5.5": use("embedded") }) } },
    "codex",
    "ref",
    "the ref codex/gpt-5.5",
  ],
  [
    "codex by a ref of its login",
    { ref: "openai-codex/gpt-5.5" },
    "codex",
    "ref",
    "the ref openai-codex/gpt-5.5",
  ],
  [
    "codex by a ref of its old backend",
    { ref: "codex-cli/gpt-5.5" },
    "codex",
    "ref",
    "the ref codex-cli/gpt-5.5",
  ],
  [
    "a policy of the legacy ref itself before its prefix",
    { ref: "codex/gpt-5.5", config: { ...defaults({ "codex/gpt-5.5": use("wasm") }) } },
    "wasm",
    "default-model",
    'agents.defaults.models["codex/gpt-5.5"].agentRuntime',
  ],
  [
    "the run's id for a legacy ref",
    { ref: "codex/gpt-5.5", requested: "embedded" },
    "embedded",
    "run",
    "the run itself",
  ],
];

/** Pins of whole agents and sessions. */
const PINS: [string, Record<string, unknown>][] = [
  ["agents.defaults.agentRuntime", { agents: { defaults: { agentRuntime: { id: "wasm" } } } }],
  ["agents.list[].agentRuntime", { agents: { list: [{ id: "main", agentRuntime: { id: "wasm" } }] } }],
  [
    "agents.defaults.embeddedHarness",
    { agents: { defaults: { embeddedHarness: { runtime: "wasm", fallback: "none" } } } },
  ],
  ["agentHarnessId", { agents: { defaults: { agentHarnessId: "wasm" } } }],
  ["agentRuntimeOverride", { agents: { list: [{ id: "main", agentRuntimeOverride: "wasm" }] } }],
];

type Refusal = [what: string, setting: Setting, code: string, message: RegExp];
const REFUSED: Refusal[] = [
  [
    "an id that nobody has",
    { requested: "nope" },
    "runtime_unknown",
    /"nope" \(the run itself\); choose one of: /,
  ],
  [
    "a policy whose runtime is not usable: it is never run by another",
    {
      config: { ...defaults({ "openai/gpt-5.5": use("codex") }) },
      harnesses: [embedded, codexWith({ claims: false }, { supported: false, reason: NOT_FOUND })],
    },
    "runtime_unsupported",
    /"codex" cannot run openai\/gpt-5.5: Codex was found nowhere\./,
  ],
  [
    "the same with a fallback, which holds for auto alone",
    {
      config: { ...defaults({ "openai/gpt-5.5": use("codex", "embedded") }) },
      harnesses: [embedded, codexWith({ claims: false }, { supported: false, reason: NOT_FOUND })],
    },
    "runtime_unsupported",
    /Codex was found nowhere\./,
  ],
  [
    "auto without a claim and with fallback none",
    {
      config: { ...defaults({ "openai/gpt-5.5": use("auto", "none") }) },
      harnesses: [embedded, absentCodex],
    },
    "runtime_unsupported",
    /No runtime claims openai\/gpt-5\.5, and .*fallback is "none" \(Codex was found nowhere\.\)/,
  ],
  [
    "fallback none alone, which is auto",
    {
      ref: "vllm/m",
      harnesses: [embedded],
      config: { models: { providers: { vllm: { agentRuntime: { fallback: "none" } } } } },
    },
    "runtime_unsupported",
    /models\.providers\.vllm\.agentRuntime\.fallback is "none"/,
  ],
  [
    "a CLI backend that is not there",
    { config: { ...defaults({ "openai/*": use("claude-cli") }) } },
    "runtime_unknown",
    /"claude-cli" \(.*\) names a CLI backend, which is no embedded harness/,
  ],
  [
    "a ref of a CLI backend that is not there",
    { ref: "claude-cli/claude-opus-4-7" },
    "runtime_unknown",
    /"claude-cli" \(the ref claude-cli\/claude-opus-4-7\) names a CLI backend/,
  ],
  [
    "a runtime whose plugin is off",
    {
      requested: "codex",
      harnesses: [embedded],
      config: { plugins: { entries: { codex: { enabled: false } } } },
    },
    "runtime_unknown",
    /"codex" \(the run itself\) is turned off \(plugins\.entries\.codex\.enabled is false\); set it to true, or /,
  ],
  [
    "a runtime whose plugin is denied, although it is allowed too",
    {
      requested: "Codex",
      harnesses: [embedded],
      config: { plugins: { allow: ["codex"], deny: ["codex"] } },
    },
    "runtime_unknown",
    /"Codex" \(the run itself\) is turned off \(plugins\.deny names codex\); take it out there, or /,
  ],
  [
    "a runtime whose plugin is not among those that are allowed",
    { requested: "codex", harnesses: [embedded], config: { plugins: { allow: ["other"] } } },
    "runtime_unknown",
    /is turned off \(plugins\.allow does not name codex\); add it there, or /,
  ],
  [
    "an id that nobody has, whatever plugins are allowed",
    { requested: "nope", config: { plugins: { allow: ["other"] } } },
    "runtime_unknown",
    /^No agent runtime is called "nope" /,
  ],
  [
    "a runtime that fails when it is asked about the model",
    { requested: "broken", harnesses: [embedded, unaskable] },
    "runtime_unsupported",
    /^The runtime "broken" cannot run openai\/gpt-5\.5: The runtime broken could not be asked: no disk\. Choose another/,
  ],
  [
    "Codex's login with embedded, by the ref",
    { ref: "openai-codex/gpt-5.5", requested: "pi" },
    "runtime_unsupported",
    /^The login of openai-codex\/gpt-5\.5 belongs to Codex, so the runtime "embedded" .*: use the runtime codex, or an API key \(OPENAI_API_KEY\)\.$/,
  ],
  [
    "Codex's login with embedded, by a profile",
    {
      keyless: true,
      requested: "embedded",
      config: { auth: { profiles: { "openai-codex:default": { provider: "openai-codex", mode: "oauth" } } } },
    },
    "runtime_unsupported",
    /belongs to Codex/,
  ],
  [
    "Codex's own login with embedded",
    {
      keyless: true,
      requested: "embedded",
      harnesses: [embedded, codexWith({ claims: true }, { supported: true, login: "own" })],
    },
    "runtime_unsupported",
    /belongs to Codex/,
  ],
  ["no key at all", { keyless: true, requested: "embedded" }, "credential_missing", /no key/],
  [
    "no key for another provider",
    { keyless: true, ref: "anthropic/claude-x" },
    "credential_missing",
    /no key/,
  ],
];

describe("the runtime of a model", () => {
  for (const [what, setting, runtime, rule, source] of CHOSEN) {
    it(`is chosen by ${what}`, () => {
      const choice = selectRuntime(inputOf(setting));
      assert.deepEqual([choice.harness.id, choice.rule, choice.source], [runtime, rule, source]);
      assert.equal(choice.why, undefined);
    });
  }

  for (const [what, config] of PINS) {
    it(`is not pinned by ${what}`, () => {
      assert.equal(selectRuntime(inputOf({ config })).source, "claimed by codex");
    });
  }

  for (const [what, setting, code, message] of REFUSED) {
    it(`is refused for ${what}`, () => {
      assert.throws(() => selectRuntime(inputOf(setting)), { code, message });
    });
  }

  it("is embedded for openai when Codex cannot be used, with the reason", () => {
    const choice = selectRuntime(inputOf({ harnesses: [embedded, absentCodex] }));
    assert.deepEqual([choice.harness.id, choice.rule, choice.why], ["embedded", "compatibility", NOT_FOUND]);
    const off = inputOf({
      harnesses: [embedded],
      config: { plugins: { entries: { codex: { enabled: false } } } },
    });
    assert.match(selectRuntime(off).why ?? "", /"codex" is turned off \(plugins\.entries\.codex\.enabled/);
    const denied = inputOf({ harnesses: [embedded], config: { plugins: { deny: ["codex"] } } });
    assert.match(selectRuntime(denied).why ?? "", /"codex" is turned off \(plugins\.deny names codex\)\.$/);
    const other = inputOf({ harnesses: [embedded, absentCodex], ref: "google/gemini-2.5-pro" });
    assert.equal(selectRuntime(other).why, undefined);
  });

  it("needs no key of the host when the runtime signs in by itself", () => {
    const own = codexWith({ claims: true }, { supported: true, login: "own" });
    const choice = selectRuntime(inputOf({ keyless: true, harnesses: [embedded, own] }));
    assert.equal(choice.harness.id, "codex");
  });

  it("is another one when a claim fails or is for a model that its runtime does not support", () => {
    const broken = harness("broken", {
      claims: () => {
        throw new Error("no disk");
      },
    });
    const hasty = harness("hasty", {
      claims: () => ({ claims: true }),
      supports: () => ({ supported: false, reason: "It has no such model." }),
    });
    const choice = selectRuntime(inputOf({ ref: "vllm/m", harnesses: [broken, hasty, wasm, embedded] }));
    assert.equal(choice.harness.id, "wasm");
    const unasked = selectRuntime(inputOf({ ref: "vllm/m", harnesses: [unaskable, wasm, embedded] }));
    assert.equal(unasked.harness.id, "wasm");
    const none = selectRuntime(inputOf({ ref: "vllm/m", harnesses: [broken, hasty, embedded] }));
    assert.equal(none.why, "The runtime broken could not be asked: no disk. It has no such model.");
  });

  it("has a trace that names every rule once, in order, with its result", () => {
    const config = {
      ...defaults({ "openai/*": use("auto"), "openai/gpt-5.5": { thinking: "high" } }),
      models: { providers: { openai: { agentRuntime: { id: "embedded" } } } },
    };
    const { steps, choice } = traceSelection(inputOf({ config, harnesses: [embedded, absentCodex, wasm] }));
    assert.equal(choice?.harness.id, "embedded");
    assert.deepEqual(
      steps.map(({ rule, outcome, detail }) => [rule, outcome, ...(detail === undefined ? [] : [detail])]),
      [
        ["run", "absent"],
        ["default-model", "absent"],
        ["provider-model", "absent"],
        ["default-wildcard", "auto", "auto"],
        ["provider", "unasked", "embedded"],
        ["claim", "declined", NOT_FOUND],
        ["claim", "declined", "not one of its models"],
        ["compatibility", "chosen", "embedded"],
      ],
    );
  });
});
