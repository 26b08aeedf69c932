/**
 * Plugins for OpenClaw from the npm registry, in pinned versions, each in a home of its own: installed, looked
 * at, and loaded by a run that does not use it. Prints a table; exit 1 where one ends the host or refuses the run.
 * Needs npm and its registry, so it is no part of the tests. `node scripts/registry-plugins.ts [name…]`
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";

const PLUGINS: readonly [spec: string, kind: string][] = [
  ["@mocrane/wecom@2026.3.24", "channel"],
  ["@openclaw-china/dingtalk@0.1.19", "channel"],
  ["@openclaw-china/feishu@0.1.10", "channel"],
  ["@openclaw-china/wecom@0.1.8", "channel"],
  ["@openclaw-china/channels@0.1.18", "channels"],
  ["@openclaw/bluebubbles@2026.5.7", "channel"],
  ["@openclaw/discord@2026.9.6", "channel"],
  ["@openclaw/googlechat@2026.9.5", "channel"],
  ["@openclaw/irc@2026.9.5", "channel"],
  ["@openclaw/line@2026.9.5", "channel"],
  ["@openclaw/mattermost@2026.9.5", "channel"],
  ["@openclaw/matrix@2026.9.6", "channel"],
  ["@openclaw/msteams@2026.9.5", "channel"],
  ["@openclaw/nextcloud-talk@2026.9.5", "channel"],
  ["@openclaw/nostr@2026.9.5", "channel"],
  ["@openclaw/synology-chat@2026.9.4", "channel"],
  ["@openclaw/zalo@2026.9.5", "channel"],
  ["@soimy/dingtalk@3.6.7", "channel"],
  ["@tobotorui/wecom@1.6.5", "channel"],
  ["@askjo/camofox-browser@1.17.0", "browser tools"],
  ["@calltelemetry/openclaw-linear@0.9.29", "webhooks, tools"],
  ["@gekkocompany/orchestra@0.3.22", "orchestration"],
  ["@happycastle/oh-my-openclaw@0.21.3", "orchestration"],
  ["@jiggai/kitchen@0.6.3", "dashboard"],
  ["@jiggai/recipes@0.5.2", "command line"],
  ["@laurentenhoor/devclaw@1.6.10", "orchestration"],
  ["@mem0/openclaw-mem0@1.0.16", "memory"],
  ["@poprobertdaniel/openclaw-memory@0.1.3", "memory"],
  ["@robertogongora/graphiti@0.6.2", "memory"],
  ["@nicfox77/parakeet-stt@0.2.9", "speech"],
  ["@ollama/openclaw-web-search@0.2.2", "web search"],
  ["@projectavatar/openclaw-avatar@2.2.0", "hooks"],
  ["@sendroon/openclaw-warroom@0.3.0", "dashboard"],
  ["clawmarket@0.6.8", "model provider"],
  ["jasper-context-compactor@0.4.1", "compaction"],
  ["pixel-office-openclaw@0.1.10", "dashboard"],
];

const MAIN = new URL("../packages/cli/src/main.ts", import.meta.url).pathname;
const TIMEOUT_MS = 300_000;
const AT_ONCE = 2;
/** For the rest of the output of a command that has ended. */
const OUTPUT_MS = 500;

interface Ended {
  code: number | null;
  out: string;
  err: string;
}

function pagurus(home: string, args: readonly string[]): Promise<Ended> {
  const env = { ...forNpm(), HOME: home, PAGURUS_HOME: join(home, "home"), PAGURUS_NO_PROBE: "1" };
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: home,
    env,
    stdio: ["ignore", "pipe", "pipe"],
    timeout: TIMEOUT_MS,
    killSignal: "SIGKILL",
  });
  const ended: Ended = { code: null, out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (ended.out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (ended.err += text));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    // What a plugin started may hold the output open long after the command has ended.
    child.once("exit", (code) => setTimeout(() => resolve({ ...ended, code }), OUTPUT_MS));
  });
}

/** What npm needs of the user's environment to reach the registry, and its cache. */
function forNpm(): NodeJS.ProcessEnv {
  const wanted = /^(?:PATH|NODE_EXTRA_CA_CERTS|SSL_CERT_\w+|npm_config_\w+|https?_proxy|no_proxy)$/i;
  const kept = Object.fromEntries(Object.entries(process.env).filter(([name]) => wanted.test(name)));
  return {
    npm_config_userconfig: join(homedir(), ".npmrc"),
    npm_config_cache: join(homedir(), ".npm"),
    ...kept,
  };
}

interface Row {
  spec: string;
  kind: string;
  state: "loaded" | "loaded, with errors" | "left out" | "not installed" | "HOST ENDED" | "RUN REFUSED";
  about: string;
  ok: boolean;
}

interface Info {
  problems?: string[];
  warnings?: string[];
  notUsed?: string[];
}

async function tried([spec, kind]: (typeof PLUGINS)[number]): Promise<Row> {
  const home = mkdtempSync(join(tmpdir(), "pagurus-registry-"));
  try {
    const installed = await pagurus(home, ["plugins", "install", spec, "--enable", "--json"]);
    const report = parsed(installed.out);
    if (typeof report["id"] !== "string")
      return {
        spec,
        kind,
        state: "not installed",
        about: lastLine(installed.err),
        ok: refusedInWords(installed),
      };
    const info = await pagurus(home, ["plugins", "info", report["id"], "--json"]);
    const run = await pagurus(home, ["run", "hello", "--json"]);
    // What a plugin starts may print between the events of the run.
    const events = run.out.split("\n").map(parsed);
    const last = events.findLast(({ type }) => type === "turn.completed" || type === "turn.failed") ?? {};
    return { spec, kind, ...verdict(parsed(info.out), info, run, last) };
  } finally {
    endLeft(home);
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Ends what a plugin started and left running; it is known by its home. */
function endLeft(home: string): void {
  for (const name of readdirSync("/proc").filter((each) => /^\d+$/.test(each))) {
    let variables = "";
    try {
      variables = readFileSync(`/proc/${name}/environ`, "utf8");
    } catch {
      // It has ended, or belongs to another user.
      continue;
    }
    if (variables.split("\0").includes(`HOME=${home}`)) process.kill(Number(name), "SIGKILL");
  }
}

function verdict(
  report: Info,
  info: Ended,
  run: Ended,
  last: Record<string, unknown>,
): Omit<Row, "spec" | "kind"> {
  const { problems = [], warnings = [], notUsed } = report;
  if (notUsed === undefined && problems.length === 0 && info.out === "")
    return { state: "HOST ENDED", about: lastLine(info.err), ok: false };
  if (last["type"] !== "turn.completed" && last["type"] !== "turn.failed")
    return { state: "HOST ENDED", about: lastLine(run.err), ok: false };
  if (last["type"] === "turn.failed") {
    const { message = "" } = (last["error"] ?? {}) as { message?: string };
    // Runs need every gate, so one that cannot be loaded refuses them.
    return { state: "RUN REFUSED", about: message, ok: message.includes("since it is a gate (") };
  }
  if (problems.length > 0) return { state: "left out", about: problems.join(" "), ok: true };
  const errors = warnings.filter((text) => text.startsWith("It has an error"));
  return errors.length > 0
    ? { state: "loaded, with errors", about: errors.join(" "), ok: true }
    : {
        state: "loaded",
        about: notUsed ? `not used here: ${notUsed.join(", ")}` : "all of it is used",
        ok: true,
      };
}

/** A package that is no plugin, or an unsafe one, is refused in one sentence; one that npm cannot fetch shows nothing. */
function refusedInWords({ code, err }: Ended): boolean {
  return (
    code !== null && /^pagurus: .+ \[(?:plugin_invalid|plugin_duplicate_id|config_invalid)\]$/m.test(err)
  );
}

function parsed(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    // The row without it reports the error.
    return {};
  }
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1) ?? "";
}

const wanted = process.argv.slice(2);
const queue = PLUGINS.filter(([spec]) => wanted.length === 0 || wanted.some((name) => spec.startsWith(name)));
const waiting = [...queue];
const rows: Row[] = [];
await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const row = await tried(next);
      rows.push(row);
      process.stdout.write(
        `${row.ok ? "ok  " : "FAIL"} ${row.spec.padEnd(42)} ${row.kind.padEnd(17)} ${row.state.padEnd(19)} ${row.about.slice(0, 160)}\n`,
      );
    }
  }),
);
const failed = rows.filter(({ ok }) => !ok);
const count = (state: Row["state"]): number => rows.filter((row) => row.state === state).length;
process.stdout.write(
  `${rows.length} plugins: ${count("loaded")} loaded, ${count("loaded, with errors")} loaded with contained errors, ${count("left out")} left out, ${count("not installed")} not installed, ${count("RUN REFUSED")} refuse runs, ${count("HOST ENDED")} end the host\n`,
);
process.exitCode = failed.length > 0 ? 1 : 0;
