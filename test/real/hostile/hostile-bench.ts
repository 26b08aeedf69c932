/** Starts real programs in a hostile repository: under `pagurus wire`, and as the runtime of a turn. */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { recordTrust } from "../../../packages/core/src/config/folder-trust.ts";
import { attempt } from "../../../packages/core/src/data/attempt.ts";
import { MAIN } from "../../runner/program.ts";
import { startServer, type ModelServer, type RecordedRequest, type ReplyStep } from "../../servers/server.ts";
import { AGENT_CASES, type AgentCase } from "../acp/programs-table.ts";
import { PROGRAM_CASES } from "../wire/programs-table.ts";
import { HOSTILE_FILES, HostileRepository, type HostilePlace, type TrappedProgram } from "./repository.ts";
import { inputOf } from "../../runner/child-input.ts";

/** The first start of OpenCode installs packages. */
const DEADLINE_MS = 180_000;
const START_SECONDS = 150;

/** What came of one run. */
export interface HostileEnd {
  code: number | null;
  output: string;
  /** Marks of what was executed. */
  executed: string[];
  /** Requests at the repository's server. */
  trapped: string[];
  /** Requests to the model at the user's own provider. */
  own: number;
}

/** A repository that is hostile in one way alone. */
export interface HostileOptions {
  /** Its files. Default: all that are known of the program. */
  files?: (place: HostilePlace) => Record<string, unknown>;
  /** The model calls the program's shell once, which leaves the mark "call". */
  calls?: true;
  /** Variables of the user's environment. */
  env?: Readonly<Record<string, string>>;
}

export interface TurnOptions {
  isTrusted: boolean;
  /** The command that runs it; default: `pagurus run`. */
  door?: "run" | "chat" | undefined;
  /** The id and arguments of an ACP agent that the user configured, for example "mine". */
  id?: string | undefined;
  args?: readonly string[] | undefined;
}

function agentCase(program: TrappedProgram): AgentCase {
  const found = AGENT_CASES.find(({ id }) => id === program);
  if (!found) throw new Error(`There is no agent ${program}.`);
  return found;
}

export class HostileRun {
  readonly root = realpathSync.native(mkdtempSync(join(tmpdir(), "pagurus-hostile-")));
  /** The user's home folder. */
  readonly home = join(this.root, "user");
  readonly #program: TrappedProgram;
  readonly #trap: Server;
  readonly #trapped: string[] = [];
  readonly #own: ModelServer;
  readonly repository: HostileRepository;

  readonly #options: HostileOptions;

  private constructor(
    program: TrappedProgram,
    options: HostileOptions,
    { own, trap }: { own: ModelServer; trap: Server },
  ) {
    this.#program = program;
    this.#options = options;
    this.#own = own;
    this.#trap = trap;
    trap.on("request", (request, response) => {
      this.#trapped.push(`${request.url ?? ""} ${JSON.stringify(request.headers)}`);
      request.resume();
      request.on("end", () => response.writeHead(400, { "content-type": "application/json" }).end("{}"));
    });
    mkdirSync(this.home);
    const { port } = trap.address() as AddressInfo;
    this.repository = new HostileRepository(
      this.root,
      options.files ?? HOSTILE_FILES[program],
      `http://127.0.0.1:${port}`,
    );
  }

  static async of(program: TrappedProgram, options: HostileOptions = {}): Promise<HostileRun> {
    const { protocol, model } = agentCase(program);
    let run: HostileRun | undefined;
    let hasCalled = options.calls !== true;
    const script = (request: RecordedRequest): ReplyStep => {
      if (!run || hasCalled || !run.#case().isMain(request)) return { text: "All done." };
      hasCalled = true;
      const call = run.#case().call(run.repository.marking("call"));
      return { toolCalls: [{ id: "call_hostile", ...call }] };
    };
    const own = await startServer({ protocol, script, models: [model] });
    const trap = createServer();
    await new Promise<void>((resolve) => trap.listen(0, "127.0.0.1", resolve));
    run = new HostileRun(program, options, { own, trap });
    return run;
  }

  /** Says yes to the folder, in the program's own record and in Pagurus's. */
  trust(): void {
    const { folder } = this.repository;
    recordTrust(join(this.root, "pagurus"), folder, true);
    const records: Partial<Record<TrappedProgram, () => void>> = {
      claude: () => this.#merge(".claude.json", { projects: { [folder]: { hasTrustDialogAccepted: true } } }),
      gemini: () => this.#merge(".gemini/trustedFolders.json", { [folder]: "TRUST_FOLDER" }),
      pi: () => this.#merge(".pi/agent/trust.json", { [folder]: true }),
      codex: () => {
        const file = join(this.home, ".codex/config.toml");
        const text = attempt(() => readFileSync(file, "utf8")) ?? "";
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, `${text}\n[projects.${JSON.stringify(folder)}]\ntrust_level = "trusted"\n`);
      },
    };
    records[this.#program]?.();
  }

  #merge(name: string, fields: object): void {
    const file = join(this.home, name);
    const known = attempt(() => JSON.parse(readFileSync(file, "utf8")) as object) ?? {};
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, JSON.stringify({ ...known, ...fields }));
  }

  #case() {
    const found = PROGRAM_CASES.find(({ id }) => id === this.#program);
    if (!found) throw new Error(`no case ${this.#program}`);
    return found;
  }

  #env(more: Record<string, string>): Record<string, string> {
    const path = [dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter);
    // The user's own environment decides nothing about the folder.
    const { GEMINI_CLI_TRUST_WORKSPACE: _trusted, ...rest } = more;
    return {
      HOME: this.home,
      PATH: path,
      PAGURUS_HOME: join(this.root, "pagurus"),
      PAGURUS_NO_PROBE: "1",
      NO_COLOR: "1",
      ...this.#options.env,
      ...rest,
    };
  }

  /** The program under `pagurus wire`, without a terminal. `argv`: its arguments, where the usual ones allow every call. */
  wire(isTrusted: boolean, argv?: readonly string[]): Promise<HostileEnd> {
    const program = this.#case();
    const env = this.#env(program.setUp({ home: this.home, url: this.#own.url }));
    if (isTrusted) this.trust();
    const words = [program.program(), ...(argv ?? program.argv("Say hello.", false))];
    return this.#run([process.execPath, MAIN, "wire", "--", ...words], env);
  }

  /** A turn in a runtime: Codex, Claude Code, or the program as an ACP agent, under its own name or one that the user chose. */
  turn(
    runtime: "codex" | "claude-cli" | "acp",
    { isTrusted, door = "run", id, args }: TurnOptions,
  ): Promise<HostileEnd> {
    const agent = agentCase(this.#program);
    const url = this.#own.url;
    const set = agent.setUp?.({ home: this.home, url }) ?? {};
    const api = agent.protocol === "google" ? "google-generative-ai" : agent.protocol;
    const models = [{ id: agent.model, contextWindow: 200_000, maxTokens: 4_000 }];
    const provider = { api, baseUrl: url, apiKey: "key-of-test", models };
    const ref = `local/${agent.model}`;
    const own = agent.ownModel === undefined ? {} : { model: agent.ownModel };
    const command = runtime === "acp" ? agent.program() : this.#case().program();
    const path = [dirname(command), process.env["PATH"] ?? ""].join(delimiter);
    const agentId = id ?? agent.id;
    const policy = { id: runtime, ...(runtime === "acp" ? { agentId } : {}) };
    const named = id === undefined ? {} : { args: args ?? [], login: "own" };
    const entry = { command, ...own, ...named, env: { PATH: path, ...set }, startSeconds: START_SECONDS };
    const config = {
      models: { providers: { local: provider } },
      agents: {
        defaults: {
          model: ref,
          permission: { mode: agent.asks ? "ask" : "auto" },
          models: { [ref]: { agentRuntime: policy } },
        },
      },
      plugins: {
        entries: {
          acp: { config: { agents: runtime === "acp" ? { [agentId]: entry } : {} } },
          codex: { config: { command } },
          "claude-cli": { config: { command } },
        },
      },
    };
    mkdirSync(join(this.root, "pagurus"), { recursive: true });
    writeFileSync(join(this.root, "pagurus", "pagurus.json"), JSON.stringify(config));
    if (isTrusted) this.trust();
    const words = door === "run" ? ["run", "Say hello."] : ["chat"];
    const input = door === "run" ? undefined : "Say hello.\n";
    return this.#run([process.execPath, MAIN, ...words], this.#env({ IS_SANDBOX: "1" }), input);
  }

  #run([command = "", ...args]: string[], env: Record<string, string>, input?: string): Promise<HostileEnd> {
    return new Promise((resolve, reject) => {
      const child = spawn(command, args, {
        cwd: this.repository.folder,
        env,
        stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
      });
      if (input !== undefined) inputOf(child).end(input);
      let output = "";
      child.stdout?.on("data", (chunk: Buffer) => void (output += chunk.toString()));
      child.stderr?.on("data", (chunk: Buffer) => void (output += chunk.toString()));
      const timer = setTimeout(() => child.kill("SIGKILL"), DEADLINE_MS);
      child.on("error", reject);
      child.on("close", (code) => {
        clearTimeout(timer);
        const executed = this.repository.executed();
        resolve({ code, output, executed, trapped: this.#trapped, own: this.#own.requests.length });
      });
    });
  }

  async end(): Promise<void> {
    await this.#own.close();
    this.#trap.close();
    this.#trap.closeAllConnections();
    rmSync(this.root, { recursive: true, force: true, maxRetries: 5 });
  }
}
