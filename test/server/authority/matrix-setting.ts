/** A server with two agents, sessions in and out of a pattern, and one caller of each kind. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServer, type ModelServer } from "../../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../../turn/setting.ts";
import { ServeProcess } from "../serve-setting.ts";

/** What a kind of caller may do, as the test expects it. */
export interface CallerKind {
  name: string;
  scope: "read" | "chat" | "admin";
  /** May use sessions outside of `fam-*`, agents beside `main`, other folders, programs and rules, modes up to `auto`. */
  allSessions: boolean;
  allAgents: boolean;
  isFull: boolean;
  isOwner: boolean;
  mayOnlyRead: boolean;
  /** Body of `POST /tokens`; absent for the owner's key. */
  token?: object;
}

const kind = (
  name: string,
  scope: CallerKind["scope"],
  { sessions = "*", agents = "*", ...rest }: { sessions?: string; agents?: string; mode?: string } = {},
): CallerKind => ({
  name,
  scope,
  allSessions: sessions === "*",
  allAgents: agents === "*",
  isFull: scope === "admin" && sessions === "*" && agents === "*" && rest.mode === undefined,
  isOwner: false,
  mayOnlyRead: rest.mode === "read-only",
  token: { name, scope, sessions, agents, ...rest },
});

export const CALLERS: readonly CallerKind[] = [
  {
    name: "owner",
    scope: "admin",
    allSessions: true,
    allAgents: true,
    isFull: true,
    isOwner: true,
    mayOnlyRead: false,
  },
  kind("admin", "admin"),
  kind("admin fam-*", "admin", { sessions: "fam-*" }),
  kind("admin agent main", "admin", { agents: "main" }),
  kind("chat", "chat"),
  kind("chat fam-*", "chat", { sessions: "fam-*" }),
  kind("chat agent main", "chat", { agents: "main" }),
  kind("chat read-only", "chat", { mode: "read-only" }),
  kind("read", "read"),
  kind("read fam-*", "read", { sessions: "fam-*" }),
];

/** A word that is only in the session `priv-secret`, in the owner's notes, or in a folder that no token names. */
export const SECRET = "zebrafinch";

export class MatrixServer {
  readonly server: ServeProcess;
  readonly setting: Setting;
  readonly #model: ModelServer;
  /** A folder outside of every session and workspace. */
  readonly outside: string;
  readonly secrets = new Map<string, string>();
  readonly #shared = new Map<string, string>();
  #made = 0;

  private constructor(parts: {
    server: ServeProcess;
    setting: Setting;
    model: ModelServer;
    outside: string;
  }) {
    this.server = parts.server;
    this.setting = parts.setting;
    this.#model = parts.model;
    this.outside = parts.outside;
  }

  static async start(): Promise<MatrixServer> {
    const model = await startServer({
      protocol: "openai-completions",
      script: ({ text }) => {
        // A command of its own, so that no answer "always" covers the next one.
        const key = /use the shell for ([\w-]+)/.exec(text)?.[1];
        if (key === undefined || text.includes('"role":"tool"')) return { text: "done" };
        return { text: "", toolCalls: [{ id: "c1", name: "shell", arguments: { command: `echo ${key}` } }] };
      },
    });
    const outside = mkdtempSync(join(tmpdir(), "pagurus-outside-"));
    writeFileSync(join(outside, "AGENTS.md"), `The word is ${SECRET}.\n`);
    mkdirSync(join(outside, ".pagurus", "commands"), { recursive: true });
    const config = modelConfig("openai-completions", model.url) as { agents?: { defaults?: object } };
    const defaults = { ...config.agents?.defaults, permission: { mode: "ask" } };
    const setting = makeSetting({
      ...config,
      agents: { ...config.agents, defaults, list: [{ id: "other" }] },
    } as Parameters<typeof makeSetting>[0]);
    writeFileSync(join(setting.workspace, "MEMORY.md"), `A note of the owner: ${SECRET}.\n`);
    const server = await ServeProcess.start(setting);
    const made = new MatrixServer({ server, setting, model, outside });
    for (const { name, token } of CALLERS) {
      if (!token) continue;
      const { body, status } = await server.call("POST", "/api/v1/tokens", token);
      if (status !== 201) throw new Error(`${name}: ${status} ${JSON.stringify(body)}`);
      made.secrets.set(name, String(body["secret"]));
    }
    return made;
  }

  get requests(): ModelServer["requests"] {
    return this.#model.requests;
  }

  headersOf({ name }: CallerKind): Record<string, string> {
    return { authorization: `Bearer ${this.secrets.get(name) ?? this.server.key}` };
  }

  /** The status of a request; the body of the answer is read to its end only where it ends by itself. */
  async status(
    caller: CallerKind,
    {
      method,
      path,
      body,
      headers = {},
    }: { method: string; path: string; body?: unknown; headers?: Record<string, string> },
  ): Promise<{ status: number; text: string }> {
    const abort = new AbortController();
    const response = await fetch(`${this.server.url}${path}`, {
      method,
      headers: { ...this.headersOf(caller), "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: abort.signal,
    });
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
    const text = isStream ? "" : await response.text();
    if (isStream) abort.abort();
    return { status: response.status, text };
  }

  /** A key that no session has, in or out of the pattern `fam-*`. */
  key(isIn: boolean): string {
    this.#made += 1;
    return `${isIn ? "fam" : "priv"}-${this.#made}`;
  }

  /** A session of the owner, the same for all that only read. */
  async session(isIn: boolean, agent: string, isShared: boolean): Promise<string> {
    const name = `${isIn} ${agent}`;
    const known = isShared ? this.#shared.get(name) : undefined;
    if (known !== undefined) return known;
    const key = await this.#newSession(isIn, agent);
    if (isShared) this.#shared.set(name, key);
    return key;
  }

  async #newSession(isIn: boolean, agent: string): Promise<string> {
    const key = this.key(isIn);
    const made = await this.server.call("POST", "/api/v1/sessions", { key, agent });
    if (made.status !== 201) throw new Error(JSON.stringify(made.body));
    return key;
  }

  /** Denies every open permission question. */
  async stopAll(): Promise<void> {
    const { body } = await this.server.call("GET", "/api/v1/approvals");
    for (const { id } of body["approvals"] as { id: string }[])
      await this.server.call("POST", `/api/v1/approvals/${id}`, { answer: "deny" });
  }

  async close(): Promise<void> {
    await this.server.kill();
    await this.#model.close();
    this.setting.remove();
    rmSync(this.outside, { recursive: true, force: true });
  }
}
