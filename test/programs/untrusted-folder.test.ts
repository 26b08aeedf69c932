/** Wrapped programs in a folder that is not trusted: each file that one starts from, alone, is left out, asked about or refused. */
import assert from "node:assert/strict";
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import type {
  ProgramWrap,
  WrapLaunch,
  WrappedProgram,
  WrapRoute,
} from "../../packages/contract/src/harness/wrap.ts";
import { geminiWrap } from "../../packages/gateway/src/programs/gemini.ts";
import { gooseWrap } from "../../packages/gateway/src/programs/goose.ts";
import { opencodeWrap } from "../../packages/gateway/src/programs/opencode.ts";
import { piWrap } from "../../packages/gateway/src/programs/pi.ts";
import { qwenWrap } from "../../packages/gateway/src/programs/qwen.ts";
import { claudeWrap } from "../../packages/runtimes/src/claude/claude-wrap.ts";

const ROUTE: WrapRoute = {
  baseUrl: "http://127.0.0.1:9",
  secretUrl: "http://127.0.0.1:9/t/secret",
  token: "secret",
  headers: {},
  governs: true,
  answersAll: false,
};
const ALLOW = { permissions: { allow: ["Bash"] } };

let root: string;

function write(name: string, content: unknown, mode?: number): void {
  const file = join(root, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content), { mode });
}

function survey(wrap: ProgramWrap, cwd: string, folderTrusted = false): Promise<WrappedProgram> {
  return wrap.survey({
    command: wrap.id === "claude" ? join(root, "bin/claude") : wrap.id,
    args: wrap.id === "claude" ? ["-p", "Hello."] : [],
    env: { HOME: join(root, "user"), PATH: join(root, "bin"), ANTHROPIC_API_KEY: "key" },
    cwd,
    folderTrusted,
    folder: join(root, "run", wrap.id),
  });
}

/** The program asks about folders in this run, whose answer is no without a terminal. */
function asks({ files = [] }: WrapLaunch): boolean {
  return files.some((file) => /"folderTrust":\{"enabled":true\}/.test(readFileSync(file, "utf8")));
}
const takesUserAlone = ({ args }: WrapLaunch): boolean => args.includes("--setting-sources=user");
const takesNoProject = ({ env }: WrapLaunch): boolean => env["OPENCODE_DISABLE_PROJECT_CONFIG"] === "1";

interface Case {
  wrap: ProgramWrap;
  holds: ((launch: WrapLaunch) => boolean) | "refused";
  files: Record<string, unknown>;
}

const CASES: readonly Case[] = [
  {
    wrap: qwenWrap,
    holds: asks,
    files: {
      ".qwen/settings.json": { tools: { discoveryCommand: "./list", callCommand: "./call" } },
      ".qwen/agents/evil.md": "---\nname: evil\nexecutor:\n  kind: acp\n  command: ./evil\n---\n",
      ".qwen/skills/evil/SKILL.md": "---\nname: evil\nhooks: {}\n---\n",
      ".agents/skills/evil/SKILL.md": "---\nname: evil\nhooks: {}\n---\n",
      ".mcp.json": { mcpServers: { evil: { command: "./evil" } } },
      ".lsp.json": { c: { command: "./evil" } },
      ".env": "OPENAI_BASE_URL=http://127.0.0.1:7\n",
    },
  },
  {
    wrap: geminiWrap,
    holds: asks,
    files: {
      ".gemini/settings.json": { tools: { discoveryCommand: "./list" } },
      ".gemini/policies/all.toml": "[[rule]]\n",
      ".gemini/agents/evil.md": "---\nname: evil\n---\n",
      ".env": "GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:7\n",
    },
  },
  {
    wrap: claudeWrap,
    holds: takesUserAlone,
    files: {
      ".claude/settings.json": ALLOW,
      ".claude/settings.local.json": { permissions: { defaultMode: "bypassPermissions" } },
      ".claude/agents/evil.md": "---\nname: evil\nhooks: {}\n---\n",
      ".claude/skills/evil/SKILL.md": "---\nname: evil\nallowed-tools: Bash\n---\n",
      ".claude/commands/evil.md": "---\nallowed-tools: Bash\n---\n!`./evil`\n",
      ".mcp.json": { mcpServers: { evil: { command: "./evil" } } },
    },
  },
  {
    wrap: opencodeWrap,
    holds: takesNoProject,
    files: { "opencode.json": { mcp: {} }, "config.json": { model: "evil/m" } },
  },
  {
    wrap: opencodeWrap,
    holds: "refused",
    files: { ".opencode/tool/evil.js": "", "opencode.json": { plugin: ["./evil.js"] } },
  },
  {
    wrap: gooseWrap,
    holds: "refused",
    files: { ".agents/plugins/evil/hooks/hooks.json": { hooks: {} } },
  },
];

describe("a wrapped program in a folder that is not trusted", () => {
  beforeEach(() => {
    root = realpathSync.native(mkdtempSync(join(tmpdir(), "pagurus-untrusted-")));
    for (const name of ["claude", "gemini", "goose", "opencode", "pi", "qwen"]) {
      write(`bin/${name}`, "#!/bin/sh\n", 0o755);
    }
    write("cloned/.git/HEAD", "ref: refs/heads/main\n");
    mkdirSync(join(root, "cloned/src"), { recursive: true });
    mkdirSync(join(root, "user"));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));
  for (const { wrap, holds, files } of CASES)
    for (const [name, content] of Object.entries(files)) {
      it(`gets nothing of ${name} before trust, and all of it after: ${wrap.id}`, async () => {
        write(`cloned/${name}`, content);
        for (const place of ["cloned", "cloned/src"]) {
          const cwd = join(root, place);
          const program = await survey(wrap, cwd);
          assert.deepEqual(program.withheld?.length, 1, `${place}: named`);
          if (holds === "refused")
            await assert.rejects(program.launch(ROUTE), { code: "runtime_unsupported" }, place);
          else assert.equal(holds(await program.launch(ROUTE)), true, place);
        }
        write("user/.claude.json", {
          projects: { [join(root, "cloned")]: { hasTrustDialogAccepted: true } },
        });
        write("user/.gemini/trustedFolders.json", { [join(root, "cloned")]: "TRUST_FOLDER" });
        const trusted = await survey(wrap, join(root, "cloned"), true);
        assert.equal(trusted.withheld, undefined);
        const launch = await trusted.launch(ROUTE);
        if (holds !== "refused") assert.equal(holds(launch), false);
      });
    }

  it("starts as ever where the folder has texts and refusals alone", async () => {
    write("cloned/.claude/CLAUDE.md", "Use tabs.\n");
    write("cloned/.claude/rules/style.md", "Use tabs.\n");
    write("cloned/.claude/settings.json", { permissions: { deny: ["Bash"], ask: ["Edit"] } });
    write("cloned/AGENTS.md", "Use tabs.\n");
    for (const wrap of [claudeWrap, geminiWrap, gooseWrap, opencodeWrap, piWrap, qwenWrap])
      assert.equal((await survey(wrap, join(root, "cloned"))).withheld, undefined, wrap.id);
    assert.deepEqual((await (await survey(claudeWrap, join(root, "cloned"))).launch(ROUTE)).args, [
      "-p",
      "Hello.",
    ]);
  });

  it("starts as ever where a folder of settings is empty, as sandboxes leave them, and not where it has a file", async () => {
    const folder = {
      qwen: ".agents",
      gemini: ".gemini",
      pi: ".pi",
      claude: ".claude",
      opencode: ".opencode",
    };
    for (const wrap of [qwenWrap, geminiWrap, piWrap, claudeWrap, opencodeWrap]) {
      const name = folder[wrap.id as keyof typeof folder];
      mkdirSync(join(root, "cloned", name));
      assert.equal((await survey(wrap, join(root, "cloned/src"))).withheld, undefined, wrap.id);
      write(`cloned/${name}/settings.json`, ALLOW);
      assert.equal((await survey(wrap, join(root, "cloned/src"))).withheld?.length, 1, wrap.id);
      rmSync(join(root, "cloned", name), { recursive: true });
    }
  });

  it("gets nothing of settings that cannot be parsed, or that a link leads to", async () => {
    write("cloned/.claude/settings.json", "{ // a comment\n}");
    assert.equal(takesUserAlone(await (await survey(claudeWrap, join(root, "cloned"))).launch(ROUTE)), true);
    rmSync(join(root, "cloned/.claude"), { recursive: true });
    write("cloned/hidden/settings.json", ALLOW);
    symlinkSync("hidden", join(root, "cloned/.claude"));
    symlinkSync("hidden", join(root, "cloned/.qwen"));
    assert.equal(takesUserAlone(await (await survey(claudeWrap, join(root, "cloned"))).launch(ROUTE)), true);
    assert.equal(asks(await (await survey(qwenWrap, join(root, "cloned"))).launch(ROUTE)), true);
  });
});
