/** The native sessions of a host: which program runs which, how one is started, kept for the next turn, and ended. */
import { randomUUID } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { PagurusError } from "../../contract/errors.ts";
import type { HarnessTurn } from "../../contract/harness.ts";
import type { ToolSet } from "../../contract/tool.ts";
import type { WireRoute } from "../../contract/wire.ts";
import { serveTools, type ServedTools } from "../../mcp/serve/serve-tools.ts";
import { ensurePrivateDir, writeFileAtomic } from "../../platform/files.ts";
import { findClaude } from "./find.ts";
import { sessionLines, type NativeMessage } from "./history.ts";
import { launchArguments, launchEnvironment, SHELL_SETUP } from "./launch.ts";
import type { ClaudeOptions, Endpoint } from "./options.ts";
import { ClaudeProcess } from "./process.ts";

/** Programs that no turn runs on and that still wait for one; each has about 200 MB. */
const MOST_IDLE = 2;
const IDLE_MS = 10 * 60_000;
/** A session whose file is not gone on with is not waited for. */
const AT_ONCE = { eofMs: 0, termMs: 300, killMs: 2_000 };

export interface LiveSession {
  readonly id: string;
  readonly process: ClaudeProcess;
  /** What it was started with; another one needs another program. */
  readonly startedAs: string;
  /** Claude Code keeps the context: its file is gone on with. */
  readonly keeps: boolean;
  /** Its model is asked through the host's gateway, which tells it the context. */
  readonly route: WireRoute | undefined;
  /** What ran in it last: a turn, or a compaction. */
  last: string | undefined;
  /** The turn that runs in it, whose tools are served. */
  turn: HarnessTurn | undefined;
  /** Of its context, as the provider last counted them. */
  tokens: number | undefined;
  /** Another version than expected was told of. */
  toldOfDrift: boolean;
  /** Ids of the calls that it holds. */
  readonly calls: Set<string>;
}

interface Kept extends LiveSession {
  /** Its files are gone, where nobody resumes them. */
  isTidy: boolean;
  scratch: string;
  served: ServedTools | undefined;
  idle: NodeJS.Timeout | undefined;
}

/** What a program is started for: a turn, or something between two. */
export interface StartedFor {
  model: HarnessTurn["model"];
  maxSteps: number;
  thinking: HarnessTurn["thinking"];
  turn: HarnessTurn | undefined;
}

export interface StartRequest {
  id: string;
  startedAs: string;
  /** Without symbolic links. */
  cwd: string;
  system: string;
  endpoint: Endpoint | undefined;
  /** In the place of the endpoint; closed with the program. */
  route: WireRoute | undefined;
  keeps: boolean;
  /** Its file goes on from results of tools, with these words. */
  goesOn: string | undefined;
}

export class Sessions {
  readonly #options: ClaudeOptions;
  readonly #folder: string;
  readonly #live = new Map<string, Kept>();
  /** By session: what is ending, so that nobody begins with its files. */
  readonly #ending = new Map<string, Promise<void>>();
  #disposed = false;
  /** The file that shell commands begin with is written. */
  #isSetUp = false;

  constructor(options: ClaudeOptions) {
    this.#options = options;
    this.#folder = join(options.home, "runtimes", "claude");
  }

  /** As it runs; undefined where it does not. */
  running(id: string): LiveSession | undefined {
    const found = this.#live.get(id);
    if (found?.process.isAlive === true) return found;
    if (found) void this.end(id);
    return undefined;
  }

  /** The file that holds a session; undefined where there is none. */
  file(id: string): string | undefined {
    return this.#places(id).find((file) => existsSync(file));
  }

  /** Claude Code names the folder of a project by its path, and a long one in a way of its own. */
  #places(id: string): string[] {
    const projects = join(this.#folder, "projects");
    const names = existsSync(projects) ? readdirSync(projects) : [];
    return names.map((name) => join(projects, name, `${id}.jsonl`));
  }

  /** Writes the file of a new session. Throws `store_write_failed`. */
  author(id: string, cwd: string, modelId: string, messages: readonly NativeMessage[]): void {
    const project = cwd.replaceAll(/[^a-zA-Z0-9]/g, "-").slice(0, 200);
    const file = join(this.#folder, "projects", project, `${id}.jsonl`);
    ensurePrivateDir(dirname(file));
    writeFileAtomic(file, sessionLines(messages, { sessionId: id, cwd, modelId, parent: null }), {
      synced: false,
    });
  }

  /** A program for a session, which resumes its file where there is one. Throws `runtime_failed`. */
  async start(about: StartedFor, request: StartRequest, resumes: boolean): Promise<LiveSession> {
    try {
      return await this.#started(about, request, resumes);
    } catch (error) {
      await request.route?.close();
      throw error;
    }
  }

  async #started(about: StartedFor, request: StartRequest, resumes: boolean): Promise<LiveSession> {
    if (this.#disposed)
      throw new PagurusError("runtime_failed", "Claude Code was asked for after the host had ended it.");
    const found = findClaude(this.#options);
    if ("reason" in found) throw new PagurusError("runtime_failed", found.reason);
    const { id, startedAs, keeps, route, goesOn, cwd } = request;
    const systemPrompt = this.#writeSystem(id, request.system);
    const files = {
      configDir: this.#folder,
      scratch: this.#makeScratch(id),
      shellSetup: this.#writeShellSetup(),
      systemPrompt,
      resumes: resumes ? this.file(id) : undefined,
    };
    const kept: { session?: Kept } = {};
    const served = await this.#serve(about.turn, kept);
    try {
      const { model, thinking, maxSteps, turn } = about;
      const options = {
        env: this.#options.env,
        model,
        sessionId: id,
        files,
        endpoint: route ?? request.endpoint,
        thinking,
        maxSteps,
        goesOn,
        governs: !keeps,
        server: served?.server,
      };
      const process = await ClaudeProcess.start({
        command: found.command,
        args: launchArguments(options),
        env: launchEnvironment(options),
        cwd,
      });
      const session: Kept = {
        id,
        process,
        startedAs,
        keeps,
        route,
        turn,
        served,
        scratch: files.scratch,
        idle: undefined,
        isTidy: false,
        last: undefined,
        tokens: undefined,
        toldOfDrift: false,
        calls: new Set(),
      };
      kept.session = session;
      this.#live.set(id, session);
      if (this.#disposed) await this.end(id);
      return session;
    } catch (error) {
      await served?.close();
      for (const file of [systemPrompt, files.scratch]) rmSync(file, { force: true, recursive: true });
      throw error;
    }
  }

  async #serve(turn: HarnessTurn | undefined, kept: { session?: Kept }): Promise<ServedTools | undefined> {
    if (!turn || turn.tools.specs.length === 0) return undefined;
    return serveTools({
      tools: () => {
        const now = kept.session ? kept.session.turn : turn;
        return now && toolsOf(now);
      },
    });
  }

  /** Not on the command line: others see that, and it has a limit. */
  #writeSystem(id: string, system: string): string {
    const file = this.#promptFile(id);
    ensurePrivateDir(dirname(file));
    writeFileAtomic(file, system, { synced: false });
    return file;
  }

  #writeShellSetup(): string {
    const file = join(this.#folder, "shell-setup.sh");
    if (!this.#isSetUp) writeFileAtomic(file, SHELL_SETUP, { synced: false });
    this.#isSetUp = true;
    return file;
  }

  /** Of one program: other hosts may run the session too. Made here, so that nobody else can look into it. */
  #makeScratch(id: string): string {
    const folder = join(this.#folder, "scratch", `${id}.${randomUUID()}`);
    ensurePrivateDir(folder);
    return folder;
  }

  #promptFile(id: string): string {
    return join(this.#folder, "prompts", `${id}.md`);
  }

  /** The system prompt that a session had last; undefined where none is kept. */
  systemOf(id: string): string | undefined {
    try {
      return readFileSync(this.#promptFile(id), "utf8");
    } catch {
      return undefined;
    }
  }

  /** A turn in it begins. */
  use(session: LiveSession, turn: HarnessTurn): void {
    const kept = this.#live.get(session.id);
    clearTimeout(kept?.idle);
    session.turn = turn;
  }

  /** A turn in it has ended; it waits for the next for a while. */
  rest(session: LiveSession): void {
    session.turn = undefined;
    const kept = this.#live.get(session.id);
    if (!kept) return;
    // It has read them, and a program that follows gets others.
    if (!kept.keeps && !kept.isTidy) this.#tidy(kept.id);
    kept.isTidy = true;
    clearTimeout(kept.idle);
    kept.idle = setTimeout(() => void this.end(session.id), IDLE_MS).unref();
    // The last used comes last.
    this.#live.delete(session.id);
    this.#live.set(session.id, kept);
    const idle = [...this.#live.values()].filter(({ turn }) => turn === undefined);
    for (const { id } of idle.slice(0, Math.max(0, idle.length - MOST_IDLE))) void this.end(id);
  }

  /** Nobody goes on with it: its program ends, and its files go. */
  leave(id: string): Promise<void> {
    return this.#track(
      id,
      this.end(id).then(() => {
        this.#tidy(id);
        this.#sweep(id);
      }),
    );
  }

  #tidy(id: string): void {
    for (const file of [this.#promptFile(id), ...this.#places(id)]) rmSync(file, { force: true });
  }

  /** What its programs wrote by the way, and left where they were killed. */
  #sweep(id: string): void {
    const scratch = join(this.#folder, "scratch");
    const own = existsSync(scratch) ? readdirSync(scratch).filter((name) => name.startsWith(`${id}.`)) : [];
    const results = this.#places(id).map((file) => file.slice(0, -".jsonl".length));
    const folders = [join(this.#folder, "session-env", id), ...own.map((name) => join(scratch, name))];
    for (const folder of [...folders, ...results]) rmSync(folder, { recursive: true, force: true });
  }

  /** Its program ends; the session stays. */
  end(id: string): Promise<void> {
    const session = this.#live.get(id);
    if (!session) return this.#ending.get(id) ?? Promise.resolve();
    this.#live.delete(id);
    clearTimeout(session.idle);
    const ending = session.process.end(session.keeps ? undefined : AT_ONCE).then(async () => {
      await Promise.all([session.served?.close(), session.route?.close()]);
      rmSync(session.scratch, { recursive: true, force: true });
      // Files of that name that came later are another host's.
      if (!session.keeps && !session.isTidy) this.#tidy(id);
    });
    return this.#track(id, ending);
  }

  /** Ends all programs with what they started. Nothing can be started afterwards. */
  async dispose(): Promise<void> {
    this.#disposed = true;
    for (const id of this.#live.keys()) void this.end(id);
    await Promise.all(this.#ending.values());
  }

  #track(id: string, ending: Promise<void>): Promise<void> {
    const quiet = ending.catch((error: unknown) => {
      this.#options.log.warn("claude code not ended", { error: String(error) });
    });
    this.#ending.set(id, quiet);
    void quiet.then(() => {
      if (this.#ending.get(id) === quiet) this.#ending.delete(id);
    });
    return quiet;
  }
}

/** An abort of the turn reaches a tool at once, and not by way of the program that is to be interrupted. */
function toolsOf({ tools, signal: aborted }: HarnessTurn): ToolSet {
  const { specs, fingerprint } = tools;
  return {
    specs,
    fingerprint,
    call: (call, signal) => tools.call(call, AbortSignal.any([signal, aborted])),
    permits: (call, signal) => tools.permits(call, signal),
  };
}
