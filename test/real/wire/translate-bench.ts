/** A real harness in its own folder, whose model speaks another protocol than it does. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { dialectOf } from "../../../packages/gateway/src/dialect/dialects.ts";
import type { Dialect, WireApi, WireRequest } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { JsonScanError } from "../../../packages/gateway/src/json/scan.ts";
import { translatingUpstream } from "../../../packages/gateway/src/upstream/translate/translate-upstream.ts";
import type { Upstream } from "../../../packages/gateway/src/upstream/upstream.ts";
import { modelAt } from "../../model/calling.ts";
import { startServer, type ModelServer, type Protocol, type ReplyScript } from "../../servers/server.ts";
import { codexBinary } from "../codex-binary.ts";
import { claudeBinary } from "../programs.ts";

const WINDOW = { contextWindow: 400_000, maxTokens: 16_000 };

export class TranslateBench {
  readonly root = mkdtempSync(join(tmpdir(), "pagurus-translate-"));
  /** The model. */
  readonly model: ModelServer;
  /** Kinds of the harness's requests, in order. */
  readonly kinds: string[] = [];
  readonly #dialect: Dialect;
  readonly #upstream: Upstream;
  readonly #server: Server;

  private constructor(model: ModelServer, protocol: Protocol, dialect: Dialect) {
    this.model = model;
    this.#dialect = dialect;
    // Often enough that each harness gets keep-alive events.
    const aliveMs = 20;
    this.#upstream = translatingUpstream({ model: modelAt(model.url, protocol, { model: WINDOW }), aliveMs });
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => response.destroy(error as Error));
    });
    mkdirSync(this.cwd);
  }

  static async start(api: WireApi, protocol: Protocol, script: ReplyScript): Promise<TranslateBench> {
    const bench = new TranslateBench(await startServer({ protocol, script }), protocol, await dialectOf(api));
    await new Promise<void>((resolve) => bench.#server.listen(0, "127.0.0.1", resolve));
    return bench;
  }

  get cwd(): string {
    return join(this.root, "work");
  }

  get #url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  /** Acts as the gateway's server: only forwards. */
  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const path = (request.url ?? "").replace(/^\/v1/, "");
    const left = new AbortController();
    response.on("close", () => left.abort());
    const answer = await this.#upstream.send({
      method: request.method ?? "GET",
      path,
      rawHeaders: request.rawHeaders,
      body: [body],
      read: this.#read(path, request, body),
      dialect: this.#dialect,
      signal: left.signal,
    });
    response.writeHead(answer.status, answer.rawHeaders);
    await pipeline(answer.stream, response);
  }

  #read(path: string, request: IncomingMessage, body: Buffer): WireRequest | undefined {
    try {
      const read = this.#dialect.read(path, request.headers, body);
      this.kinds.push(read.kind);
      return read;
    } catch (error) {
      if (error instanceof JsonScanError) return undefined;
      throw error;
    }
  }

  /** `codex exec` with a prompt; returns its events. `settings`: lines of its configuration. */
  codex(prompt: string, { name = "gateway", settings = "" } = {}): Promise<string> {
    const home = join(this.root, "codex");
    mkdirSync(home);
    const provider = `name = "${name}"\nbase_url = "${this.#url}"\nwire_api = "responses"\nrequest_max_retries = 0\nstream_max_retries = 0\n`;
    writeFileSync(
      join(home, "config.toml"),
      `${settings}\nmodel = "unknown-model"\nmodel_provider = "gateway"\ncheck_for_update_on_startup = false\n[features]\nplugins = false\napps = false\n[analytics]\nenabled = false\n[model_providers.gateway]\n${provider}`,
    );
    const sandbox = ["--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check", "--json"];
    return this.#run(codexBinary(), ["exec", ...sandbox, prompt], { CODEX_HOME: home });
  }

  /** `claude -p` with a prompt; returns its result. */
  claude(prompt: string): Promise<string> {
    const args = ["-p", "--model", "claude-sonnet-4-5", "--output-format", "json", "--allowedTools", "Bash"];
    return this.#run(claudeBinary(), [...args, "--", prompt], {
      CLAUDE_CONFIG_DIR: join(this.root, "claude"),
      ANTHROPIC_BASE_URL: this.#url.replace(/\/v1$/, ""),
      ANTHROPIC_API_KEY: "test-key",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_TELEMETRY: "1",
      DISABLE_AUTOUPDATER: "1",
      DISABLE_ERROR_REPORTING: "1",
    });
  }

  async #run(command: string, args: string[], env: Record<string, string>): Promise<string> {
    const child = spawn(command, args, {
      cwd: this.cwd,
      env: { PATH: process.env["PATH"], HOME: this.root, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: 90_000,
      killSignal: "SIGKILL",
    });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => out.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => err.push(chunk));
    const [code] = (await once(child, "close")) as [number | null];
    const printed = Buffer.concat(out).toString();
    if (code !== 0) throw new Error(`ended with ${code}: ${printed}\n${Buffer.concat(err).toString()}`);
    return printed;
  }

  async end(): Promise<void> {
    await this.model.close();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
    rmSync(this.root, { recursive: true, force: true });
  }
}
