/** The native sessions of a host: start, reuse for the next turn, and end of their programs. */
import { randomUUID } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import type { HarnessTurn } from "@pagurus/contract/harness/harness";
import type { ToolSet } from "@pagurus/contract/harness/tool";
import type { WireRoute } from "@pagurus/contract/harness/wire";
import { serveTools, type ServedTools } from "@pagurus/host/mcp/serve/serve-tools";
import { ensurePrivateDir, writeFileAtomic } from "@pagurus/core/platform/atomic-files";
import { findClaude } from "./find-claude.ts";
import { sessionLines, type NativeMessage } from "./claude-history.ts";
import { launchArguments, launchEnvironment, SHELL_SETUP } from "./claude-launch.ts";
import type { ClaudeOptions, Endpoint } from "./claude-options.ts";
import { ClaudeProcess } from "./claude-process.ts";

/** Limit of idle programs; each takes about 200 MB. */
const MOST_IDLE = 2;
const IDLE_MS = 10 * 60_000;
/** For a session whose file is discarded, so its end is not waited for. */
const END_AT_ONCE = { eofMs: 0, termMs: 300, killMs: 2_000 };

export interface LiveSession {
  readonly id: string;
  readonly process: ClaudeProcess;
  /** Settings it was started with; other settings need another program. */
  readonly startedAs: string;
  /** Claude Code manages the context: its file is continued. */
  readonly keeps: boolean;
  /** Its model is called through the host's gateway, which sends it the context. */
  readonly route: WireRoute | undefined;
  /** Id of what ran in it last: a turn, or a compaction. */
  last: string | undefined;
  /** The running turn, whose tools are served. */
  turn: HarnessTurn | undefined;
  /** Tokens of its context, as the provider last counted them. */
  tokens: number | undefined;
  /** The host's folder. */
  readonly home: string;
  /** Ids of the calls that it contains. */
  readonly calls: Set<string>;
}

interface Kept extends LiveSession {
  /** Its files are deleted, unless a later program resumes them. */
  isTidy: boolean;
  scratch: string;
  served: ServedTools | undefined;
  idle: NodeJS.Timeout | undefined;
}

/** Purpose of a program: a turn, or a compaction between two. */
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
  /** Replaces the endpoint; closed with the program. */
  route: WireRoute | undefined;
  keeps: boolean;
  /** Text that continues a file which ends with tool results. */
  continuation: string | undefined;
}

export class Sessions {
  readonly #options: ClaudeOptions;
  readonly #folder: string;
  readonly #live = new Map<string, Kept>();
  /** By session: running ends, so that no new program uses the same files. */
  readonly #ending = new Map<string, Promise<void>>();
  #disposed = false;
  /** The setup file of shell commands is written. */
  #isSetUp = false;

  constructor(options: ClaudeOptions) {
    this.#options = options;
    this.#folder = join(options.home, "runtimes", "claude");
  }

  /** The running session; undefined when its program does not run. */
  running(id: string): LiveSession | undefined {
    const found = this.#live.get(id);
    if (found?.process.isAlive === true) return found;
    if (found) void this.end(id);
    return undefined;
  }

  /** File of a session; undefined when there is none. */
  file(id: string): string | undefined {
    return this.#places(id).find((file) => existsSync(file));
  }

  /** Claude Code names a project's folder by its path, and shortens a long one. */
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

  /** Starts a program for a session, which resumes its file if there is one. Throws `runtime_failed`. */
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
      throw new PagurusError("runtime_failed", "Claude Code was requested after the host had ended it.");
    const found = findClaude(this.#options);
    if ("reason" in found) throw new PagurusError("runtime_failed", found.reason);
    const { id, startedAs, keeps, route, continuation, cwd } = request;
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
        passedOn: this.#options.passedOn,
        model,
        sessionId: id,
        files,
        endpoint: route ?? request.endpoint,
        thinking,
        maxSteps,
        continuation,
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
        home: this.#options.home,
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

  /** In a file: the command line is visible to other users and has a length limit. */
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

  /** For one program: other hosts may run the session too. Created here, so that no other user can read it. */
  #makeScratch(id: string): string {
    const folder = join(this.#folder, "scratch", `${id}.${randomUUID()}`);
    ensurePrivateDir(folder);
    return folder;
  }

  #promptFile(id: string): string {
    return join(this.#folder, "prompts", `${id}.md`);
  }

  /** The last system prompt of a session; undefined when none is stored. */
  systemOf(id: string): string | undefined {
    try {
      return readFileSync(this.#promptFile(id), "utf8");
    } catch {
      return undefined;
    }
  }

  /** Marks the session as used by a turn. */
  use(session: LiveSession, turn: HarnessTurn): void {
    const kept = this.#live.get(session.id);
    clearTimeout(kept?.idle);
    session.turn = turn;
  }

  /** Releases the session after a turn; it stays for the next one. */
  rest(session: LiveSession): void {
    session.turn = undefined;
    const kept = this.#live.get(session.id);
    if (!kept) return;
    // The program has read them, and a later program gets new ones.
    if (!kept.keeps && !kept.isTidy) this.#tidy(kept.id);
    kept.isTidy = true;
    clearTimeout(kept.idle);
    kept.idle = setTimeout(() => void this.end(session.id), IDLE_MS).unref();
    // Moves the most recently used to the end.
    this.#live.delete(session.id);
    this.#live.set(session.id, kept);
    const idle = [...this.#live.values()].filter(({ turn }) => turn === undefined);
    for (const { id } of idle.slice(0, Math.max(0, idle.length - MOST_IDLE))) void this.end(id);
  }

  /** Drops a session: its program ends, and its files are deleted. */
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

  /** Removes temporary files of its programs, also of killed ones. */
  #sweep(id: string): void {
    const scratch = join(this.#folder, "scratch");
    const own = existsSync(scratch) ? readdirSync(scratch).filter((name) => name.startsWith(`${id}.`)) : [];
    const results = this.#places(id).map((file) => file.slice(0, -".jsonl".length));
    const folders = [join(this.#folder, "session-env", id), ...own.map((name) => join(scratch, name))];
    for (const folder of [...folders, ...results]) rmSync(folder, { recursive: true, force: true });
  }

  /** Ends its program; the session stays. */
  end(id: string): Promise<void> {
    const session = this.#live.get(id);
    if (!session) return this.#ending.get(id) ?? Promise.resolve();
    this.#live.delete(id);
    clearTimeout(session.idle);
    const ending = session.process.end(session.keeps ? undefined : END_AT_ONCE).then(async () => {
      await Promise.all([session.served?.close(), session.route?.close()]);
      rmSync(session.scratch, { recursive: true, force: true });
      // Later files of that name belong to another host.
      if (!session.keeps && !session.isTidy) this.#tidy(id);
    });
    return this.#track(id, ending);
  }

  /** Ends all programs with their children. Nothing can be started afterwards. */
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

/** Aborts a tool at once with the turn, without waiting for the program's interrupt. */
function toolsOf({ tools, signal: aborted }: HarnessTurn): ToolSet {
  const { specs, fingerprint } = tools;
  return {
    specs,
    fingerprint,
    call: (call, signal) => tools.call(call, AbortSignal.any([signal, aborted])),
    permits: (call, signal) => tools.permits(call, signal),
  };
}
