import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { defaultConfig } from "../../packages/core/src/config/defaults.ts";
import { configFromValue, getConfigValue, loadConfig } from "../../packages/core/src/config/load-config.ts";
import { PagurusError } from "../../packages/contract/src/errors.ts";

const root = mkdtempSync(join(tmpdir(), "pagurus-config-"));
after(() => rmSync(root, { recursive: true, force: true }));

let homes = 0;
function homeWith(text?: string): string {
  homes += 1;
  const home = mkdtempSync(join(root, `home-${homes}-`));
  if (text !== undefined) writeFileSync(join(home, "pagurus.json"), text);
  return home;
}

function refused(work: () => unknown): PagurusError {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof PagurusError);
    assert.equal(error.code, "config_invalid");
    return error;
  }
  return assert.fail("nothing was thrown");
}

describe("loading the configuration", () => {
  it("returns the defaults where there is no file", () => {
    const home = homeWith();
    const loaded = loadConfig({ home });
    assert.deepEqual(loaded, {
      config: defaultConfig(),
      file: join(home, "pagurus.json"),
      found: false,
      warnings: [],
      contextEngine: "lossless",
      slotSource: "no-file",
    });
  });

  it("reads comments, trailing commas, bare keys and a byte order mark", () => {
    const home = homeWith(
      "\uFEFF{ // about\n agents: { defaults: { model: 'a/b', maxSteps: 0x10, }, }, /* end */ }",
    );
    const { config, found, warnings } = loadConfig({ home });
    assert.equal(found, true);
    assert.deepEqual(warnings, []);
    assert.deepEqual(config, { agents: { defaults: { model: "a/b", maxSteps: 16 } } });
  });

  it("takes an empty file for an empty configuration", () => {
    assert.deepEqual(loadConfig({ home: homeWith(" \n") }).config, {});
  });

  it("a file without the slot has the same default engine as no file (finding A2)", () => {
    const named = loadConfig({ home: homeWith('{"plugins":{"slots":{"contextEngine":"lossless"}}}') });
    assert.equal(named.contextEngine, "lossless");
    assert.equal(named.slotSource, "config");
    const silent = loadConfig({ home: homeWith('{"plugins":{"slots":{}}}') });
    assert.equal(silent.contextEngine, "lossless");
    assert.equal(silent.slotSource, "unset");
  });

  it("names file, line and column of what is not JSON5", () => {
    const home = homeWith("{\n  a: 1,\n  b: ?,\n}");
    const error = refused(() => loadConfig({ home }));
    assert.match(error.message, /pagurus\.json:3:6 is not valid JSON5/);
    assert.equal(error.details["line"], 3);
    assert.equal(error.details["column"], 6);
  });

  it("refuses a file that is nested too deeply instead of crashing", () => {
    const error = refused(() => loadConfig({ home: homeWith(`{a:${"[".repeat(200_000)}`) }));
    assert.match(error.message, /nested too deeply/);
  });

  it("refuses a file without an object, and one that cannot be read", () => {
    assert.match(
      refused(() => loadConfig({ home: homeWith("[1]") })).message,
      /must be an object, but is a list/,
    );
    const home = homeWith();
    mkdirSync(join(home, "pagurus.json"));
    assert.match(refused(() => loadConfig({ home })).message, /cannot be read \(EISDIR\)/);
  });

  it("puts the first problem into the message and all of them into the details", () => {
    const text = JSON.stringify({
      agents: {
        defaults: { maxSteps: "many", permission: { mode: "yolo" }, timeoutSeconds: 0 },
        list: [{ id: "a b" }, { id: "x" }, { id: "X" }],
      },
      models: { providers: { "my.host": { apiKey: 5, baseUrl: "http//secret@x" } } },
    });
    const error = refused(() => loadConfig({ home: homeWith(text) }));
    assert.match(
      error.message,
      /agents\.defaults\.permission\.mode must be one of .* but is "yolo" \(6 more problems in it\)/,
    );
    assert.deepEqual((error.details["problems"] as string[]).toSorted(), [
      "agents.defaults.maxSteps must be a number, but is a string.",
      'agents.defaults.permission.mode must be one of "read-only", "deny", "ask", "sandbox", "auto", but is "yolo".',
      "agents.defaults.timeoutSeconds must be greater than 0, but is 0.",
      'agents.list[0].id must be 1 to 64 letters, digits, "-" and "_", starting with a letter or digit, but is not.',
      "agents.list[2].id must differ from agents.list[1].id, but is the same.",
      'models.providers["my.host"].apiKey must be a string or an object, but is a number.',
      'models.providers["my.host"].baseUrl must be an http or https URL, but is not.',
    ]);
    assert.doesNotMatch(error.message, /secret/);
  });
});

describe("a configuration of OpenClaw", () => {
  const pasted = JSON.stringify({
    agents: {
      defaults: {
        model: { primary: "openai/gpt-5.5", fallbacks: ["anthropic/claude-opus-4-7"] },
        models: {
          "openai/gpt-5.5": { alias: "gpt", params: {}, agentRuntime: { id: "codex", fallback: "pi" } },
        },
        compaction: { mode: "safeguard", reserveTokensFloor: 20_000, memoryFlush: { enabled: true } },
        thinkingDefault: "low",
      },
      list: [{ id: "main", default: true, tools: { profile: "coding" } }],
    },
    models: {
      mode: "merge",
      providers: {
        local: { api: "ollama", baseUrl: "http://localhost:11434", models: [{ id: "m" }] },
        ref: { apiKey: { source: "env", provider: "default", id: "KEY" } },
        own: { baseUrl: "http://h/v1", models: [{ id: "q", input: ["text", "audio", "image", "video"] }] },
      },
    },
    plugins: {
      slots: { contextEngine: "lossless-claw" },
      entries: { "lossless-claw": { enabled: true, llm: {} } },
    },
    logging: { level: "trace" },
    channels: { whatsapp: { dmPolicy: "pairing" } },
  });

  it("loads with warnings, unknown keys stay, values without a meaning are set aside with the allowed ones (finding D10)", () => {
    const { config, warnings } = loadConfig({ home: homeWith(pasted) });
    assert.equal(warnings.length, 14);
    assert.deepEqual(Object.keys(config), ["agents", "models", "plugins", "logging", "channels"]);
    assert.deepEqual(Object.keys(config.models?.providers ?? {}), ["own"]);
    assert.deepEqual(config.models?.providers?.["own"]?.models, [{ id: "q", input: ["text", "image"] }]);
    assert.deepEqual(config.agents?.defaults?.models?.["openai/gpt-5.5"]?.agentRuntime, { id: "codex" });
    assert.deepEqual(config.logging, {});
    assert.equal(getConfigValue(config, ["agents", "defaults", "thinkingDefault"]), "low");
    assert.deepEqual(config.agents?.defaults?.model, {
      primary: "openai/gpt-5.5",
      fallbacks: ["anthropic/claude-opus-4-7"],
    });
    assert.equal(config.agents?.defaults?.models?.["openai/gpt-5.5"]?.alias, "gpt");
    assert.ok(
      warnings.includes(
        "models.providers.local.api has a value that Pagurus does not know (allowed: openai-responses, openai-completions, anthropic-messages, google-generative-ai); the provider is not used.",
      ),
    );
  });
});

describe("an alias of a model", () => {
  it("is not used where it looks like a model ref", () => {
    const models = { "a/one": { alias: "b/c" }, "a/two": { alias: "two" } };
    const text = JSON.stringify({ agents: { defaults: { models } } });
    const { config, warnings } = loadConfig({ home: homeWith(text) });
    assert.deepEqual(warnings, [
      'agents.defaults.models["a/one"].alias has a value that Pagurus does not know; the alias is not used, since it looks like a model ref.',
    ]);
    assert.deepEqual(config.agents?.defaults?.models, { "a/one": {}, "a/two": { alias: "two" } });
  });
});

describe("the marker of validated files", () => {
  const marker = (home: string): string => join(home, ".config-validated.json");

  it("gives the same answer with and without it, and holds no values", () => {
    const home = homeWith(
      '{ models: { providers: { o: { apiKey: "sk-secret", wrong: 1 }, q: { api: "zz" } } } }',
    );
    const first = loadConfig({ home });
    assert.equal(statSync(marker(home)).mode & 0o777, 0o600);
    assert.doesNotMatch(readFileSync(marker(home), "utf8"), /secret/);
    assert.deepEqual(loadConfig({ home }), first);
    assert.equal(first.warnings.length, 2);
  });

  it("is ignored for another text, and a broken one is replaced", () => {
    const home = homeWith('{"logging":{"level":"info"}}');
    loadConfig({ home });
    writeFileSync(join(home, "pagurus.json"), '{"logging":{"level":7}}');
    refused(() => loadConfig({ home }));
    writeFileSync(join(home, "pagurus.json"), '{"loging":{}}');
    writeFileSync(marker(home), "{");
    assert.equal(loadConfig({ home }).warnings.length, 1);
    assert.equal(
      (JSON.parse(readFileSync(marker(home), "utf8")) as { warnings: unknown[] }).warnings.length,
      1,
    );
  });

  it("is optional where it cannot be written", () => {
    const home = homeWith("{}");
    mkdirSync(join(marker(home), "in-the-way"), { recursive: true });
    assert.deepEqual(loadConfig({ home }).config, {});
  });
});

describe("a configuration of a caller", () => {
  it("is checked like a file and not changed", () => {
    const given = { agents: { defaults: { model: "a/b" } }, models: { providers: { p: { api: "other" } } } };
    const loaded = configFromValue(given, "/nowhere");
    assert.equal(loaded.found, false);
    assert.deepEqual(loaded.config.models?.providers, {});
    assert.deepEqual(Object.keys(given.models.providers), ["p"]);
    assert.match(refused(() => configFromValue(7, "/nowhere")).message, /must be an object, but is a number/);
  });

  it("reports a missing key", () => {
    assert.throws(() => getConfigValue({}, ["agents", "list", 0]), {
      code: "config_key_unknown",
      message: /holds no agents\.list\[0\]/,
    });
  });
});
