import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { untrustedFolder } from "../../../packages/runtimes/src/acp/agents/folder-rule.ts";
import type { FolderAccess } from "../../../packages/runtimes/src/acp/agents/known-agent.ts";
import { knownAgent, unknownAgentFolder } from "../../../packages/runtimes/src/acp/agents/known-agents.ts";

describe("an agent in a folder that is not trusted", () => {
  let home: string;
  let cwd: string;
  beforeEach(() => {
    home = realpathSync.native(mkdtempSync(join(tmpdir(), "pagurus-untrusted-")));
    cwd = join(home, "cloned", "src");
    mkdirSync(cwd, { recursive: true });
    write("cloned/.git/HEAD", "ref: refs/heads/main\n");
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  function write(name: string, text = ""): void {
    mkdirSync(dirname(join(home, name)), { recursive: true });
    writeFileSync(join(home, name), text);
  }

  function access(id: string): FolderAccess | undefined {
    const agent = knownAgent(id);
    assert.ok(agent, id);
    return untrustedFolder(agent, { cwd, env: { HOME: home }, files: join(home, "files") });
  }

  it("is as ever where the folder has no files of it, whatever the user's home has", () => {
    for (const id of ["claude", "codex", "gemini", "qwen", "opencode", "copilot", "pi", "droid"]) {
      for (const name of [".claude/x", ".codex/x", ".qwen/x", ".opencode/x", ".factory/x", ".env"])
        write(name);
      assert.equal(access(id), undefined, id);
    }
  });

  it("gets what leaves the folder's files out, also those of the repository's root", () => {
    for (const name of [".claude/settings.json", ".qwen/settings.json", "opencode.json"])
      write(`cloned/${name}`);
    assert.deepEqual(access("claude")?.meta, { claudeCode: { options: { settingSources: ["user"] } } });
    assert.deepEqual(access("opencode")?.env, { OPENCODE_DISABLE_PROJECT_CONFIG: "1" });
    const file = access("qwen")?.env["QWEN_CODE_SYSTEM_SETTINGS_PATH"] ?? "";
    assert.match(readFileSync(file, "utf8"), /"folderTrust":\{"enabled":true\}/);
  });

  for (const name of [
    ".opencode/plugin/x.js",
    "opencode.json",
    ".qwen/settings.json",
    ".mcp.json",
    ".pi/x",
    ".mine/x",
  ])
    it(`is refused with ${name} where nothing is known of the agent`, () => {
      const agent = { label: 'The ACP agent "mine"', folder: unknownAgentFolder(["mine", "some-agent"]) };
      const place = { cwd, env: { HOME: home }, files: join(home, "files") };
      assert.equal(untrustedFolder(agent, place), undefined);
      write(`cloned/${name}`);
      assert.throws(
        () => untrustedFolder(agent, place),
        /The ACP agent "mine" would start from .*pagurus trust add/,
      );
    });

  for (const [id, name, text] of [
    ["codex", ".codex/config.toml", ""],
    ["opencode", ".opencode/plugin/x.js", ""],
    ["opencode", "opencode.json", '{"plugin": ["./x.js"]}'],
    ["opencode", "opencode.jsonc", '{"\\u0070lugin": ["./x.js"]}'],
    ["copilot", ".github/hooks/x.json", ""],
    ["droid", ".factory/mcp.json", ""],
  ] as const)
    it(`is refused where nothing keeps ${id} from ${name} (${text || "any text"})`, () => {
      write(`cloned/${name}`, text);
      assert.throws(() => access(id), /of this folder, which you do not trust.*pagurus trust add/);
    });
});
