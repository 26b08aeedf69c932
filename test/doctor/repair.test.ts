/** `doctor --fix` on the configuration: each file of `configs/` before and after, and every repair by itself. */
import assert from "node:assert/strict";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { legacyFindings } from "../../packages/importers/src/old-keys/findings.ts";
import { repairText } from "../../packages/importers/src/old-keys/legacy-repair.ts";
import { configFromValue } from "../../packages/core/src/config/load-config.ts";
import { parseJson5 } from "../../packages/core/src/config/json5.ts";
import { checkConfigFile } from "../../packages/doctor/src/check-config.ts";
import { repairConfigFile } from "../../packages/doctor/src/config-repair.ts";
import { checkSessionPins } from "../../packages/doctor/src/session-pins.ts";
import { checkStore } from "../../packages/doctor/src/store-check.ts";
import { command } from "../cli/fake-cli.ts";

const CONFIGS = new URL("configs/", import.meta.url);
const root = mkdtempSync(join(tmpdir(), "pagurus-repair-"));
after(() => rmSync(root, { recursive: true, force: true }));

let homes = 0;
function homeWith(text?: string): { home: string; file: string } {
  homes += 1;
  const home = join(root, `home-${homes}`);
  mkdirSync(home, { mode: 0o700 });
  const file = join(home, "pagurus.json");
  if (text !== undefined) writeFileSync(file, text, { mode: 0o600 });
  return { home, file };
}

function read(name: string): string {
  return readFileSync(new URL(name, CONFIGS), "utf8");
}

function comments(text: string): string[] {
  return text.match(/\/\/.*|\/\*.*?\*\//g) ?? [];
}

const NAMES = readdirSync(CONFIGS).filter((name) => name.includes(".before."));

/** Secrets on the changed line, or next to it. */
const SECRETS: [what: string, written: string, atTheEnd?: string][] = [
  ["a key on the line", 'apiKey: "sk-1"'],
  ["a key on the line above", 'apiKey: "sk-1",\n baseUrl: "https://host"'],
  ["with a quote in it", String.raw`apiKey: "a\"sk-1"`],
  ["in single quotes, under a quoted key", String.raw`'apiKey': 'a\'sk-1'`],
  ["over two lines", 'password: "a\\\nsk-1"'],
  ["a reference that goes on", 'apiKey: "${A}sk-1"'],
  ["in a list", 'apiKeys: ["sk-1", "sk-2"]'],
  ["in headers", 'headers: { "X-Own": "sk-1", id: "sk-2" }'],
  ["in an address", 'baseUrl: "https://user:sk-1@host"'],
  ["under a key that says nothing", "pin: 'sk-1'"],
  ["in a comment on the line", '/* sk-1 */ baseUrl: "https://host"'],
  ["in a comment at its end", 'baseUrl: "https://host"', " // sk-1"],
];

describe("doctor --fix", () => {
  it("has files before and after", () => {
    assert.ok(NAMES.length >= 6);
  });

  for (const name of NAMES) {
    const after = name.replace(".before.", ".after.");

    it(`rewrites ${name}, keeps its comments, and does nothing the second time`, async () => {
      const { home, file } = homeWith(read(name));
      const env = { PAGURUS_HOME: home, PATH: "", NO_COLOR: "1" };
      const first = await command(["doctor", "--fix"], { env });
      assert.equal(readFileSync(file, "utf8"), read(after));
      const backups = readdirSync(home).filter((each) => each.includes(".backup-"));
      if (read(name) === read(after)) assert.deepEqual(backups, []);
      else {
        assert.equal(backups.length, 1);
        const backup = join(home, backups[0] ?? "");
        assert.equal(readFileSync(backup, "utf8"), read(name));
        assert.equal(statSync(backup).mode & 0o777, 0o600);
        assert.ok(first.out.indexOf("@@ line ") < first.out.indexOf("was rewritten in"), first.out);
      }
      const modified = statSync(file).mtimeMs;
      const second = await command(["doctor", "--fix"], { env });
      assert.doesNotMatch(second.out, /Rewritten|@@/);
      assert.equal(readFileSync(file, "utf8"), read(after));
      assert.equal(statSync(file).mtimeMs, modified);
      assert.equal(readdirSync(home).filter((each) => each.includes(".backup-")).length, backups.length);
    });

    it(`leaves a good configuration of ${name}`, () => {
      const { repairs } = repairText(read(after), after);
      assert.deepEqual(repairs, []);
      assert.doesNotThrow(() => configFromValue(parseJson5(read(after), after), "/home"));
      for (const comment of comments(read(name))) assert.ok(read(after).includes(comment), comment);
    });
  }

  it("asks for a decision where two runtimes are meant", () => {
    const text = read("undecided.before.json5");
    const [only] = legacyFindings(parseJson5(text, "undecided"));
    assert.equal(only?.edits, undefined);
    assert.match(only?.advice ?? "", /would run in another runtime than now; decide which one is meant/);
    const { home } = homeWith(text);
    const warnings = checkConfigFile(home, {}).filter(({ level }) => level === "warn");
    assert.deepEqual(
      warnings.map(({ place, fix }) => [place?.line, place?.column, fix]),
      [[5, 7, only?.advice]],
    );
  });

  for (const [what, secret, end = ""] of SECRETS) {
    it(`shows no secret: ${what}`, () => {
      const { home } = homeWith(
        `{ models: { providers: { openai: {\n ${secret}, agentRuntime: { id: "codex-cli" },${end}\n} } } }\n`,
      );
      const shown: string[] = [];
      const [finding] = repairConfigFile(home, (diff) => shown.push(...diff));
      assert.deepEqual(finding?.diff, shown);
      assert.ok(shown.some((line) => line.startsWith("+") && line.includes('{ id: "codex" }')));
      assert.ok(shown.some((line) => line.startsWith("-") && line.includes('{ id: "codex-cli" }')));
      assert.doesNotMatch(shown.join("\n"), /sk-[12]/);
    });
  }

  it("shows each changed line under the number that it has", () => {
    const text = `{\n  /* one\n  two */ "note": 'a\\\nb',\n  agents: { defaults: {\n    model: "codex/a",\n  } },\n}\n`;
    const { home } = homeWith(text);
    const shown: string[] = [];
    repairConfigFile(home, (diff) => shown.push(...diff));
    assert.deepEqual(shown.slice(0, 3), [
      "@@ line 6 → 6 @@",
      '-    model: "codex/a",',
      '+    model: "openai/a",',
    ]);
  });

  it("repairs nothing in a file that is not JSON5, and leaves it to the check", () => {
    const { home, file } = homeWith("{ agents: { defaults: { model: 'codex/a' ");
    assert.deepEqual(
      repairConfigFile(home, () => assert.fail("there is nothing to show")),
      [],
    );
    assert.equal(readFileSync(file, "utf8"), "{ agents: { defaults: { model: 'codex/a' ");
    const [error] = checkConfigFile(home, {});
    assert.equal(error?.level, "error");
    assert.equal(error?.place?.line, 1);
    assert.deepEqual(
      repairConfigFile(homeWith().home, () => undefined),
      [],
    );
  });

  it("repairs known settings also where other values are wrong", () => {
    const { home, file } = homeWith('{ agents: { defaults: { maxSteps: 0, model: "codex/a" } } }');
    assert.equal(repairConfigFile(home, () => undefined)[0]?.level, "ok");
    assert.match(readFileSync(file, "utf8"), /maxSteps: 0, model: "openai\/a"/);
  });

  it("does not touch a file that another program writes meanwhile", () => {
    const { home, file } = homeWith('{ agents: { defaults: { model: "codex/a" } } }');
    const [finding] = repairConfigFile(home, () => writeFileSync(file, "{}"));
    assert.equal(finding?.level, "error");
    assert.equal(readFileSync(file, "utf8"), "{}");
  });
});

/** One repair each: subject of the finding, the value before, and the value after. */
const REPAIRS: [what: string, at: string, before: unknown, after: unknown][] = [
  [
    "a whole-agent runtime",
    "agents.defaults.agentRuntime",
    defaults({ agentRuntime: { id: "codex" } }),
    defaults({}),
  ],
  [
    "an embedded harness",
    "agents.defaults.embeddedHarness",
    defaults({ embeddedHarness: { runtime: "auto" } }),
    defaults({}),
  ],
  [
    "a session's harness",
    "agents.defaults.agentHarnessId",
    defaults({ agentHarnessId: "codex" }),
    defaults({}),
  ],
  [
    "a session's override",
    "agents.list[0].agentRuntimeOverride",
    { agents: { list: [{ id: "a", agentRuntimeOverride: "pi" }] } },
    { agents: { list: [{ id: "a" }] } },
  ],
  ...["openai-codex", "codex", "codex-cli"].map((prefix): [string, string, unknown, unknown] => [
    `the ref ${prefix}/…`,
    "agents.defaults.model",
    defaults({ model: `${prefix}/gpt-5.5` }),
    defaults({ model: "openai/gpt-5.5", models: { "openai/gpt-5.5": { agentRuntime: { id: "codex" } } } }),
  ]),
  [
    "the ref claude-cli/…",
    "agents.defaults.model.primary",
    defaults({ model: { primary: "claude-cli/claude-opus-4-7" } }),
    defaults({
      model: { primary: "anthropic/claude-opus-4-7" },
      models: { "anthropic/claude-opus-4-7": { agentRuntime: { id: "claude-cli" } } },
    }),
  ],
  [
    "a ref whose policy is there",
    "agents.defaults.model",
    defaults({ model: "codex/a", models: { "openai/a": { agentRuntime: { id: "codex" } } } }),
    defaults({ model: "openai/a", models: { "openai/a": { agentRuntime: { id: "codex" } } } }),
  ],
  [
    "a ref of a model that runs no turns",
    "agents.defaults.compaction.model",
    defaults({ compaction: { model: "codex/a" } }),
    defaults({ compaction: { model: "openai/a" } }),
  ],
  [
    "a key of models",
    'agents.defaults.models["codex/a"]',
    defaults({ models: { "codex/a": { thinking: "low" } } }),
    defaults({ models: { "openai/a": { thinking: "low", agentRuntime: { id: "codex" } } } }),
  ],
  [
    "a key of models beside today's",
    'agents.defaults.models["codex/a"]',
    defaults({ models: { "codex/a": { thinking: "low" }, "openai/a": { thinking: "high" } } }),
    defaults({ models: { "openai/a": { thinking: "high", agentRuntime: { id: "codex" } } } }),
  ],
  [
    "a wildcard of models, which pins nothing",
    'agents.defaults.models["openai-codex/*"]',
    defaults({ models: { "openai-codex/*": {} } }),
    defaults({ models: { "openai/*": {} } }),
  ],
  [
    "a wildcard of models whose policy is today's",
    'agents.defaults.models["codex/*"]',
    defaults({ models: { "codex/*": { thinking: "low" }, "openai/*": { agentRuntime: { id: "codex" } } } }),
    defaults({ models: { "openai/*": { agentRuntime: { id: "codex" }, thinking: "low" } } }),
  ],
  [
    "a backend that is gone",
    "models.providers.openai.agentRuntime.id",
    { models: { providers: { openai: { agentRuntime: { id: "codex-cli" } } } } },
    { models: { providers: { openai: { agentRuntime: { id: "codex" } } } } },
  ],
  [
    "a fallback of a runtime that was named, which never falls back",
    "models.providers.openai.agentRuntime.fallback",
    { models: { providers: { openai: { agentRuntime: { id: "codex", fallback: "pi" } } } } },
    { models: { providers: { openai: { agentRuntime: { id: "codex" } } } } },
  ],
  [
    "a ref whose policy another one would hide, an auto in capitals with its fallback",
    "agents.list[0].model",
    {
      agents: {
        defaults: { models: { "codex/a": use("Auto", "none") } },
        list: [{ id: "one", model: "codex/a", models: { "openai/*": use("pi") } }],
      },
    },
    {
      agents: {
        defaults: { models: { "openai/a": use("Auto", "none") } },
        list: [
          {
            id: "one",
            model: "openai/a",
            models: { "openai/*": use("pi"), "openai/a": use("Auto", "none") },
          },
        ],
      },
    },
  ],
  [
    "the fallback of an auto in capitals",
    'agents.defaults.models["vllm/*"].agentRuntime.fallback',
    defaults({ models: { "vllm/*": { agentRuntime: { id: "Auto", fallback: "pi" } } } }),
    defaults({ models: { "vllm/*": { agentRuntime: { id: "Auto", fallback: "embedded" } } } }),
  ],
  ...["pi", "openclaw"].map((name): [string, string, unknown, unknown] => [
    `the fallback ${name}`,
    'agents.defaults.models["vllm/*"].agentRuntime.fallback',
    defaults({ models: { "vllm/*": { agentRuntime: { id: "auto", fallback: name } } } }),
    defaults({ models: { "vllm/*": { agentRuntime: { id: "auto", fallback: "embedded" } } } }),
  ]),
];

function use(id: string, fallback?: string): object {
  return { agentRuntime: { id, ...(fallback === undefined ? {} : { fallback }) } };
}

function defaults(value: object): object {
  return { agents: { defaults: value } };
}

describe("the repair of", () => {
  for (const [what, at, before, wanted] of REPAIRS) {
    it(what, () => {
      const findings = legacyFindings(before);
      assert.ok(findings[0]?.what.startsWith(`${at} `), findings[0]?.what);
      const { after } = repairText(JSON.stringify(before, null, 2), "config");
      assert.deepEqual(JSON.parse(after), wanted);
      assert.deepEqual(legacyFindings(JSON.parse(after)), []);
    });
  }

  it("a ref of Codex's login is left to the user, where its runtime could use a key instead, in any spelling", () => {
    for (const id of ["pi", "PI", " Embedded"]) {
      const own = { "openai-codex/a": { agentRuntime: { id } } };
      const before = defaults({ model: "openai-codex/a", models: own });
      assert.deepEqual(repairText(JSON.stringify(before), "config").repairs, []);
    }
  });

  it("an unread wildcard is left to the user, where it would choose a runtime today", () => {
    const before = defaults({ models: { "claude-cli/*": { agentRuntime: { id: "claude-cli" } } } });
    const { after, repairs } = repairText(JSON.stringify(before), "config");
    assert.deepEqual([JSON.parse(after), repairs], [before, []]);
    const [finding] = legacyFindings(before);
    assert.match(finding?.advice ?? "", /^Written as anthropic\/\* a model would run in another runtime/);
    assert.match(finding?.advice ?? "", /pagurus runtimes explain anthropic\/<model>\)\.$/);
  });

  it("the environment is left to the user and reported", () => {
    const findings = checkConfigFile(homeWith().home, { OPENCLAW_AGENT_RUNTIME: "codex" });
    assert.match(findings.at(-1)?.detail ?? "", /OPENCLAW_AGENT_RUNTIME is ignored/);
    assert.equal(checkConfigFile(homeWith().home, { OPENCLAW_AGENT_RUNTIME: "" }).length, 1);
  });

  it("pins in a list of sessions", () => {
    const { home } = homeWith();
    const sessions = join(home, "agents", "main", "sessions");
    mkdirSync(sessions, { recursive: true });
    const list = { main: { sessionId: "1", agentHarnessId: "codex" }, other: { sessionId: "2" } };
    writeFileSync(join(sessions, "sessions.json"), JSON.stringify(list));
    assert.match(checkSessionPins(home, false)[0]?.detail ?? "", /pins 1 sessions/);
    // A symbolic link is kept; an earlier backup is not overwritten.
    const kept = join(home, "kept.json");
    renameSync(join(sessions, "sessions.json"), kept);
    symlinkSync(kept, join(sessions, "sessions.json"));
    writeFileSync(join(sessions, "sessions.json.backup"), "older");
    const [done] = checkSessionPins(home, true);
    assert.equal(done?.level, "ok");
    const [backup = ""] = /[^ ]+\.backup-\w+(?=\.$)/.exec(done?.detail ?? "") ?? [];
    assert.ok(lstatSync(join(sessions, "sessions.json")).isSymbolicLink());
    assert.deepEqual(JSON.parse(readFileSync(kept, "utf8")), {
      main: { sessionId: "1" },
      other: { sessionId: "2" },
    });
    assert.deepEqual(JSON.parse(readFileSync(backup, "utf8")), list);
    assert.equal(readFileSync(join(sessions, "sessions.json.backup"), "utf8"), "older");
    assert.deepEqual(checkSessionPins(home, true), []);
  });

  it("a damaged index, unless another process may be writing to it", () => {
    const { home } = homeWith();
    const folder = join(home, "agents", "main");
    mkdirSync(join(folder, "sessions"), { recursive: true });
    writeFileSync(join(folder, "sessions.db"), "no database ".repeat(500));
    const lock = join(folder, "sessions", "some.lock");
    writeFileSync(lock, "");
    assert.match(checkStore(home, true).at(-1)?.detail ?? "", /is damaged \(.*\)\.$/);
    rmSync(lock);
    assert.match(checkStore(home, true).at(-1)?.detail ?? "", /sessions\.db\.damaged now/);
    assert.deepEqual(readdirSync(folder).toSorted(), ["sessions", "sessions.db.damaged"]);
  });
});

describe("a finding about the configuration", () => {
  it("has its place, with line and column", () => {
    const { home } = homeWith(`// head
{
  agents: {
    defaults: { maxSteps: 0, model: "codex/a" },
    list: [
      { id: "one" },
      { "id": "ONE", agentRuntime: {} },
    ],
  },
  models: { providers: { "my.host": { api: 5 } } }, odd: 1,
}
`);
    const places = checkConfigFile(home, {}).map(({ detail, place }) => [
      detail.split(" ")[0],
      place?.line,
      place?.column,
    ]);
    assert.deepEqual(
      places.toSorted(([a], [b]) => String(a).localeCompare(String(b))),
      [
        ["agents.defaults.maxSteps", 4, 17],
        ["agents.defaults.model", 4, 30],
        ["agents.list[1].agentRuntime", 7, 22],
        ["agents.list[1].id", 7, 9],
        ['models.providers["my.host"].api', 10, 39],
      ],
    );
  });
});
