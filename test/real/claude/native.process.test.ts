/** Where no engine governs, Claude Code keeps its session and compacts it itself; refusals before the start. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import type { RunRequest } from "../../../packages/contract/src/host/run.ts";
import { createLegacyEngine } from "../../../packages/host/src/engines/legacy/legacy-engine.ts";
import type { ReplyUsage } from "../../servers/server.ts";
import { ClaudeBench, conversation, type ClaudeHostOptions, type Line } from "./claude-bench.ts";

let bench: ClaudeBench;
let usage: ReplyUsage | undefined;
const hosts: Pagurus[] = [];

before(async () => {
  bench = await ClaudeBench.with((request, index) =>
    isCompaction(request.text)
      ? { text: "<summary>The summary of all.</summary>" }
      : { text: `Answer ${index}.`, ...(usage ? { usage } : {}) },
  );
});

afterEach(() => Promise.all(hosts.splice(0).map((host) => host.close())));

after(async () => {
  await bench.end();
  await bench.nothingLeft();
});

function isCompaction(sent: string): boolean {
  return sent.includes("CRITICAL: Respond with TEXT ONLY");
}

async function host(options: ClaudeHostOptions = {}): Promise<Pagurus> {
  const made = await bench.host({ slot: "legacy", ...options });
  hosts.push(made);
  return made;
}

/** The conversation of the last request, and its native session. */
async function ask(
  pagurus: Pagurus,
  prompt: string,
  more: Partial<RunRequest> = {},
): Promise<{ lines: Line[]; id: unknown; events: TurnEvent[] }> {
  const events = await bench.ask(pagurus, prompt, more);
  const request = bench.request(-1);
  return { events, lines: conversation(request), id: request.headers["x-claude-code-session-id"] };
}

const TAB = { additionalContext: { tab: { value: "The tab is open.", kind: "untrusted" as const } } };
const FRAGMENT = "user: <external_tab>The tab is open.</external_tab>";

describe("A session that Claude Code keeps itself", { timeout: 240_000 }, () => {
  it("continues in other hosts, gets turns of another runtime, and shows additional context once", async () => {
    const sessionKey = "kept";
    const first = await ask(await host(), "One?", { sessionKey, ...TAB });
    assert.deepEqual(first.lines, [FRAGMENT, "user: One?"]);
    const second = await ask(await host(), "Two?", { sessionKey, ...TAB });
    assert.equal(second.id, first.id, "the same native session");
    const between = await ask(await host({ runtime: "embedded" }), "Three?", { sessionKey, ...TAB });
    assert.equal(between.id, undefined);
    const { lines, id } = await ask(await host(), "Four?", { sessionKey, ...TAB });
    assert.equal(id, first.id);
    const prompts = lines.filter((line) => line.startsWith("user: "));
    assert.deepEqual(prompts, [FRAGMENT, "user: One?", "user: Two?", "user: Three?", "user: Four?"]);
    assert.equal(lines.filter((line) => line.startsWith("assistant: Answer")).length, 3);
  });

  it("is compacted by /compact, reported as its own, and shows additional context again", async () => {
    const sessionKey = "compacted";
    const pagurus = await host();
    await ask(pagurus, "One?", { sessionKey, ...TAB });
    const { id } = await ask(pagurus, "Two?", { sessionKey, ...TAB });
    const report = await pagurus.compact({ cwd: bench.cwd, sessionKey });
    assert.ok(report.compacted && (report.tokensBefore ?? 0) > 0);
    const after = await ask(pagurus, "Three?", { sessionKey, ...TAB });
    assert.equal(after.id, id);
    assert.ok(after.lines[0]?.includes("The summary of all."));
    assert.deepEqual(after.lines.slice(-2), [FRAGMENT, "user: Three?"]);
    assert.ok(!after.lines.includes("user: One?"));
  });

  it("leaves no content on disk when the session is deleted, also by another host", async () => {
    const [mine, other] = [await host(), await host()];
    const secret = "Wentletrap?";
    const filesWith = (): string[] => {
      const folder = join(bench.root, "home");
      const names = readdirSync(folder, { recursive: true, withFileTypes: true });
      const files = names
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => join(parentPath, name));
      return files.filter((file) => readFileSync(file).includes(secret));
    };
    await ask(mine, secret, { sessionKey: "deleted" });
    assert.ok(filesWith().some((file) => file.includes("claude")));
    await other.deleteSession({ sessionKey: "deleted" });
    assert.deepEqual(filesWith(), []);
    await mine.close();
    assert.deepEqual(filesWith(), [], "nor when the program of the first host has ended");
  });

  it("compacts itself near its window, which is reported as native", async () => {
    const sessionKey = "full";
    const pagurus = await host();
    usage = { input: 195_000, output: 10 };
    await ask(pagurus, "One?", { sessionKey });
    usage = undefined;
    const { events, lines } = await ask(pagurus, "Two?", { sessionKey });
    const completed = events.flatMap((event) => (event.type === "compaction.completed" ? [event] : []));
    assert.equal(completed.length, 1);
    assert.deepEqual(
      [completed[0]?.lane, completed[0]?.backend, completed[0]?.handledBy],
      ["harness", "claude-cli", "claude-cli"],
    );
    assert.ok(lines[0]?.includes("The summary of all."));
  });
});

describe("A turn that cannot run on Claude Code", { timeout: 240_000 }, () => {
  async function refused(
    options: ClaudeHostOptions,
    request: Partial<RunRequest> = {},
  ): Promise<{ code: string; message: string }> {
    const pagurus = await host(options);
    const from = bench.server.requests.length;
    const events = await bench.turn(pagurus, "Go on.", { sessionKey: "refused", ...request });
    const last = events.at(-1);
    assert.equal(last?.type, "turn.failed", JSON.stringify(last));
    assert.equal(bench.server.requests.length, from, "nothing was asked");
    assert.deepEqual(bench.programs(), [], "nothing was started");
    return last.error;
  }

  it("is refused before anything starts when the engine requires what it cannot do", async () => {
    const legacy = createLegacyEngine();
    const requiredCapabilities = ["wire-rewrite" as "compact"];
    const info = {
      ...legacy.info,
      id: "wants-more",
      hostRequirements: { "agent-run": { requiredCapabilities } },
    };
    const engine: ContextEngine = { ...legacy, info };
    const { code, message } = await refused({ engine });
    assert.equal(code, "host_requirement");
    assert.match(message, /wire-rewrite/);
  });

  it("is refused when the program is missing, and says how to install it", async () => {
    const { code, message } = await refused({ command: join(bench.root, "no-such-program") });
    assert.equal(code, "runtime_unsupported");
    assert.match(message, /no-such-program.*npm install -g @anthropic-ai\/claude-code/);
  });

  it("reports a program that is another one", async () => {
    const { code, message } = await refused({ command: "/bin/cat" });
    assert.equal(code, "runtime_failed");
    assert.match(message, /^Claude Code did not start: .*plugins\.entries\.claude-cli\.config\.command\.$/);
  });
});

describe("Claude Code", () => {
  it("reads and writes nothing of the user's own configuration", () => {
    assert.deepEqual(
      readdirSync(join(bench.root, "user")).filter((name) => name.startsWith(".claude")),
      [],
    );
    assert.ok(existsSync(join(bench.root, "home", "runtimes", "claude")));
  });
});
