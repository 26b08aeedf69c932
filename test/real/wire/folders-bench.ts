/** Programs in terminals of tmux over one home, and model servers that hold each answer until the test releases it. */
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { WireOptions } from "../../../packages/cli/src/wire/wire-work.ts";
import { openSessionStore } from "../../../packages/host/src/stores/files/session-store.ts";
import { startServer, type ModelServer, type RecordedRequest, type ReplyStep } from "../../servers/server.ts";
import { codexBinary } from "../codex-binary.ts";
import { claudeBinary } from "../programs.ts";
import type { Run } from "./folders-model.ts";
import { commandLine, WrapRun } from "./wrap-bench.ts";

/** Two folders of one name; all words of a folder have its secret. */
export const SECRETS = { north: "heron", south: "magpie" } as const;
export type Folder = keyof typeof SECRETS;
export const FOLDERS: readonly Folder[] = ["north", "south"];

const WORDS = new RegExp(`\\b(?:word|answer)-(?:${Object.values(SECRETS).join("|")})-\\d+\\b`, "g");
const PAUSE_MS = 50;

/** The words of a text in their order, none twice. */
function wordsIn(text: string): string[] {
  return [...new Set(text.match(WORDS))];
}

interface Gate {
  asked: PromiseWithResolvers<void>;
  released: PromiseWithResolvers<void>;
}

/** Answers each request with a word for the newest word of its user, once that is released. */
class HeldModel {
  /** Words of each request. */
  readonly requests: string[][] = [];
  readonly #gates = new Map<string, Gate>();

  gate(word: string): Gate {
    const gate = this.#gates.get(word) ?? {
      asked: Promise.withResolvers(),
      released: Promise.withResolvers(),
    };
    this.#gates.set(word, gate);
    return gate;
  }

  script = async ({ text }: RecordedRequest): Promise<ReplyStep> => {
    const words = wordsIn(text);
    this.requests.push(words);
    const word = newestOf(words);
    if (word === undefined) return { text: "Nothing." };
    const { asked, released } = this.gate(word);
    asked.resolve();
    await released.promise;
    return { text: `Noted as ${word.replace("word", "answer")}.` };
  };
}

/** The newest word of the user. */
export function newestOf(words: readonly string[]): string | undefined {
  return words.findLast((word) => word.startsWith("word-"));
}

export interface Ended {
  code: number;
  /** What the terminal showed. */
  shown: string;
}

/** A program that was started. */
export interface Playing {
  /** Resolves when its request has arrived: then it waits for the answer. */
  asked: Promise<void>;
  ended: Promise<Ended>;
}

export class FoldersBench {
  readonly #model: HeldModel;
  readonly #run: WrapRun;
  readonly #codexServer: ModelServer;
  #openStore: ReturnType<typeof openSessionStore> | undefined;
  #started = 0;
  #isClosed = false;

  private constructor(model: HeldModel, run: WrapRun, codexServer: ModelServer) {
    this.#model = model;
    this.#run = run;
    this.#codexServer = codexServer;
    for (const folder of FOLDERS) mkdirSync(this.#pathOf(folder), { recursive: true });
    // Keeps the tmux server alive: one that is ending after its last terminal refuses a new one.
    this.#tmux("new-session", "-d", "-s", "idle", "cat");
  }

  static async open(): Promise<FoldersBench> {
    const model = new HeldModel();
    const run = await WrapRun.with("anthropic-messages", model.script);
    const codexServer = await startServer({ protocol: "openai-responses", script: model.script });
    const settings = new WrapRun(codexServer);
    settings.setCodex();
    copyFileSync(join(settings.root, "codex/config.toml"), join(run.root, "codex/config.toml"));
    rmSync(settings.root, { recursive: true, force: true });
    return new FoldersBench(model, run, codexServer);
  }

  /** Words of each request so far. */
  get requests(): readonly string[][] {
    return this.#model.requests;
  }

  get #store(): ReturnType<typeof openSessionStore> {
    return (this.#openStore ??= openSessionStore({
      agentDir: join(this.#run.home, "agents/main"),
      agentId: "main",
    }));
  }

  keys(folder: Folder): string[] {
    return this.#store.inFolder(this.#pathOf(folder)).map(({ sessionKey }) => sessionKey);
  }

  /** Words of a session's transcript. */
  transcript(sessionKey: string): string[] {
    const reader = this.#store.openReader(sessionKey);
    try {
      return wordsIn(JSON.stringify(reader.contextMessages().messages.map(({ content }) => content)));
    } finally {
      reader.close();
    }
  }

  start(folder: Folder, { step: { program, way }, key, word }: Run): Playing {
    const text = `Remember ${word}.`;
    const isResumed = way === "resume";
    const args =
      program === "claude"
        ? [claudeBinary(), ...(isResumed ? ["--continue"] : []), "-p", text]
        : [codexBinary(), "exec", "--skip-git-repo-check", ...(isResumed ? ["resume", "--last"] : []), text];
    const named = way === "continue" ? { continue: true } : key === undefined ? {} : { continue: key };
    return { asked: this.#model.gate(word).asked.promise, ended: this.#play(folder, named, args) };
  }

  release({ word }: Run): void {
    this.#model.gate(word).released.resolve();
  }

  /** In a terminal of its own, which is kept until all that it showed has been read. */
  async #play(folder: Folder, options: WireOptions, args: readonly string[]): Promise<Ended> {
    const name = `run-${(this.#started += 1)}`;
    const [out, go, read] = ["out", "go", "read"].map((kind) => join(this.#run.root, `${name}.${kind}`)) as [
      string,
      string,
      string,
    ];
    const env = this.#run.env({
      MOCK_KEY: "key-of-mock",
      ANTHROPIC_BASE_URL: this.#run.server.url.replace(/\/v1$/, ""),
      ANTHROPIC_API_KEY: "key-of-test",
      NO_COLOR: "1",
      TERM: "xterm-256color",
    });
    const variables = Object.entries(env).map(([variable, value = ""]) => `${variable}=${value}`);
    const words = ["env", "-i", ...variables, process.execPath, ...commandLine(options, args)];
    const waitFor = (file: string): string => `until [ -e ${quoted(file)} ]; do sleep 0.05; done`;
    // Nothing is shown before the pipe is there; the pipe drops what it still has when the terminal ends.
    const command = `${waitFor(go)}; ${words.map(quoted).join(" ")} < /dev/null; echo "${name} exits with $?."; ${waitFor(read)}`;
    const place = ["-x", "180", "-y", "50", "-c", this.#pathOf(folder)];
    this.#tmux("new-session", "-d", "-s", name, ...place, command);
    this.#tmux("pipe-pane", "-t", name, `cat > ${quoted(out)}`);
    writeFileSync(go, "");
    const end = new RegExp(`${name} exits with (\\d+)\\.`);
    for (;;) {
      const shown = existsSync(out) ? readFileSync(out, "utf8") : "";
      const code = end.exec(shown)?.[1];
      if (code !== undefined) {
        writeFileSync(read, "");
        return { code: Number(code), shown };
      }
      if (this.#isClosed) throw new Error(`${name} did not end before the bench was closed`);
      await pause(PAUSE_MS);
    }
  }

  #pathOf(folder: Folder): string {
    return join(this.#run.root, folder, "app");
  }

  #tmux(...args: string[]): void {
    execFileSync("tmux", ["-S", join(this.#run.root, "tmux"), ...args], { stdio: "ignore" });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#openStore?.close();
    spawnSync("tmux", ["-S", join(this.#run.root, "tmux"), "kill-server"], { stdio: "ignore" });
    await this.#codexServer.close();
    await this.#run.end();
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
