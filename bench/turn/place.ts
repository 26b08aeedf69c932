/** The setting of a benchmark of turns: an endpoint process, a home with a configuration, seeded sessions. */
import { fork, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSessionStore } from "../../packages/host/src/stores/files/session-store.ts";
import { generateTranscript } from "../generate.ts";
import { WITH_RECALL } from "../with-recall.ts";

export interface EndpointStats {
  requests: number;
  busyMs: number;
  /** Epoch milliseconds of the first request's first byte; 0 before it. */
  firstAt: number;
  lastBytes: number;
}

export interface Endpoint {
  url: string;
  stats(): Promise<EndpointStats>;
  /** Repeats the newest request with nothing but `fetch`; milliseconds to the end of the answer. */
  bareCall(): Promise<number>;
  close(): void;
}

export async function startEndpoint(): Promise<Endpoint> {
  const child: ChildProcess = fork(join(import.meta.dirname, "endpoint.ts"), {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.once("message", (message: { url: string }) => resolve(message.url));
    child.once("exit", () => reject(new Error("the endpoint of the benchmark ended")));
  });
  return {
    url,
    stats: async () => (await (await fetch(url)).json()) as EndpointStats,
    bareCall: async () => {
      const body = await (await fetch(`${url}/last`)).text();
      const start = performance.now();
      const headers = { "content-type": "application/json" };
      const response = await fetch(`${url}/chat/completions`, { method: "POST", headers, body });
      await response.text();
      return performance.now() - start;
    },
    close: () => child.disconnect(),
  };
}

export interface Place {
  root: string;
  home: string;
  workspace: string;
  env: Record<string, string>;
  remove(): void;
}

export function makePlace(url: string): Place {
  const root = mkdtempSync(join(tmpdir(), "pagurus-bench-"));
  const home = join(root, "home");
  const workspace = join(root, "work");
  mkdirSync(home, { mode: 0o700 });
  mkdirSync(workspace);
  configure(home, url);
  const env = { PATH: process.env["PATH"] ?? "", HOME: root, PAGURUS_HOME: home, PAGURUS_NO_PROBE: "1" };
  return { root, home, workspace, env, remove: () => rmSync(root, { recursive: true, force: true }) };
}

/** Points a home at an endpoint; its one model has a window in which a compaction happens now and then. */
export function configure(home: string, baseUrl: string, contextEngine = "lossless"): void {
  const model = { id: "model", contextWindow: 64_000, maxTokens: 4_000 };
  const config = {
    models: { providers: { bench: { api: "openai-completions", baseUrl, models: [model] } } },
    agents: { defaults: { model: "bench/model", permission: { mode: "auto" } } },
    plugins: {
      slots: { contextEngine },
      ...(WITH_RECALL ? {} : { entries: { lossless: { config: { recall: false } } } }),
    },
  };
  writeFileSync(join(home, "pagurus.json"), JSON.stringify(config), { mode: 0o600 });
}

/** Messages between two compactions of a seeded session: about 20,000 tokens stay in the context. */
const COMPACT_EVERY = 200;
const KEEP = 40;

/** Writes a session of so many message entries through the store, a compaction now and then; returns ms a commit. */
export function seedSession(place: Place, sessionKey: string, count: number): number {
  const agentDir = join(place.home, "agents", "main");
  mkdirSync(agentDir, { recursive: true, mode: 0o700 });
  const store = openSessionStore({ agentDir, agentId: "main" });
  const writer = store.openWriter(sessionKey, { cwd: place.workspace, create: true });
  const messages = generateTranscript({ seed: 7, messages: count });
  const ids: string[] = [];
  let commits = 0;
  const start = performance.now();
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index];
    if (!message) continue;
    const turnId = `seed-${Math.floor(index / 10)}`;
    ids.push(writer.append({ type: "message", turnId, message }).id);
    const last = index === messages.length - 1;
    if ((index + 1) % 10 === 0 || last) {
      writer.commitTurn({ turnId, outcome: "completed" });
      commits += 1;
    }
    if ((index + 1) % COMPACT_EVERY === 0) {
      const kept = firstUserFrom(messages, index + 1 - KEEP);
      const firstKeptEntryId = ids[kept];
      if (firstKeptEntryId !== undefined) {
        writer.append({
          type: "compaction",
          summary: "Goal: seed a session. Done: many turns.",
          firstKeptEntryId,
          tokensBefore: 80_000,
          tokensAfter: 16_000,
          origin: "extractive",
        });
      }
    }
  }
  const elapsed = performance.now() - start;
  writer.close();
  store.close();
  return elapsed / Math.max(1, commits);
}

function firstUserFrom(messages: readonly { role: string }[], from: number): number {
  for (let index = Math.max(0, from); index < messages.length; index++)
    if (messages[index]?.role === "user") return index;
  return Math.max(0, from);
}
