/** A program of the user in a scratch home: started by command lines, as its user starts it, against a scripted model. */
import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Pagurus, PagurusOptions } from "@pagurus/contract/host/host";
import type { AgentMessage } from "@pagurus/contract/message";
import type { Receipt } from "@pagurus/contract/session/receipt";
import { killGroup, spawnGroup } from "@pagurus/core/platform/process-group";
import type { ChildProcess } from "@pagurus/core/platform/start-program";
import { namedProgram } from "@pagurus/core/platform/executables";
import { must, shown } from "../conformance-check.ts";
import { ScriptedEndpoint } from "../endpoint/model-endpoint-server.ts";
import type { ReplyStep } from "../endpoint/script.ts";
import type { SeenRequest } from "../endpoint/seen.ts";
import { leftProcesses, processesWith } from "../processes.ts";
import { isOfConversation, type ProgramRecipe } from "./program-recipes.ts";

export interface ProgramUnderTest {
  /** Its name or path. */
  command: string;
  recipe: ProgramRecipe;
  /** Command line of Pagurus: Node.js and the launcher. */
  pagurus: readonly string[];
  /** Opens a host: `createPagurus` of the package. */
  open(options: PagurusOptions): Promise<Pagurus>;
  /** Of the program, with this Node.js first in PATH for those that are scripts; HOME is a scratch folder. */
  env: Record<string, string | undefined>;
}

export interface Ended {
  code: number | null;
  output: string;
}

const KEY_ENV = "PAGURUS_SUITE_KEY";
/** How long processes of a start may outlive it, ms: some programs keep one for their next start. */
const PROGRAM_REST_MS = 15_000;
/** The engine compacts when the user requests it, and then keeps the newest turn. */
const LOSSLESS = { trigger: 150_000, headTokens: 2_000, tailTokens: 300 };
/** Names that a summary takes over, such as "pilot-3-x". */
const NAME = /\b\w+-\d+-x\b/g;

export class ProgramStage {
  readonly endpoint: ScriptedEndpoint;
  /** Requests of the conversation, in order. */
  readonly mains: SeenRequest[] = [];
  /** In the environment of each process that is started. */
  readonly mark = `PAGURUS_TESTKIT_${randomUUID().replaceAll("-", "")}`;
  readonly #under: ProgramUnderTest;
  readonly #dir: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #steps: ReplyStep[] = [];
  #starts = 0;
  #running: ChildProcess | undefined;

  private constructor(under: ProgramUnderTest, dir: string, endpoint: ScriptedEndpoint) {
    this.#under = under;
    this.#dir = dir;
    this.endpoint = endpoint;
    const { recipe } = under;
    const home = join(dir, "home");
    mkdirSync(this.cwd, { recursive: true });
    const { origin } = new URL(endpoint.url);
    this.#env = {
      ...under.env,
      HOME: home,
      PAGURUS_HOME: this.#home,
      PAGURUS_NO_PROBE: "1",
      NO_COLOR: "1",
      [KEY_ENV]: "key-of-suite",
      [this.mark]: "1",
      ...recipe.setUp({ home, origin, keyEnv: KEY_ENV }),
    };
    mkdirSync(this.#home, { recursive: true });
    writeFileSync(join(this.#home, "pagurus.json"), JSON.stringify(this.#config()));
  }

  static async open(under: ProgramUnderTest, dir: string): Promise<ProgramStage> {
    const unset = (): ReplyStep => ({ status: 500 });
    const stage = new ProgramStage(under, dir, await ScriptedEndpoint.start(unset));
    stage.endpoint.script = (request) => stage.#answer(request);
    return stage;
  }

  /** In the home, as a user's folders are: files above the home, of whoever shares `/tmp`, are not of this start. */
  get cwd(): string {
    return join(this.#dir, "home", "work");
  }

  get recipe(): ProgramRecipe {
    return this.#under.recipe;
  }

  get #home(): string {
    return join(this.#dir, "pagurus");
  }

  /** Of the host: a client of `pagurus acp` has its model from there. */
  #config(): Record<string, unknown> {
    const { protocol } = this.recipe;
    const api = protocol === "google" ? "google-generative-ai" : protocol;
    const models = [{ id: "model", contextWindow: 200_000, maxTokens: 4_000 }];
    const suite = { api, baseUrl: this.endpoint.url, apiKey: "key-of-suite", models };
    return {
      models: { providers: { suite } },
      agents: { defaults: { model: "suite/model", permission: { mode: "auto", sandbox: "off" } } },
      plugins: { slots: { contextEngine: "lossless" }, entries: { lossless: { config: LOSSLESS } } },
      // Starts in the folder share one conversation, whatever a program calls its own.
      session: { scope: "main" },
      logging: { level: "silent" },
    };
  }

  /** Sets the answers to the next requests of the conversation; further ones get "Answered." */
  replies(...steps: ReplyStep[]): void {
    this.#steps.splice(0, this.#steps.length, ...steps);
  }

  #answer(request: SeenRequest): ReplyStep {
    if (!isOfConversation(this.recipe, request)) return { text: summaryOf(request) };
    this.mains.push(request);
    return this.#steps.shift() ?? { text: "Answered." };
  }

  /** Starts the program with a prompt, from the second on in its conversation, and waits for its end. */
  async prompt(words: string): Promise<Ended> {
    const lines = this.recipe.prompt(this.#commands(), words, this.#starts > 0);
    this.#starts += 1;
    let last: Ended = { code: 0, output: "" };
    for (const line of lines) last = await this.#run(line);
    return last;
  }

  /** A prompt whose start must succeed. Throws `Violation`. */
  async ask(words: string): Promise<Ended> {
    const ended = await this.prompt(words);
    must(
      ended.code === 0,
      `The start with ${shown(words.slice(0, 40))} ended with code ${ended.code}: ${shown(ended.output.trim().slice(-200))}`,
    );
    return ended;
  }

  /** Has the engine compact the conversation. Throws `Violation`. */
  async compact(): Promise<void> {
    const { code, output } = await this.#run(this.recipe.compact(this.#commands()));
    must(code === 0, `The compaction ended with code ${code}: ${shown(output.trim().slice(-200))}`);
  }

  /** Ends the running prompt as its user does: by a command, or by Ctrl-C, which signals all of the command line. */
  async interrupt(): Promise<void> {
    const running = this.#running;
    const cancel = this.recipe.cancel?.(this.#commands());
    if (cancel) await this.#run(cancel, 0);
    else if (running) killGroup(running, "SIGINT");
  }

  /** A sentence about processes that are left; undefined when all ended in time. */
  left(ms: number): Promise<string | undefined> {
    return leftProcesses("the program", () => processesWith(this.mark), ms);
  }

  /** Messages of the only session. Throws `Violation` for none and for several. */
  async transcript(): Promise<AgentMessage[]> {
    return this.#look(async (host, key) => {
      const reader = host.sessions().openReader(key);
      try {
        return reader.contextMessages().messages;
      } finally {
        reader.close();
      }
    });
  }

  /** Receipts of the only session, the newest first. */
  receipts(): Promise<Receipt[]> {
    return this.#look((host, sessionKey) => host.context.receipts({ sessionKey }));
  }

  async #look<T>(at: (host: Pagurus, key: string) => Promise<T>): Promise<T> {
    const host = await this.#under.open({ home: this.#home, env: this.#env });
    try {
      const keys = host.sessions().list();
      const [only] = keys;
      must(only && keys.length === 1, `The conversation is in ${keys.length} sessions, not in one.`);
      return await at(host, only.sessionKey);
    } finally {
      await host.close();
    }
  }

  #commands(): { program: string; pagurus: readonly string[]; cwd: string } {
    const { command, pagurus } = this.#under;
    return { program: command, pagurus, cwd: this.cwd };
  }

  /** `restMs`: how long processes of an earlier start are waited for. */
  async #run([command = "", ...args]: readonly string[], restMs = PROGRAM_REST_MS): Promise<Ended> {
    await this.left(restMs);
    const { file } = namedProgram(command, { env: this.#env, cwd: this.cwd });
    must(file, `${command} is not installed.`);
    const child = spawnGroup(file, args, {
      cwd: this.cwd,
      env: this.#env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#running = child;
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => void (output += text));
    try {
      return await new Promise<Ended>((resolve, reject) => {
        child.once("error", reject);
        child.once("close", (code) => resolve({ code, output }));
      });
    } finally {
      if (this.#running === child) this.#running = undefined;
    }
  }

  async close(): Promise<void> {
    if (this.#running) killGroup(this.#running, "SIGKILL");
    await this.left(PROGRAM_REST_MS);
    await this.endpoint.close();
  }
}

/** With the headings that an engine asks for, and each name that the request shows. */
function summaryOf({ items }: SeenRequest): string {
  const names = new Set(items.flatMap(({ text }) => text.match(NAME) ?? []));
  return [
    `## Goal\nThe keeper of the harbour has the berths looked after by ${[...names].join(", ")}.`,
    `## State\nThe berths are known: ${[...names].join(", ")}.`,
    "## Decisions and constraints\nEach berth has one pilot.",
    "## Open asks\nThe next order.",
  ].join("\n");
}
