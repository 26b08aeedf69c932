/** Tests of `migrate openclaw`: conversion of a configuration. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { checkConfig } from "../../../packages/core/src/config/config-problems.ts";
import { setting } from "./migrate-setting.ts";

/** The converted configuration, and the reasons for dropped parts. */
function became(theirs: unknown) {
  const { migrate, written } = setting(theirs);
  const report = migrate();
  const reasons = Object.fromEntries(report.notTaken.map(({ path, why }) => [path, why]));
  const value = report.state === "unchanged" ? {} : (written() as Record<string, unknown>);
  assert.deepEqual(checkConfig(value), { problems: [], warnings: [], ignored: [] });
  return { value, reasons, report };
}

const WHOLE = `{
  // my crab
  meta: { lastTouchedVersion: "2026.9.6" },
  channels: { whatsapp: { accessToken: "123:BOT-SECRET" } }, // not to be copied
  agents: {
    defaults: {
      workspace: "~/work", // where things are
      model: { primary: "openai-codex/gpt-5.5", fallbacks: ["anthropic/x"] },
      thinkingDefault: "xhigh",
      heartbeat: { every: "30m" },
      compaction: { mode: "safeguard", memoryFlush: { enabled: true } },
    },
    list: [{ id: "main", default: true }, { id: "work", workspace: "~/w" }, { name: "without an id" }],
  },
  models: { mode: "merge", providers: {
    // the local one
    local: { api: "openai-completions", baseUrl: "http://127.0.0.1:8000/v1", apiKey: "sk-SECRET", models: [{ id: "m", input: ["text", "audio"], compat: {} }] },
    env: { api: "anthropic-messages", baseUrl: "https://x.example", apiKey: "\${X_KEY}", headers: { "x-a": "b", "x-b": { source: "env", id: "Y" } } },
    ref: { api: "openai-responses", baseUrl: "https://y.example", apiKey: { source: "env", provider: "default", id: "Y_KEY" } },
    vault: { api: "openai-responses", baseUrl: "https://z.example", apiKey: { source: "exec", provider: "v", id: "k" } },
    bedrock: { api: "bedrock-converse-stream" },
  } },
  plugins: {
    slots: { contextEngine: "lossless-claw", memory: "memory-lancedb" },
    load: { paths: ["/plugins/mine"] },
    allow: ["lossless-claw", "mine"],
    entries: {
      // keeps everything
      "lossless-claw": { enabled: true, config: { freshTailMaxTokens: 24000, freshTailCount: 32 } },
      mine: { enabled: true, config: { token: "PLUGIN-SECRET" } },
    },
  },
}
`;

test("a whole configuration keeps known settings with their comments, and reports the rest with a reason", () => {
  const { migrate, file, written, source } = setting(WHOLE);
  const before = readFileSync(source);
  const dry = migrate({ dryRun: true });
  assert.equal(existsSync(file), false);
  const report = migrate();
  assert.deepEqual(report, dry);
  assert.equal(report.state, "made");
  assert.deepEqual(written(), {
    agents: {
      defaults: {
        workspace: "~/work",
        model: { primary: "openai/gpt-5.5", fallbacks: ["anthropic/x"] },
        models: { "openai/gpt-5.5": { agentRuntime: { id: "codex" } } },
        thinking: "high",
        heartbeat: { every: "30m" },
        compaction: { mode: "safeguard" },
      },
      list: [{ id: "main" }, { id: "work", workspace: "~/w" }],
    },
    models: {
      providers: {
        local: {
          api: "openai-completions",
          baseUrl: "http://127.0.0.1:8000/v1",
          apiKey: "sk-SECRET",
          models: [{ id: "m", input: ["text"] }],
        },
        env: {
          api: "anthropic-messages",
          baseUrl: "https://x.example",
          apiKey: "${X_KEY}",
          headers: { "x-a": "b" },
        },
        ref: { api: "openai-responses", baseUrl: "https://y.example", apiKey: "${Y_KEY}" },
        vault: { api: "openai-responses", baseUrl: "https://z.example" },
      },
    },
    plugins: {
      slots: { contextEngine: "lossless" },
      allow: ["mine"],
      entries: {
        lossless: { enabled: true, config: { tailTokens: 24_000 } },
        mine: { enabled: true, config: { token: "PLUGIN-SECRET" } },
      },
    },
  });
  const text = readFileSync(file, "utf8");
  for (const comment of ["// my crab", "// where things are", "// the local one", "// keeps everything"])
    assert.ok(text.includes(comment), comment);
  assert.doesNotMatch(text, /BOT-SECRET/);
  assert.doesNotMatch(JSON.stringify(report), /SECRET/);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const missing = [
    "meta",
    "channels.whatsapp",
    "agents.defaults.compaction.memoryFlush",
    "agents.list[0].default",
    "agents.list[2]",
    "models.mode",
    "models.providers.local.models[0].input[1]",
    "models.providers.local.models[0].compat",
    'models.providers.env.headers["x-b"]',
    "models.providers.vault.apiKey",
    "models.providers.bedrock",
    "plugins.slots.memory",
    "plugins.load.paths[0]",
    "plugins.allow[0]",
    "plugins.entries.lossless-claw.config.freshTailCount",
  ];
  assert.deepEqual(
    report.notTaken.map(({ path }) => path.replace(/\.x-b$/, '["x-b"]')).toSorted(),
    missing.toSorted(),
  );
  assert.ok(report.taken.includes("agents.defaults.model"), report.taken.join("\n"));
  assert.equal(report.mended.length, 1);
  assert.deepEqual(readFileSync(source), before);
});

test("a second run changes nothing and makes no copy", () => {
  const { migrate, home, file } = setting(WHOLE);
  migrate();
  const text = readFileSync(file, "utf8");
  const again = migrate();
  assert.deepEqual([again.state, again.taken, again.conflicts], ["unchanged", [], []]);
  assert.equal(readFileSync(file, "utf8"), text);
  assert.deepEqual(readdirSync(home), ["pagurus.json"]);
});

test("values of pagurus.json are kept and reported, unless overwritten; a backup is kept", () => {
  const ours = `{
  agents: {
    defaults: { model: "openai/gpt-5.5" }, // mine
    list: [{ id: "Work", workspace: "~/mine" }, { id: "third" }],
  },
  plugins: { slots: { contextEngine: "legacy" } },
}
`;
  const { migrate, written, file, home } = setting(WHOLE, ours);
  const dry = migrate({ dryRun: true });
  assert.equal(readFileSync(file, "utf8"), ours);
  const report = migrate();
  assert.deepEqual({ ...report, backup: undefined }, { ...dry, backup: undefined });
  assert.equal(report.state, "merged");
  assert.deepEqual(report.conflicts, [
    { path: "agents.defaults.model", overwritten: false },
    { path: "agents.list[0].workspace", overwritten: false },
    { path: "plugins.slots.contextEngine", overwritten: false },
  ]);
  const value = written() as { agents: { defaults: object; list: object[] }; plugins: { slots: object } };
  assert.deepEqual(value.agents.list, [{ id: "Work", workspace: "~/mine" }, { id: "third" }, { id: "main" }]);
  assert.deepEqual(value.plugins.slots, { contextEngine: "legacy" });
  assert.match(readFileSync(file, "utf8"), /\/\/ mine/);
  assert.equal(readFileSync(report.backup ?? "", "utf8"), ours);
  const over = migrate({ overwrite: true });
  assert.equal(
    over.conflicts.every(({ overwritten }) => overwritten),
    true,
  );
  assert.deepEqual((written() as typeof value).plugins.slots, { contextEngine: "lossless" });
  assert.equal(readdirSync(home).filter((name) => name.includes(".backup-")).length, 2);
});

/** Every key of lossless-claw 0.15 and 1.0, with a value. */
const LOSSLESS_CLAW: Record<string, unknown> = {
  hostFallbackMode: "error",
  contextThreshold: 0.5,
  contextThresholdOverrides: [],
  sweepMaxDepth: 1,
  incrementalMaxDepth: 1,
  freshTailCount: 64,
  freshTailMaxTokens: 24_000,
  promptAwareEviction: false,
  stubLargeToolPayloads: false,
  leafChunkTokens: 20_000,
  summaryPrefixTargetTokens: 9_000,
  maxSweepIterations: 12,
  sweepDeadlineMs: 1,
  compactUntilUnderDeadlineMs: 1,
  bootstrapMaxTokens: 1,
  newSessionRetainDepth: 2,
  leafTargetTokens: 1,
  condensedTargetTokens: 1,
  maxExpandTokens: 1,
  leafMinFanout: 8,
  condensedMinFanout: 4,
  condensedMinFanoutHard: 2,
  dbPath: "/x/lcm.db",
  databasePath: "/x/lcm.db",
  ignoreSessionPatterns: ["agent:*:cron:**"],
  statelessSessionPatterns: ["hook:**"],
  skipStatelessSessions: true,
  largeFileThresholdTokens: 1,
  largeFileTokenThreshold: 1,
  largeFilesDir: "/x",
  summaryModel: "gpt-5-mini",
  summaryProvider: "openai",
  largeFileSummaryModel: "m",
  largeFileSummaryProvider: "p",
  expansionModel: "m",
  expansionProvider: "p",
  delegationTimeoutMs: 1,
  summaryTimeoutMs: 1,
  summaryCallWindowMs: 600_000,
  summaryMaxCallsPerWindow: 24,
  summarySpendBackoffMs: 1,
  maxAssemblyTokenBudget: 100_000,
  summaryMaxOverageFactor: 3,
  fallbackMaxTokens: 512,
  customInstructions: "Be brief.",
  circuitBreakerThreshold: 5,
  circuitBreakerCooldownMs: 1,
  replayFloodThresholdExternal: 3,
  replayFloodThresholdInternal: 32,
  cacheAwareCompaction: { enabled: true },
  dynamicLeafChunkTokens: { enabled: true },
  timezone: "UTC",
  pruneHeartbeatOk: false,
  transcriptGcEnabled: false,
  enableSummaryThinking: true,
  proactiveThresholdCompactionMode: "deferred",
  autoRotateSessionFiles: { enabled: true },
  independentLogFile: { enabled: false },
  fallbackProviders: [],
  stripInjectedContextTags: [],
};

test("every setting of lossless-claw is taken, or has its own reason why not", () => {
  const entries = { "lossless-claw": { enabled: true, config: LOSSLESS_CLAW } };
  const { value, reasons, report } = became({
    plugins: { slots: { contextEngine: "lossless-claw" }, entries },
  });
  assert.deepEqual(value, {
    plugins: {
      slots: { contextEngine: "lossless" },
      entries: {
        lossless: {
          enabled: true,
          config: {
            tailTokens: 24_000,
            headTokens: 9_000,
            ignoreSessions: ["agent:*:cron:**"],
            statelessSessions: ["hook:**"],
            summariesPerHour: 144,
            trigger: 50_000,
          },
        },
      },
    },
    agents: { defaults: { compaction: { model: "openai/gpt-5-mini", customInstructions: "Be brief." } } },
  });
  const reported = [...Object.keys(reasons), ...report.renamed.map(({ path }) => path)].join("\n");
  for (const key of Object.keys(LOSSLESS_CLAW)) {
    if (["summaryProvider", "summaryCallWindowMs"].includes(key)) continue;
    assert.match(reported, new RegExp(`lossless-claw\\.config\\.${key}$`, "m"), key);
    assert.notEqual(
      reasons[`plugins.entries.lossless-claw.config.${key}`],
      "it has no counterpart here",
      key,
    );
  }
});

const CASES: readonly [string, unknown, unknown, RegExp | undefined][] = [
  [
    "a disabled lossless-claw has the engine legacy",
    {
      plugins: {
        slots: { contextEngine: "lossless-claw" },
        entries: { "lossless-claw": { enabled: false } },
      },
    },
    {},
    /disabled there/,
  ],
  [
    "legacy stays legacy",
    { plugins: { slots: { contextEngine: "legacy" } } },
    { plugins: { slots: { contextEngine: "legacy" } } },
    undefined,
  ],
  [
    "another engine has to be installed first",
    { plugins: { slots: { contextEngine: "qmemory" } } },
    {},
    /plugins install/,
  ],
  [
    "the memories that both have stay",
    { plugins: { slots: { memory: "none" } } },
    { plugins: { slots: { memory: "none" } } },
    undefined,
  ],
  [
    "a level of thinking that is not known",
    { agents: { defaults: { thinkingDefault: "adaptive" } } },
    {},
    /no counterpart/,
  ],
  [
    "included files",
    { $include: "./base.json5", logging: { level: "warn", $include: ["./more.json5"] } },
    { logging: { level: "warn" } },
    /not followed.*\n.*not followed/,
  ],
  [
    "a value of a wrong kind",
    { agents: { defaults: { timeoutSeconds: "long", maxSteps: 3 } } },
    { agents: { defaults: { maxSteps: 3 } } },
    /not valid here/,
  ],
  ["sections that are no objects", { agents: 3, models: [], plugins: "x" }, {}, /not valid here/],
  ["a model without a primary", { agents: { defaults: { model: { fallbacks: ["a/b"] } } } }, {}, undefined],
  [
    "fallbacks of agents and aliases of models",
    {
      agents: {
        defaults: {
          model: { primary: "a/b", fallbacks: ["fast", 3, ""], timeoutMs: 5 },
          models: { "a/c": { alias: "fast", params: {} }, "a/d": { alias: "with/slash" }, "a/e": {} },
        },
        list: [{ id: "work", model: { primary: "a/e", fallbacks: [] } }],
      },
    },
    {
      agents: {
        defaults: {
          model: { primary: "a/b", fallbacks: ["fast"] },
          models: { "a/c": { alias: "fast" }, "a/e": {} },
        },
        list: [{ id: "work", model: { primary: "a/e", fallbacks: [] } }],
      },
    },
    /list of model refs or aliases[\s\S]*has no slash here/,
  ],
  ["variables of its own", { env: { vars: { A: "SECRET" } } }, {}, /environment/],
  [
    "a summary model that says its provider itself",
    { plugins: { entries: { "lossless-claw": { config: { summaryModel: "openai/m" } } } } },
    { agents: { defaults: { compaction: { model: "openai/m" } } } },
    undefined,
  ],
  [
    "a summary model beside one of the agent's",
    {
      agents: { defaults: { compaction: { model: "a/b" } } },
      plugins: { entries: { "lossless-claw": { config: { summaryModel: "m", summaryProvider: "p" } } } },
    },
    { agents: { defaults: { compaction: { model: "a/b" } } } },
    /names the model of summaries already/,
  ],
];

const SLOT = { slots: { contextEngine: "lossless-claw" } };

/** Unusual settings, and lists of plugins. */
const ODD_CASES: typeof CASES = [
  ["an entry that is a text", { plugins: { entries: { "lossless-claw": "x" } } }, {}, /not valid here/],
  [
    "settings that are a list",
    { plugins: { entries: { "lossless-claw": { enabled: true, config: [1] } } } },
    { plugins: { entries: { lossless: { enabled: true } } } },
    /not valid here/,
  ],
  [
    "a place for the summaries' model that is no object",
    {
      agents: { defaults: { compaction: "safeguard" } },
      plugins: { entries: { "lossless-claw": { config: { summaryModel: "a/b", customInstructions: "x" } } } },
    },
    {},
    /no place for it/,
  ],
  [
    "a list of what is allowed with lossless-claw alone still keeps all others out",
    { plugins: { ...SLOT, allow: ["lossless-claw"] } },
    { plugins: { slots: { contextEngine: "lossless" }, allow: [] } },
    /always there/,
  ],
  ["an empty list of what is allowed allows all there", { plugins: { allow: [] } }, {}, /every plugin there/],
  [
    "a denied lossless-claw has the engine legacy",
    { plugins: { ...SLOT, deny: ["lossless-claw", "x", "lossless-claw"] } },
    { plugins: { deny: ["x"] } },
    /disabled there/,
  ],
  [
    "plugins that are all off have the engine legacy",
    { plugins: { ...SLOT, enabled: false } },
    {},
    /switched off one by one/,
  ],
  [
    "agents with one id, and one without",
    { agents: { list: ["a", { id: "b", weird: 1 }, { id: "B", workspace: "~/x" }] } },
    { agents: { list: [{ id: "b" }] } },
    /has the same id/,
  ],
];

test("a dropped list item is reported by its place in OpenClaw's file", () => {
  const { reasons } = became({ agents: { list: ["a", { id: "b", weird: 1 }, { id: "B" }] } });
  assert.deepEqual(Object.keys(reasons).toSorted(), [
    "agents.list[0]",
    "agents.list[1].weird",
    "agents.list[2]",
  ]);
});

/** The configuration with the engine that OpenClaw uses without a slot. */
function withEngine(ours: unknown): unknown {
  const { plugins, ...rest } = ours as { plugins?: { slots?: object } };
  return { ...rest, plugins: { ...plugins, slots: { contextEngine: "legacy", ...plugins?.slots } } };
}

for (const [name, theirs, ours, why] of [...CASES, ...ODD_CASES])
  test(`configuration: ${name}`, () => {
    const { value, reasons } = became(theirs);
    assert.deepEqual(value, withEngine(ours));
    if (why) assert.match(Object.values(reasons).join("\n"), why);
  });

test("a migrated configuration without a slot keeps the engine legacy, written and reported (finding A2)", () => {
  const { migrate, written } = setting({ channels: {}, gateway: { port: 1 } });
  const report = migrate();
  assert.deepEqual([report.state, report.taken], ["made", ["plugins.slots.contextEngine"]]);
  assert.deepEqual(written(), { plugins: { slots: { contextEngine: "legacy" } } });
  assert.match(report.notes.join(" "), /The engine there was legacy, so it is written into the slot/);
});

test("an empty configuration creates no file, and an existing one keeps its default engine", () => {
  const empty = setting({});
  assert.deepEqual([empty.migrate().state, existsSync(empty.home)], ["unchanged", false]);
  const merged = setting({ logging: { level: "warn" } }, "{ agents: {} }");
  assert.equal(merged.migrate().state, "merged");
  assert.deepEqual(merged.written(), { agents: {}, logging: { level: "warn" } });
});

test("a file that is not JSON5 is reported with its place, and so is a missing one", () => {
  const torn = setting('{ "channels": { "token": "SECRET" ');
  const { state, problem, notTaken, notes } = torn.migrate();
  assert.deepEqual([state, notTaken, notes], ["failed", [], []]);
  assert.match(problem ?? "", /openclaw\.json:\d+:\d+ is not valid JSON5/);
  assert.doesNotMatch(problem ?? "", /SECRET/);
  assert.equal(existsSync(torn.file), false);
  const latin = setting("{}");
  writeFileSync(
    latin.source,
    Buffer.from('{ agents: { defaults: { workspace: "~/caf\u00e9" } } }', "latin1"),
  );
  assert.match(latin.migrate().problem ?? "", /openclaw\.json is not UTF-8; save it as UTF-8/);
  const list = setting("[]").migrate();
  assert.match(list.problem ?? "", /openclaw\.json holds no object/);
  rmSync(torn.source);
  assert.equal(torn.migrate().state, "absent");
});

test("a broken pagurus.json is unchanged and reported, and no conversion is reported", () => {
  const { migrate, file } = setting(
    { channels: {}, agents: { defaults: { thinkingDefault: "max" } } },
    "{ torn",
  );
  const { state, problem, renamed, notTaken, notes } = migrate();
  assert.deepEqual([state, renamed, notTaken, notes], ["failed", [], [], []]);
  assert.match(problem ?? "", /pagurus\.json/);
  assert.equal(readFileSync(file, "utf8"), "{ torn");
});
