import assert from "node:assert/strict";
import { lstatSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import {
  parseValueText,
  rememberPermission,
  setConfigValue,
  unsetConfigValue,
} from "../../packages/core/src/config/edit.ts";
import { parseKeyPath } from "../../packages/core/src/config/key-path.ts";
import { loadConfig } from "../../packages/core/src/config/load-config.ts";
import { TextPositions } from "../../packages/core/src/config/position.ts";

const root = mkdtempSync(join(tmpdir(), "pagurus-edit-"));
after(() => rmSync(root, { recursive: true, force: true }));

let files = 0;
function fileWith(text?: string): string {
  files += 1;
  const file = join(root, `home-${files}`, "pagurus.json");
  if (text !== undefined) {
    setConfigValue(file, ["logging", "level"], "info");
    writeFileSync(file, text);
  }
  return file;
}

const COMMENTED = `// mine
{
  agents: {
    // all agents
    defaults: {
      model: 'openai/gpt-5.5', // the good one
      maxSteps: 10 // enough
      /* the end */
    },
  },
}
`;

describe("changing the configuration file", () => {
  it("creates the file and its folder, private to the user, with the engine in use before", () => {
    const file = fileWith();
    setConfigValue(file, parseKeyPath('agents.defaults.models["openai/gpt-5.5"].agentRuntime.id'), "codex");
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(
      readFileSync(file, "utf8"),
      `{
  "plugins": {
    "slots": {
      "contextEngine": "lossless"
    }
  },
  "agents": {
    "defaults": {
      "models": {
        "openai/gpt-5.5": {
          "agentRuntime": {
            "id": "codex"
          }
        }
      }
    }
  }
}
`,
    );
  });

  it("removes nothing where there is no file, and makes none", () => {
    const file = fileWith();
    assert.throws(() => unsetConfigValue(file, ["plugins", "slots", "contextEngine"]), {
      code: "config_key_unknown",
    });
    assert.equal(lstatSync(file, { throwIfNoEntry: false }), undefined);
  });

  it("changes no character but those of the value", () => {
    const file = fileWith(COMMENTED);
    setConfigValue(file, ["agents", "defaults", "model"], "anthropic/claude");
    assert.equal(readFileSync(file, "utf8"), COMMENTED.replace("'openai/gpt-5.5'", '"anthropic/claude"'));
  });

  it("adds in the style of the place, after the comments there", () => {
    const file = fileWith(COMMENTED);
    setConfigValue(file, ["agents", "defaults", "permission", "mode"], "auto");
    assert.equal(
      readFileSync(file, "utf8"),
      COMMENTED.replace("maxSteps: 10 //", "maxSteps: 10, //").replace(
        "/* the end */\n",
        '/* the end */\n      permission: {\n        mode: "auto"\n      }\n',
      ),
    );
  });

  it("removes a value with its line and leaves the comments", () => {
    const file = fileWith(COMMENTED);
    unsetConfigValue(file, ["agents", "defaults", "maxSteps"]);
    assert.equal(
      readFileSync(file, "utf8"),
      COMMENTED.replace("      maxSteps: 10 // enough\n", "      // enough\n").replace(
        "'openai/gpt-5.5',",
        "'openai/gpt-5.5'",
      ),
    );
    unsetConfigValue(file, ["agents", "defaults", "model"]);
    assert.deepEqual(loadConfig({ home: join(file, "..") }).config, { agents: { defaults: {} } });
  });

  it("keeps plain JSON plain", () => {
    const file = fileWith('{"agents":{"defaults":{"model":"a/b"}}}');
    setConfigValue(file, ["agents", "list", 0], { id: "work" });
    setConfigValue(file, ["agents", "list", 1, "id"], "home");
    unsetConfigValue(file, ["agents", "defaults", "model"]);
    assert.equal(
      readFileSync(file, "utf8"),
      '{"agents":{"defaults":{},"list":[{"id":"work"},{"id":"home"}]}}',
    );
  });

  it("takes bare keys that are reserved words, and leaves them bare", () => {
    const file = fileWith("{ agents: { list: [{ id: 'main', default: true /* in */ }] } }");
    setConfigValue(file, ["agents", "list", 0, "model"], "a/b");
    assert.equal(
      readFileSync(file, "utf8"),
      `{ agents: { list: [{ id: 'main', default: true, /* in */ model: "a/b" }] } }`,
    );
  });

  it("changes and renames only the target among reserved words and astral characters", () => {
    const text = "{ '🦀': 1, new: { if: 2 }, logging: { default: 3, level: 'info' }, class: 4 }";
    const file = fileWith(text);
    setConfigValue(file, ["logging", "level"], "warn");
    setConfigValue(file, ["new", "if"], 5);
    unsetConfigValue(file, ["logging", "default"]);
    unsetConfigValue(file, ["class"]);
    assert.equal(readFileSync(file, "utf8"), `{ '🦀': 1, new: { if: 5 }, logging: { level: "warn" } }`);
    const positions = new TextPositions(text, file);
    assert.deepEqual(positions.of(["logging", "level"]), { line: 1, column: text.indexOf("level") });
    assert.deepEqual(positions.of(["class"]), { line: 1, column: text.indexOf("class") });
  });

  it("keeps a linked file where it is", () => {
    const target = fileWith("{}");
    const link = join(root, "linked.json");
    symlinkSync(target, link);
    setConfigValue(link, ["logging", "level"], "debug");
    assert.ok(lstatSync(link).isSymbolicLink());
    assert.match(readFileSync(target, "utf8"), /"debug"/);
  });

  it("refuses a change that adds a problem and leaves the file unchanged", () => {
    const file = fileWith(COMMENTED);
    assert.throws(() => setConfigValue(file, ["agents", "defaults", "maxSteps"], "many"), {
      code: "config_invalid",
      message: /agents\.defaults\.maxSteps must be a number, but is a string; .* is unchanged/,
    });
    assert.equal(readFileSync(file, "utf8"), COMMENTED);
  });

  it("lets earlier problems be fixed one by one", () => {
    const file = fileWith('{"agents":{"defaults":{"maxSteps":"many","model":7}}}');
    setConfigValue(file, ["agents", "defaults", "maxSteps"], 3);
    unsetConfigValue(file, ["agents", "defaults", "model"]);
    assert.deepEqual(loadConfig({ home: join(file, "..") }).config, {
      agents: { defaults: { maxSteps: 3 } },
    });
  });

  it("warns about an unknown key and keeps it", () => {
    const file = fileWith("{}");
    assert.deepEqual(setConfigValue(file, ["agents", "deflauts"], 1).warnings, [
      "agents.deflauts is not a known key; it is not used. Did you mean defaults?",
    ]);
  });

  it("reports why a path cannot be reached", () => {
    const file = fileWith('{"agents":{"defaults":{"model":"a/b"},"list":[{"id":"x"}]}, "a": 1, "a": 2}');
    const set =
      (path: string, value: unknown = 1) =>
      () =>
        setConfigValue(file, parseKeyPath(path), value);
    assert.throws(set("agents.defaults.model.primary"), {
      code: "usage_invalid",
      message: /holds a single value/,
    });
    assert.throws(set("agents.list[5].id"), { code: "usage_invalid", message: /is a list of 1/ });
    assert.throws(set("agents.list.name"), { code: "usage_invalid", message: /is a list of 1/ });
    assert.throws(set("agents.other[3]"), { code: "usage_invalid", message: /start it with \[0\]/ });
    assert.throws(set("a"), { code: "config_invalid", message: /occurs twice/ });
    for (const path of ["agents.defaults.nope", "agents.nope.nope", "agents.list[1]"]) {
      assert.throws(() => unsetConfigValue(file, parseKeyPath(path)), { code: "config_key_unknown" });
    }
  });
});

describe("remembered permissions", () => {
  it("join the allowed ones once", () => {
    const file = fileWith(COMMENTED);
    const rule = { tool: "shell", match: "npm test", cwd: "/src" };
    assert.equal(rememberPermission(file, rule), true);
    assert.equal(rememberPermission(file, { ...rule }), false);
    assert.equal(rememberPermission(file, { tool: "shell", match: "git log *" }), true);
    const { config } = loadConfig({ home: join(file, "..") });
    assert.deepEqual(config.agents?.defaults?.permission?.allow, [
      rule,
      { tool: "shell", match: "git log *" },
    ]);
    for (const comment of ["// mine", "// all agents", "// the good one", "// enough", "/* the end */"]) {
      assert.ok(readFileSync(file, "utf8").includes(comment));
    }
  });

  it("create a missing file", () => {
    const file = fileWith();
    assert.equal(rememberPermission(file, { tool: "read" }), true);
    assert.deepEqual(loadConfig({ home: join(file, "..") }).config, {
      plugins: { slots: { contextEngine: "lossless" } },
      agents: { defaults: { permission: { allow: [{ tool: "read" }] } } },
    });
  });
});

describe("values as typed", () => {
  it("are JSON5, else the text itself", () => {
    assert.equal(parseValueText("openai/gpt-5.5"), "openai/gpt-5.5");
    assert.equal(parseValueText("12"), 12);
    assert.equal(parseValueText("'12'"), "12");
    assert.equal(parseValueText("true"), true);
    assert.equal(parseValueText(""), "");
    assert.equal(parseValueText("${KEY}"), "${KEY}");
    assert.deepEqual(parseValueText("{primary: 'a/b',}"), { primary: "a/b" });
  });
});

describe("key paths", () => {
  it("read dots, indexes and quoted keys", () => {
    assert.deepEqual(parseKeyPath(`agents.list[0]["a.b"]['c"d'].e/f-g`), [
      "agents",
      "list",
      0,
      "a.b",
      'c"d',
      "e/f-g",
    ]);
    assert.deepEqual(parseKeyPath('a.["b"]'), ["a", "b"]);
  });

  it("name the place that cannot be read", () => {
    for (const [text, place] of [
      ["", 1],
      ["a..b", 2],
      ["a[", 2],
      ["a[x]", 2],
      ["a.__proto__.b", 2],
      [".a b", 3],
      ["a.", 2],
    ] as const) {
      assert.throws(
        () => parseKeyPath(text),
        { code: "usage_invalid", details: { path: text, position: place } },
        text,
      );
    }
  });
});

it("a value with line separators leaves a file with comments readable", () => {
  const file = fileWith(COMMENTED);
  setConfigValue(file, ["logging", "level"], "in\u2028fo\u2029");
  setConfigValue(file, ["agents", "defaults", "workspace"], "here");
  assert.match(readFileSync(file, "utf8"), /"in\\u2028fo\\u2029"/);
});
