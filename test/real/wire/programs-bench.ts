/** Runs the user's own programs as `pagurus wire` does, with an engine that records its contexts. */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { createPagurus } from "../../../packages/app/src/app.ts";
import { loadProgramWrap, loadToolServer } from "../../../packages/app/src/bundled.ts";
import { loadConfig } from "../../../packages/core/src/config/load-config.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { openWrap, type WrapReport } from "../../../packages/gateway/src/wrap/wrap-program.ts";
import { createFileLogger } from "../../../packages/core/src/platform/log.ts";
import {
  startServer,
  type ModelServer,
  type Protocol,
  type RecordedRequest,
  type ReplyStep,
} from "../../servers/server.ts";
import type { ProgramCase } from "./programs-table.ts";
import type { Spy } from "./spy.ts";

const DEADLINE_MS = 120_000;

export interface ProgramEnd {
  code: number | null;
  output: string;
  report: WrapReport;
}

export class ProgramRun {
  readonly root = mkdtempSync(join(tmpdir(), "pagurus-programs-"));
  readonly #servers = new Map<Protocol, ModelServer>();
  readonly #script: (request: RecordedRequest) => ReplyStep;

  constructor(script: (request: RecordedRequest) => ReplyStep, lossless: Record<string, unknown> = {}) {
    this.#script = script;
    for (const name of ["work", "home", "pagurus"]) mkdirSync(join(this.root, name));
    const config = { plugins: { entries: { lossless: { config: lossless } } } };
    writeFileSync(join(this.root, "pagurus", "pagurus.json"), JSON.stringify(config));
  }

  get cwd(): string {
    return join(this.root, "work");
  }

  async #url(protocol: Protocol): Promise<string> {
    const known = this.#servers.get(protocol);
    if (known) return known.url;
    const server = await startServer({ protocol, script: (request) => this.#script(request) });
    this.#servers.set(protocol, server);
    return server.url;
  }

  /** One start of the program with one prompt. */
  async start(
    program: ProgramCase,
    spy: Spy,
    { prompt, isNext, sessionKey }: { prompt: string; isNext: boolean; sessionKey?: string },
  ): Promise<ProgramEnd> {
    const home = join(this.root, "home");
    const url = await this.#url(program.protocol);
    // Their scripts need this Node.js, too.
    const path = [dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter);
    const own = { HOME: home, PATH: path, PAGURUS_NO_PROBE: "1" };
    const env = { ...own, ...program.setUp({ home, url }) };
    const pagurusHome = join(this.root, "pagurus");
    const wrap = await loadProgramWrap(program.id);
    const folder = join(pagurusHome, "runtimes", wrap.id);
    const args = program.argv(prompt, isNext);
    const surveyed = await wrap.survey({ command: program.program(), args, env, cwd: this.cwd, folder });
    if (surveyed.refusal) throw new Error(surveyed.refusal.reason);
    const open = await openWrap({
      ...(sessionKey === undefined ? {} : { sessionKey }),
      agentId: "main",
      engine: "spy",
      home: pagurusHome,
      env,
      loaded: loadConfig({ home: pagurusHome }),
      logger: createFileLogger(pagurusHome, "debug"),
      program: surveyed,
      id: wrap.id,
      label: wrap.label,
      api: surveyed.api ?? wrap.api,
      rules: wrap.rules,
      conversationHeader: wrap.conversationHeader,
      capture: false,
      observe: false,
      open: (made) => createPagurus({ ...made, engines: { spy: (context) => spy.make(context) } }),
      serveTools: async (tools, name) => (await loadToolServer())({ tools: () => tools, name }),
    });
    const ended = await this.#spawn(await surveyed.launch(open.route)).catch(async (error: unknown) => {
      await open.close();
      throw error;
    });
    return { ...ended, report: await open.close() };
  }

  #spawn({
    command,
    args,
    env,
  }: {
    command: string;
    args: string[];
    env: Record<string, string | undefined>;
  }): Promise<Pick<ProgramEnd, "code" | "output">> {
    return new Promise((resolve, reject) => {
      const child = spawn(command, args, { cwd: this.cwd, env, stdio: ["ignore", "pipe", "pipe"] });
      let output = "";
      child.stdout.on("data", (chunk: Buffer) => void (output += chunk.toString()));
      child.stderr.on("data", (chunk: Buffer) => void (output += chunk.toString()));
      const timer = setTimeout(() => child.kill("SIGKILL"), DEADLINE_MS);
      child.on("error", reject);
      child.on("close", (code) => {
        clearTimeout(timer);
        resolve({ code, output });
      });
    });
  }

  /** Sessions of the home, with all their messages, the oldest first. */
  async sessions(): Promise<{ key: string; messages: AgentMessage[] }[]> {
    const pagurus = await createPagurus({ home: join(this.root, "pagurus"), env: { PAGURUS_NO_PROBE: "1" } });
    try {
      const store = pagurus.sessions();
      return await Promise.all(
        store.list().map(async ({ sessionKey }) => {
          const reader = store.openReader(sessionKey);
          const messages: AgentMessage[] = [];
          try {
            for await (const entry of reader.cursor.backward())
              if (entry.type === "message") messages.unshift(entry.message);
          } finally {
            reader.close();
          }
          return { key: sessionKey, messages };
        }),
      );
    } finally {
      await pagurus.close();
    }
  }

  async end(): Promise<void> {
    for (const server of this.#servers.values()) await server.close();
    rmSync(this.root, { recursive: true, force: true, maxRetries: 5 });
  }
}
