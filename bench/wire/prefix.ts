/**
 * `bench wire --only prefix`: 200 turns of each harness, alone with its own compaction and under `pagurus wire` with the engine,
 * in the same window: what a provider's cache would hit of the requests, and what their input would cost.
 */
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { WireApi } from "../../src/contract/wire.ts";
import {
  startServer,
  type ModelServer,
  type RecordedRequest,
  type ReplyStep,
} from "../../test/servers/server.ts";
import { codexBinary } from "../../test/real/codex-binary.ts";
import { claudeBinary } from "../../test/real/programs.ts";
import { withPeer, type BenchOptions, type BenchRow } from "../report.ts";
import { CacheCounter } from "./cache.ts";

const WINDOW = 100_000;
const TURNS = 200;
const QUICK_TURNS = 12;
/** Words of an answer and of each round. */
const WORDS = "The keeper of the quay wrote down which ships had come, and when they were to leave again. ";
/** As long as summaries of either side may get, so that neither is the cheaper for it. */
const SUMMARY = `## Goal\n- The berths are looked after.\n${`- ${WORDS}\n`.repeat(30)}`;
const PEER = "harness alone";

interface Place {
  root: string;
  cwd: string;
  home: string;
  env: Record<string, string>;
}

/** A harness in one of the two arms. */
interface Arm {
  /** Runs the prompts, one turn each. */
  run(place: Place, server: ModelServer, prompts: readonly string[], wrapped: boolean): Promise<void>;
  api: WireApi;
  isCompaction(request: RecordedRequest): boolean;
  isMain(request: RecordedRequest): boolean;
  call(id: string, words: string): { id: string; name: string; arguments: Record<string, unknown> };
}

function words(times: number): string {
  return WORDS.repeat(times);
}

function makePlace(): Place {
  const root = mkdtempSync(join(tmpdir(), "pagurus-prefix-"));
  for (const name of ["work", "user", "codex", "claude"]) mkdirSync(join(root, name));
  return {
    root,
    cwd: join(root, "work"),
    home: join(root, "home"),
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: join(root, "user"),
      PAGURUS_HOME: join(root, "home"),
      PAGURUS_NO_PROBE: "1",
    },
  };
}

const MAIN = join(import.meta.dirname, "../../src/cli/main.ts");

/** The command of an arm: the program, or ours in front of it. */
function command(program: string, args: readonly string[], wrapped: boolean): [string, string[]] {
  if (!wrapped) return [program, [...args]];
  const ours = [
    MAIN,
    "wire",
    "--session",
    "bench",
    "--context-window",
    String(WINDOW),
    "--",
    program,
    ...args,
  ];
  return [process.execPath, ours];
}

function start(
  [program, args]: [string, string[]],
  { cwd, env }: Place,
  more: Record<string, string>,
): ChildProcessWithoutNullStreams {
  const child = spawn(program, args, { cwd, env: { ...env, ...more }, stdio: ["pipe", "pipe", "pipe"] });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-1_000);
  });
  child.on("close", (code) => {
    if (code !== 0) process.stderr.write(`${said}\n`);
  });
  return child;
}

async function ended(child: ChildProcessWithoutNullStreams, what: string): Promise<void> {
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`${what} ended with ${code}.`);
}

/** One program for all turns, told one after the other. */
const CLAUDE: Arm = {
  api: "anthropic-messages",
  isCompaction: ({ text }) => text.includes("CRITICAL: Respond with TEXT ONLY"),
  isMain: ({ headers, body }) =>
    headers["x-claude-code-session-id"] !== undefined && Array.isArray(body["tools"]),
  call: (id, said) => ({ id, name: "Bash", arguments: { command: `echo ${said}`, description: "Look" } }),
  run: async (place, server, prompts, wrapped) => {
    const args = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"];
    const child = start(
      command(
        claudeBinary(),
        [...args, "--model", "claude-sonnet-4-5", "--permission-mode", "bypassPermissions"],
        wrapped,
      ),
      place,
      {
        ANTHROPIC_BASE_URL: server.url.replace(/\/v1$/, ""),
        ANTHROPIC_API_KEY: "test-key",
        CLAUDE_CONFIG_DIR: join(place.root, "claude"),
        CLAUDE_CODE_AUTO_COMPACT_WINDOW: String(WINDOW),
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        DISABLE_AUTOUPDATER: "1",
        IS_SANDBOX: "1",
      },
    );
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const over = ended(child, "Claude Code");
    over.catch(() => undefined);
    for (const prompt of prompts) {
      child.stdin.write(`${JSON.stringify({ type: "user", message: { role: "user", content: prompt } })}\n`);
      for (;;) {
        const { done, value } = await lines.next();
        if (done === true) return over;
        const line = JSON.parse(value) as { type?: string; is_error?: boolean; result?: string };
        if (line.type !== "result") continue;
        if (line.is_error === true) throw new Error(`A turn failed: ${String(line.result).slice(0, 200)}`);
        break;
      }
    }
    child.stdin.end();
    await over;
  },
};

/** A process for each turn, which resumes the conversation. */
const CODEX: Arm = {
  api: "openai-responses",
  isCompaction: ({ headers }) =>
    String(headers["x-codex-turn-metadata"]).includes('"request_kind":"compaction"'),
  isMain: ({ headers }) => headers["x-codex-turn-metadata"] !== undefined,
  call: (id, said) => ({ id, name: "exec_command", arguments: { cmd: `echo ${said}` } }),
  run: async (place, server, prompts, wrapped) => {
    writeFileSync(
      join(place.root, "codex", "config.toml"),
      [
        'model = "gpt-5.5"',
        'model_provider = "mock"',
        `model_context_window = ${WINDOW}`,
        `model_auto_compact_token_limit = ${WINDOW * 0.9}`,
        'sandbox_mode = "danger-full-access"',
        'approval_policy = "never"',
        "check_for_update_on_startup = false",
        "[model_providers.mock]",
        'name = "mock"',
        `base_url = "${server.url}"`,
        'wire_api = "responses"',
        'env_key = "MOCK_API_KEY"',
        "[features]",
        "plugins = false",
        "apps = false",
        "[analytics]",
        "enabled = false",
      ].join("\n"),
    );
    for (const [turn, prompt] of prompts.entries()) {
      const args = ["exec", "--skip-git-repo-check", ...(turn === 0 ? [] : ["resume", "--last"]), prompt];
      const child = start(command(codexBinary(), args, wrapped), place, {
        CODEX_HOME: join(place.root, "codex"),
        MOCK_API_KEY: "test-key",
      });
      child.stdout.resume();
      child.stdin.end();
      await ended(child, `Codex, turn ${turn},`);
    }
  },
};

/** A conversation's figures in one arm. */
async function measure(arm: Arm, turns: number, wrapped: boolean): Promise<CacheCounter> {
  const place = makePlace();
  const counter = new CacheCounter(arm.api);
  let round = 0;
  let last = "";
  const server = await startServer({
    protocol: arm.api,
    script: (request, index): ReplyStep => {
      // Megabytes each, and nobody looks at them again.
      const before = server.requests.at(-2);
      if (before) Object.assign(before, { body: {}, text: "" });
      if (!arm.isMain(request) || arm.isCompaction(request)) {
        const isSide = arm.isMain(request) ? false : !request.text.includes("berth");
        if (!isSide) counter.take(request.body, true);
        return { text: SUMMARY };
      }
      counter.take(request.body, false);
      const turn = /.*Request (\d+):/s.exec(request.text)?.[1] ?? "";
      if (turn !== last) round = 0;
      last = turn;
      if (round >= Number(turn) % 3) return { text: `Answer of ${turn}. ${words(40)}` };
      round += 1;
      const calls = Array.from({ length: 1 + (round % 2) }, (_, at) =>
        arm.call(`call_${index}_${at}`, `${turn} ${round}`),
      );
      return { text: `Round ${round} of ${turn}. ${words(20)}`, toolCalls: calls };
    },
  });
  try {
    const prompts = Array.from(
      { length: turns },
      (_, turn) => `Request ${turn}: look after berth ${turn}. ${words(6)}`,
    );
    await arm.run(place, server, prompts, wrapped);
    return counter;
  } finally {
    await server.close();
    rmSync(place.root, { recursive: true, force: true, maxRetries: 5 });
  }
}

function percent({ bytes, cachedBytes }: CacheCounter["main"]): number {
  return bytes === 0 ? 0 : (cachedBytes / bytes) * 100;
}

function cost({ main, compaction }: CacheCounter): number {
  return main.cost + compaction.cost;
}

export async function prefixRows({ quick, log }: BenchOptions): Promise<BenchRow[]> {
  const turns = quick ? QUICK_TURNS : TURNS;
  const rows: BenchRow[] = [];
  for (const [name, arm] of Object.entries({ "Claude Code": CLAUDE, Codex: CODEX })) {
    log(`${name}: ${turns} turns alone`);
    const alone = await measure(arm, turns, false);
    log(`${name}: ${turns} turns under pagurus wire`);
    const ours = await measure(arm, turns, true);
    const input = withPeer(
      { measure: `${name}: input cost of ${turns} turns`, value: cost(ours), unit: "uncached tokens" },
      PEER,
      cost(alone),
    );
    rows.push(
      withPeer(
        { measure: `${name}: bytes that a cache has`, value: percent(ours.main), unit: "%" },
        PEER,
        percent(alone.main),
      ),
      { ...input, target: "< harness alone", ok: cost(ours) < cost(alone) },
      withPeer(
        { measure: `${name}: of that for compactions`, value: ours.compaction.cost, unit: "uncached tokens" },
        PEER,
        alone.compaction.cost,
      ),
      withPeer(
        { measure: `${name}: requests for compactions`, value: ours.compaction.requests, unit: "requests" },
        PEER,
        alone.compaction.requests,
      ),
      withPeer(
        {
          measure: `${name}: bytes of its requests`,
          value: ours.main.bytes / 1e6,
          unit: "MB",
        },
        PEER,
        alone.main.bytes / 1e6,
      ),
      withPeer(
        { measure: `${name}: its requests`, value: ours.main.requests, unit: "requests" },
        PEER,
        alone.main.requests,
      ),
    );
  }
  return rows;
}
