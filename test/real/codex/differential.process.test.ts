/**
 * Additional context, sent straight to the real Codex and to our embedded runtime in the same random sequences: the same
 * fragments in the same roles and order, de-duplicated alike. Allowed differences: a provider's package may use `system` for
 * `developer`; the answers of the model are left out, since a steer may cut one short.
 */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createPagurus } from "../../../packages/app/src/app.ts";
import type { AdditionalContext } from "../../../packages/contract/src/fragment.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import type { TurnRun } from "../../../packages/contract/src/host/run.ts";
import { AppServers, type AppServer } from "../../../packages/runtimes/src/codex/app-server/app-server.ts";
import { startServer, type ModelServer, type RecordedRequest } from "../../servers/server.ts";
import { codexBinary } from "../codex-binary.ts";
import { FULL } from "../../runner/short-form.ts";

const SEQUENCES = FULL ? 30 : 6;
const STEPS = 7;
const VALUES = ["one", "two", "<x> & é", "", "y".repeat(5_000) + "é".repeat(300)];
const KEYS = ["b", "a", "é", "Z", "k y"];

interface Step {
  prompt: string;
  context: AdditionalContext | null | undefined;
  steer?: { text: string; context: AdditionalContext | null | undefined };
}

/** Numbers in [0, 1) that are the same for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

function sequence(seed: number): Step[] {
  const random = randomFrom(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const set = (): AdditionalContext | null | undefined => {
    const kind = random();
    if (kind < 0.1) return null;
    if (kind < 0.2) return undefined;
    if (kind < 0.25) return {};
    const keys = KEYS.filter(() => random() < 0.5);
    return Object.fromEntries(
      keys.map((key) => [key, { value: pick(VALUES), kind: pick(["untrusted", "application"] as const) }]),
    );
  };
  let last: AdditionalContext | null | undefined = set();
  return Array.from({ length: STEPS }, (_, index): Step => {
    const context = random() < 0.4 ? last : set();
    last = context;
    const isSteered = index > 0 && index < STEPS - 1 && random() < 0.3;
    const steer = isSteered ? { steer: { text: `steer ${index}`, context: set() } } : {};
    return { prompt: `turn ${index}`, context, ...steer };
  });
}

interface Waiting {
  work: (() => Promise<void>) | undefined;
}

/** An endpoint whose next answer waits for a callback. */
class Endpoint {
  readonly server: ModelServer;
  readonly #waiting: Waiting;

  private constructor(server: ModelServer, waiting: Waiting) {
    this.server = server;
    this.#waiting = waiting;
  }

  static async open(): Promise<Endpoint> {
    const waiting: Waiting = { work: undefined };
    const server = await startServer({
      protocol: "openai-responses",
      script: async () => {
        const { work } = waiting;
        waiting.work = undefined;
        await work?.();
        return { text: "Done." };
      },
    });
    return new Endpoint(server, waiting);
  }

  whileAsked(work: () => Promise<void>): void {
    this.#waiting.work = work;
  }

  get last(): RecordedRequest {
    const request = this.server.requests.at(-1);
    assert.ok(request);
    return request;
  }
}

/** All of a request except answers and what precedes the conversation. */
function shown(request: RecordedRequest, isOwn: (text: string) => boolean): string[] {
  const input = request.body["input"] as { type?: string; role?: string; content?: unknown }[];
  return input.flatMap(({ role = "", content }) => {
    const parts = Array.isArray(content) ? (content as { text?: string }[]) : [];
    const message = typeof content === "string" ? content : parts.map(({ text = "" }) => text).join("");
    if (role === "assistant" || isOwn(message)) return [];
    return [`${role === "system" ? "developer" : role}: ${message}`];
  });
}

async function onCodex(
  app: AppServer,
  endpoint: Endpoint,
  cwd: string,
  steps: readonly Step[],
): Promise<string[]> {
  const provider = { name: "local", base_url: endpoint.server.url, wire_api: "responses" };
  const { thread } = await app.request<{ thread: { id: string } }>("thread/start", {
    model: "model",
    modelProvider: "local",
    cwd,
    approvalPolicy: "never",
    sandbox: "danger-full-access",
    baseInstructions: "BASE",
    developerInstructions: "DEVELOPER",
    config: { features: { untrusted_as_tool_output: false }, model_providers: { local: provider } },
  });
  const threadId = thread.id;
  let ended = Promise.withResolvers<void>();
  const unlisten = app.listen(threadId, {
    notification: (method) => method === "turn/completed" && ended.resolve(),
    request: () => Promise.reject(new Error("not asked")),
    closed: (error) => ended.reject(error),
  });
  const input = (text: string): object[] => [{ type: "text", text, text_elements: [] }];
  for (const { prompt, context, steer } of steps) {
    ended = Promise.withResolvers();
    const started = Promise.withResolvers<string>();
    if (steer)
      endpoint.whileAsked(async () => {
        const expectedTurnId = await started.promise;
        const additionalContext = steer.context;
        await app.request("turn/steer", {
          threadId,
          expectedTurnId,
          input: input(steer.text),
          additionalContext,
        });
      });
    const { turn } = await app.request<{ turn: { id: string } }>("turn/start", {
      threadId,
      input: input(prompt),
      additionalContext: context,
    });
    started.resolve(turn.id);
    await ended.promise;
  }
  unlisten();
  return shown(endpoint.last, (text) => /^(?:BASE$|DEVELOPER|<environment_context>)/.test(text));
}

async function onOurs(
  pagurus: Pagurus,
  endpoint: Endpoint,
  at: { cwd: string; sessionKey: string },
  steps: readonly Step[],
): Promise<string[]> {
  for (const { prompt, context, steer } of steps) {
    let run: TurnRun | undefined;
    if (steer)
      endpoint.whileAsked(async () => {
        run?.steer(steer.text, steer.context === undefined ? {} : { additionalContext: steer.context });
      });
    run = pagurus.run({ prompt, ...at, ...(context === undefined ? {} : { additionalContext: context }) });
    for await (const event of run) assert.notEqual(event.type, "turn.failed", JSON.stringify(event));
  }
  return shown(endpoint.last, (text) => text.includes("Working folder:"));
}

describe("additional context on the real Codex and in our own loop", () => {
  const root = mkdtempSync(join(tmpdir(), "pagurus-differential-"));
  const servers = new AppServers({
    env: { PATH: process.env["PATH"], HOME: root, CODEX_HOME: join(root, "codex") },
    command: codexBinary(),
    clientVersion: "0",
  });
  let theirs: Endpoint;
  let ours: Endpoint;
  let pagurus: Pagurus;

  before(async () => {
    mkdirSync(join(root, "codex"));
    theirs = await Endpoint.open();
    ours = await Endpoint.open();
    const provider = {
      api: "openai-responses" as const,
      baseUrl: ours.server.url,
      apiKey: "test-key",
      models: [{ id: "model", contextWindow: 1_000_000, maxTokens: 4_000 }],
    };
    pagurus = await createPagurus({
      home: join(root, "home"),
      env: { PATH: process.env["PATH"], HOME: root, PAGURUS_NO_PROBE: "1" },
      config: {
        session: { scope: "main" },
        models: { providers: { local: provider } },
        agents: { defaults: { model: "local/model", permission: { mode: "auto" } } },
        plugins: { slots: { contextEngine: "legacy" } },
        logging: { level: "silent" },
      },
    });
  });
  after(async () => {
    await pagurus.close();
    await servers.dispose();
    for (const endpoint of [theirs, ours]) await endpoint.server.close();
    rmSync(root, { recursive: true, force: true });
  });

  for (let seed = 1; seed <= SEQUENCES; seed += 1)
    it(`sequence ${seed} of turns and steers shows the model the same`, async () => {
      const steps = sequence(seed * 7_919);
      const app = await servers.get();
      const codex = await onCodex(app, theirs, root, steps);
      const own = await onOurs(pagurus, ours, { cwd: root, sessionKey: `s${seed}` }, steps);
      assert.ok(codex.length >= STEPS);
      assert.deepEqual(own, codex);
    });
});
