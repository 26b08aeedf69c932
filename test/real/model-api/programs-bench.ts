/** Real programs whose provider is `pagurus serve`, with a token of `pagurus token create`. */
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { createPagurus } from "../../../packages/app/src/app.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { ServeProcess } from "../../server/serve-setting.ts";
import {
  startServer,
  type ModelServer,
  type Protocol,
  type RecordedRequest,
  type ReplyScript,
} from "../../servers/server.ts";
import { linesOf } from "../wire/spy.ts";
import { finish, makeSetting, modelConfig, type Setting } from "../../turn/setting.ts";

/** Of one start of a program; some of them look for packages first. */
const DEADLINE_MS = 240_000;

/** The answer to a question for a summary. */
export const SUMMARY =
  "The berths have the keys 700 and on, and the keeper of the quay wrote down every ship.";
const MORE = "The keeper of the quay wrote down which ships had come. ".repeat(40);

/** What only the question of a turn says. */
export function berth(turn: number): string {
  return `berth ${turn} has the key 70${turn}`;
}

export function question(turn: number): string {
  return `${berth(turn)}. ${MORE}`;
}

/** The messages of a session as lines, in short: a question is its berth, and a result what the shell printed. */
export function shortLines(messages: readonly AgentMessage[]): string[] {
  return linesOf(messages).map((line) =>
    line
      .replace(/^(result \S+)[^]*?(the-crane)?\s*$/, "$1 $2")
      .replace(/^user: "?(berth \d) [^]*$/, "user: $1"),
  );
}

export interface ProgramEnd {
  code: number | null;
  output: string;
}

export interface BenchOptions {
  /** The protocol of the server's model. */
  protocol?: Protocol;
  script: ReplyScript;
  /** Settings of the engine. */
  lossless?: Record<string, unknown>;
}

/** A scripted model, the server in front of it, and folders for a program. */
export class ProgramBench {
  readonly model: ModelServer;
  readonly setting: Setting;
  readonly #server: ServeProcess;
  /** The token that the program has. */
  readonly key: string;

  private constructor(model: ModelServer, setting: Setting, server: ServeProcess, key: string) {
    this.model = model;
    this.setting = setting;
    this.#server = server;
    this.key = key;
    mkdirSync(this.home);
  }

  static async open({
    protocol = "openai-responses",
    script,
    lossless = {},
  }: BenchOptions): Promise<ProgramBench> {
    const model = await startServer({ protocol, script });
    const entries = { lossless: { config: lossless } };
    const plugins = { slots: { contextEngine: "lossless" }, entries };
    const setting = makeSetting(modelConfig(protocol, model.url, { contextWindow: 200_000 }, { plugins }));
    const server = await ServeProcess.start(setting);
    const token = await finish(setting, ["token", "create", "--name", "program"]);
    return new ProgramBench(model, setting, server, token.stdout.trim());
  }

  /** Base URL of the model API. */
  get url(): string {
    return `${this.#server.url}/v1`;
  }

  get home(): string {
    return join(this.setting.root, "program");
  }

  /** Writes a file of the program's home. */
  write(path: string, content: unknown): void {
    const file = join(this.home, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  }

  run(command: string, args: readonly string[], env: Record<string, string>): Promise<ProgramEnd> {
    // Their scripts need this Node.js, too.
    const PATH = [dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter);
    return new Promise((resolve, reject) => {
      const child = spawn(command, args, {
        cwd: this.setting.workspace,
        env: { HOME: this.home, PATH, ...env },
        stdio: ["ignore", "pipe", "pipe"],
      });
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

  /** What the model was asked in the conversation: not what the engine asked it for. */
  get mains(): RecordedRequest[] {
    return this.model.requests.filter(({ text }) => !text.includes("<transcript>"));
  }

  /** Sessions of the server with their messages, after it was stopped. */
  async sessions(): Promise<{ key: string; messages: AgentMessage[] }[]> {
    await this.#server.kill("SIGTERM");
    const { home, env } = this.setting;
    const pagurus = await createPagurus({ home, env });
    try {
      const store = pagurus.sessions("main");
      const found: { key: string; messages: AgentMessage[] }[] = [];
      for (const { sessionKey: key, current } of store.list()) {
        if (!current) continue;
        const reader = store.openReader(key);
        const messages: AgentMessage[] = [];
        try {
          for await (const entry of reader.cursor.forward())
            if (entry.type === "message") messages.push(entry.message);
        } finally {
          reader.close();
        }
        found.push({ key, messages });
      }
      return found;
    } finally {
      await pagurus.close();
    }
  }

  async end(): Promise<void> {
    await this.#server.kill();
    await this.model.close();
    this.setting.remove();
  }
}
