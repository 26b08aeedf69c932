/** The resident host: a process that stays in the background and runs the commands of a moment of its home's user. */
import { Console } from "node:console";
import { randomBytes } from "node:crypto";
import { chmodSync, statSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { dirname, join } from "node:path";
import { Writable } from "node:stream";
import { loadConfig } from "@pagurus/core/config/load-config";
import { resolveHome } from "@pagurus/core/config/config-paths";
import { attempt } from "@pagurus/core/data/attempt";
import { collectUnused } from "@pagurus/core/platform/heap-growth";
import type { Logger } from "@pagurus/core/platform/log";
import { packageVersion } from "@pagurus/core/platform/package-version";
import { currentSurroundings } from "@pagurus/core/platform/surroundings";
import { hasPlugins } from "@pagurus/host/plugin/listed";
import { ForwardedCommand, readRequest, type ClientRequest, type Execute } from "./forwarded-command.ts";
import { residentFiles, ResidentPlace } from "@pagurus/server/resident-place";
import { thinEntry, type ThinEntry } from "./thin-entry.ts";

/** Variables that Node.js and the system's libraries read by themselves: a command with other values needs its own process. */
const OF_PROCESS =
  /^(?:HOME|TMPDIR|TMP|TEMP|TZ|LANG|LC_\w+|NODE_\w+|SSL_CERT_\w+|OPENSSL_\w+|LD_\w+|DYLD_\w+|ICU_\w+|UV_\w+)$/;
const DEFAULT_IDLE_SECONDS = 30 * 60;
/** Pause after a command from which no further one is likely at once, ms. */
const PAUSE_MS = 5_000;

const NOT_ASKED_FOR = "the configuration asks for none";

type Env = Readonly<Record<string, string | undefined>>;

function ofProcess(env: Env): string {
  const names = Object.keys(env).filter((name) => OF_PROCESS.test(name));
  return JSON.stringify(names.toSorted().map((name) => [name, env[name]]));
}

/** Changes when the package is replaced by another version, or built again. */
function installed(entry: string): string {
  const root = dirname(dirname(entry));
  const stats = ["package.json", "dist/cli/main.js", "bin/thin.js"].map((file) =>
    attempt(() => statSync(join(root, file))),
  );
  return stats.map((stat) => (stat ? `${stat.ino} ${stat.size} ${stat.mtimeMs}` : "none")).join("; ");
}

/** Output of `console` goes to the client whose command wrote it. */
function shareConsole(): void {
  const toClient = new Writable({
    decodeStrings: false,
    write(text: string | Buffer, _encoding, done) {
      currentSurroundings()?.print(text.toString());
      done();
    },
  });
  Object.assign(console, new Console(toClient, toClient));
}

export interface ResidentHostOptions {
  home: string;
  env: Env;
  logger: Logger;
  /** Loads the code of the commands, before any client finds the host: it would wait for that. */
  load(): Promise<void>;
  execute: Execute;
  /** Whether an adapter in another program is installed. */
  isServingAdapters(): boolean;
  /** Whether it has work of its own, with which it stays up when no command comes. */
  isKeeping(): boolean;
}

export class ResidentHost {
  readonly #options: ResidentHostOptions;
  readonly #thin: ThinEntry = thinEntry();
  readonly #files: ResidentPlace;
  readonly #key = randomBytes(32).toString("base64url");
  readonly #place: string;
  readonly #env: string;
  readonly #installed: string;
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  #running = 0;
  #idle: NodeJS.Timeout | undefined;
  #pause: NodeJS.Timeout | undefined;
  /** Why no further command is taken. */
  #retired: string | undefined;
  readonly #ended = Promise.withResolvers<string>();

  private constructor(options: ResidentHostOptions, files: ResidentPlace) {
    this.#options = options;
    this.#files = files;
    this.#place = this.#thin.place();
    this.#env = ofProcess(options.env);
    this.#installed = installed(this.#thin.file);
    this.#server = createServer((socket) => this.#accept(socket));
  }

  /** Throws `session_locked` where one runs already, and system errors of its folder and its socket. */
  static async start(options: ResidentHostOptions): Promise<ResidentHost> {
    const files = ResidentPlace.take(options.home);
    try {
      await options.load();
      const host = new ResidentHost(options, files);
      await host.#listen();
      return host;
    } catch (error) {
      attempt(() => files.close());
      files.release();
      throw error;
    }
  }

  /** Why it has ended. */
  get ended(): Promise<string> {
    return this.#ended.promise;
  }

  async #listen(): Promise<void> {
    const { socket } = residentFiles(this.#options.home);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#server.once("error", reject).listen(socket, resolve);
    await promise;
    this.#server.off("error", reject).on("error", (error: NodeJS.ErrnoException) => {
      this.#options.logger.warn("a client was not accepted", { code: error.code });
    });
    chmodSync(socket, 0o600);
    shareConsole();
    const startedAt = new Date().toISOString();
    this.#files.announce({ pid: process.pid, version: packageVersion(), startedAt }, this.#key);
    this.#rest();
  }

  /** Takes no further command, lets those that run end, and ends. */
  retire(why: string): void {
    this.#retired ??= why;
    attempt(() => this.#files.close());
    if (this.#running === 0) this.#end();
  }

  /** Ends with what runs: each turn is aborted and recorded. */
  interrupt(): void {
    this.retire("it was stopped");
    for (const socket of this.#open) socket.destroy();
  }

  #end(): void {
    clearTimeout(this.#idle);
    clearTimeout(this.#pause);
    this.#server.close();
    this.#files.release();
    this.#ended.resolve(this.#retired ?? "");
  }

  #accept(socket: Socket): void {
    this.#open.add(socket);
    clearTimeout(this.#idle);
    clearTimeout(this.#pause);
    let request: ClientRequest | undefined;
    let command: ForwardedCommand | undefined;
    socket
      .on("error", () => undefined)
      .on("close", () => {
        this.#open.delete(socket);
        command?.clientGone();
        this.#rest();
      });
    const frame = this.#thin.frame;
    this.#thin.readFrames(socket, (letter, payload) => {
      if (command) return command.receive(letter, payload);
      if (letter === "H") {
        request = readRequest(payload.toString());
        const why = request ? this.#refusal(request) : "it is no request";
        if (why === undefined) return void socket.write(frame("R"));
        request = undefined;
        return void socket.end(frame("N", JSON.stringify({ why })));
      }
      if (letter !== "G" || !request) return void socket.destroy();
      command = new ForwardedCommand(socket, request, frame);
      void this.#run(command);
      return undefined;
    });
  }

  /** Work beside the commands has begun: the process stays up until the returned function is called. */
  begin(): () => void {
    this.#running += 1;
    clearTimeout(this.#idle);
    return () => {
      this.#running -= 1;
      this.#rest();
    };
  }

  async #run(command: ForwardedCommand): Promise<void> {
    const done = this.begin();
    try {
      await command.run(this.#options.execute);
    } finally {
      done();
    }
  }

  /** Why a command needs its own process; undefined where it can run here. */
  #refusal({ key, place, env, entry }: ClientRequest): string | undefined {
    const { home } = this.#options;
    if (key !== this.#key) return "its key is another one";
    if (this.#retired !== undefined) return this.#retired;
    const config = attempt(() => loadConfig({ home }).config);
    if (installed(this.#thin.file) !== this.#installed) this.retire("the package was replaced");
    else if (config && config.server?.resident !== true) {
      // Adapters in other programs may still need the process.
      if (!this.#options.isServingAdapters() && !this.#options.isKeeping()) this.retire(NOT_ASKED_FOR);
      return NOT_ASKED_FOR;
    }
    if (this.#retired !== undefined) return this.#retired;
    if (entry !== this.#thin.file) return "it belongs to another installation";
    if (place !== this.#place) return "it runs in another place: a container, a sandbox, other limits";
    if (ofProcess(env) !== this.#env) return "its environment has other values for Node.js or the system";
    if (attempt(() => resolveHome(env)) !== home) return "its home has another name";
    // A plugin may keep state in its module, or change the process.
    return !config || hasPlugins(config, home) ? "plugins run in the command's own process" : undefined;
  }

  #isIdle(): void {
    if (this.#options.isKeeping()) this.#rest();
    else this.retire("it was idle");
  }

  /** Waits for a further command, and ends when none comes for long. */
  #rest(): void {
    clearTimeout(this.#idle);
    clearTimeout(this.#pause);
    if (this.#running > 0 || this.#open.size > 0) return;
    if (this.#retired !== undefined) return this.#end();
    const { server } = attempt(() => loadConfig({ home: this.#options.home }).config) ?? {};
    const seconds = server?.residentIdleSeconds ?? DEFAULT_IDLE_SECONDS;
    this.#idle = setTimeout(() => this.#isIdle(), seconds * 1_000);
    this.#pause = setTimeout(collectUnused, PAUSE_MS);
    return undefined;
  }
}
