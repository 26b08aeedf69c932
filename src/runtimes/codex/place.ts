/** Where a turn of the host runs on Codex: the session's thread with what it lacked, or one of the turn's own. */
import { PagurusError, toPagurusError } from "../../contract/errors.ts";
import type { AssembledContext, HarnessTurn } from "../../contract/harness.ts";
import type { AgentMessage, UserMessage } from "../../contract/message.ts";
import { extended, type Held, NOTHING_HELD } from "../../native/held.ts";
import { isAdopted, takeOver } from "./adopted.ts";
import type { AppServer, AppServers } from "./app-server.ts";
import type { CatalogFiles } from "./catalog.ts";
import { isConversation, MOST_INPUT_CHARS, wordsOf } from "./input.ts";
import { fragmentItems } from "./items.ts";
import type { CodexOptions } from "./options.ts";
import { projectContextEngineAssemblyForCodex } from "./projection.ts";
import {
  identityOf,
  isTheirs,
  openBinding,
  resumeParams,
  standingOf,
  startParams,
  unassembledStanding,
  type Standing,
  type ThreadIdentity,
  type ThreadSettings,
} from "./thread.ts";
import type { LostThread, OpenThread, Threads } from "./threads.ts";

export interface TurnSurroundings extends CodexOptions {
  servers: AppServers;
  catalogs: CatalogFiles;
  threads: Threads;
}

export interface Place {
  server: AppServer;
  thread: OpenThread;
  seam: "thread" | "projection";
  /** The thread began with this turn. */
  isNew: boolean;
  /** It is the user's own. */
  isTheirs: boolean;
  /** Codex keeps the context by itself. */
  keeps: boolean;
  /** Undefined where the thread is of this turn only. */
  identity: ThreadIdentity | undefined;
  /** What the thread holds of the assembled context; undefined where that is not known or not of interest. */
  held: Held | undefined;
  /** What the user said that the thread does not have yet, in order. */
  inputs: readonly UserMessage[];
  /** What stands in the place of the first input's text. */
  words: string | undefined;
  sandbox: ThreadSettings["sandbox"];
  /** How many fragments of the turn the thread was given before the turn. */
  given: number;
}

/** Throws what Codex refuses, `runtime_failed`. */
export async function openPlace(
  turn: HarnessTurn,
  context: AssembledContext,
  around: TurnSurroundings,
): Promise<Place> {
  const seam = seamOf(turn, context, around);
  const server = await around.servers.get(turn.signal);
  const drift = around.servers.takeDrift(server);
  if (drift !== undefined) await turn.emit({ type: "notice", kind: "codex", detail: drift });
  if (context.messages.length <= context.historyCount)
    throw new PagurusError("internal", "The assembled context has no live turn.");
  const opening = new Opening(turn, context, around, server);
  let place: Place;
  try {
    place = seam === "projection" ? await opening.projected() : await opening.bound();
  } catch (error) {
    opening.giveUp();
    throw error;
  }
  around.log.debug("codex context engine assemble applied", {
    sessionId: turn.sessionId,
    turnId: turn.turnId,
    engineId: turn.engine.id,
    threadId: place.thread.id,
    seam,
    assembledMessageCount: context.messages.length,
    estimatedTokens: context.estimatedTokens,
    hasSystemPromptAddition: context.hasSystemPromptAddition === true,
  });
  return place;
}

function seamOf(
  turn: HarnessTurn,
  context: AssembledContext,
  { seam }: TurnSurroundings,
): "thread" | "projection" {
  if (!turn.engine.governs || context.degraded !== undefined) return "thread";
  return seam ?? (context.projection?.epoch === undefined ? "projection" : "thread");
}

export async function threadSettings(
  about: { model: HarnessTurn["model"]; governs: boolean; permissionMode?: HarnessTurn["permissionMode"] },
  around: Pick<TurnSurroundings, "endpoint" | "catalogs" | "sandbox">,
): Promise<Pick<ThreadSettings, "endpoint" | "catalogFile" | "sandbox">> {
  const { model, governs, permissionMode } = about;
  const readOnly = permissionMode === "read-only" || permissionMode === "deny";
  return {
    endpoint: around.endpoint(model),
    catalogFile: governs ? await around.catalogs.file(model.id) : undefined,
    sandbox: readOnly ? "read-only" : (around.sandbox ?? "workspace-write"),
  };
}

class Opening {
  readonly #turn: HarnessTurn;
  readonly #context: AssembledContext;
  readonly #around: TurnSurroundings;
  readonly #server: AppServer;
  readonly #history: readonly AgentMessage[];
  /** What the turn has done so far, where it goes on on another thread. */
  readonly #done: readonly AgentMessage[];
  readonly #inputs: readonly UserMessage[];
  readonly #opened: OpenThread[] = [];

  constructor(turn: HarnessTurn, context: AssembledContext, around: TurnSurroundings, server: AppServer) {
    this.#turn = turn;
    this.#context = context;
    this.#around = around;
    this.#server = server;
    const { messages, historyCount } = context;
    const live = messages.slice(historyCount).filter(isConversation);
    const done = live.findLastIndex(({ role }) => role !== "user") + 1;
    this.#history = messages.slice(0, historyCount).filter(isConversation);
    this.#done = live.slice(0, done);
    this.#inputs = live.slice(done).filter((message): message is UserMessage => message.role === "user");
  }

  /** Whatever was opened is not run on. */
  giveUp(): void {
    for (const thread of this.#opened) this.#around.threads.rest(this.#server, thread);
  }

  /** The session's thread, with what it lacks of the history; a new one where it cannot go on. */
  async bound(): Promise<Place> {
    const turn = this.#turn;
    const keeps = !turn.engine.governs;
    const said = [...this.#history, ...this.#done];
    const settings = await this.#settings(false);
    const identity = identityOf(turn, this.#context, settings.endpoint?.baseUrl ?? "");
    const { threads } = this.#around;
    const found = turn.binding();
    const binding = isAdopted(found)
      ? await takeOver(found, { turn, identity, settings, server: this.#server, threads })
      : found;
    const standing =
      this.#context.degraded === undefined || keeps
        ? standingOf(binding, identity, said, keeps)
        : unassembledStanding(binding, identity);
    const going = standing.bound ? await this.#goOn(standing, settings) : undefined;
    if (going && !("lost" in going)) return { ...going, keeps };
    const thread = await this.#start(settings);
    this.#around.log.debug("codex thread started", {
      sessionId: turn.sessionId,
      turnId: turn.turnId,
      threadId: thread.id,
      before: binding?.nativeId,
      reason: standing.bound ? "Codex cannot go on with the thread" : standing.reason,
    });
    if (going) await this.#tellLost(going);
    if (binding && !isTheirs(binding) && going?.isHeld !== true)
      threads.leave(this.#server, binding.nativeId);
    turn.bind(openBinding(thread.id, identity, turn.turnId));
    await this.#inject(thread, said);
    const held = keeps ? undefined : extended(NOTHING_HELD, said);
    return this.#place({ thread, isNew: true, keeps, identity, held }, settings);
  }

  /** The thread as it is, after a restart of either side too, or why not. */
  async #goOn(
    standing: Extract<Standing, { bound: true }>,
    settings: ThreadSettings,
  ): Promise<Place | LostThread> {
    const turn = this.#turn;
    const { threads } = this.#around;
    const { nativeId, identity, held, delta, isCompacted, isTheirs: theirs } = standing;
    const thread =
      threads.use(this.#server, nativeId) ??
      (await threads.resume(
        this.#server,
        resumeParams(nativeId, turn.model.id, turn.cwd, settings),
        turn.signal,
      ));
    if ("lost" in thread) return thread;
    this.#opened.push(thread);
    turn.bind(openBinding(nativeId, identity, turn.turnId, theirs));
    const lost = isCompacted ? turn.fragmentsLost() : [];
    if (lost.length > 0) await threads.injectItems(this.#server, nativeId, fragmentItems(lost), turn.signal);
    await this.#inject(thread, delta);
    const given = isCompacted ? turn.fragments.length : 0;
    return this.#place({ thread, isNew: false, isTheirs: theirs, identity, held, given }, settings);
  }

  /** A thread of its own for each projection: what the text tells, no native history tells again. */
  async projected(): Promise<Place> {
    const turn = this.#turn;
    const settings = await this.#settings(true);
    const prompt = wordsOf(turn.input);
    let words = prompt;
    try {
      words = projectContextEngineAssemblyForCodex({
        assembledMessages: [...this.#history],
        originalHistoryMessages: [...this.#history],
        prompt,
      }).promptText;
    } catch (error) {
      turn.degrade("projection", `the context could not be projected: ${toPagurusError(error).message}`);
    }
    const thread = await this.#start(settings);
    const known = { thread, isNew: true, seam: "projection" as const };
    if (this.#done.length > 0) {
      // What was done since the prompt stands behind the text that ends with it.
      const { content } = turn.input;
      const images = content.filter(({ type }) => type !== "text");
      const told = { role: "user" as const, content: [{ type: "text" as const, text: words }, ...images] };
      await this.#inject(thread, [told, ...this.#done.slice(1)]);
      return this.#place(known, settings);
    }
    if (words.length > MOST_INPUT_CHARS) {
      // Longer than an input may be: the part before the prompt goes in as a message of its own.
      const before = words.slice(0, words.length - prompt.length);
      await this.#inject(thread, [{ role: "user", content: before }]);
      words = prompt;
    }
    return this.#place({ ...known, words }, settings);
  }

  #tellLost({ lost }: LostThread): Promise<void> {
    const detail = `The Codex thread of this session ${lost}; the turn goes on in a new one, with the conversation as the host has it.`;
    return this.#turn.emit({ type: "notice", kind: "codex_thread", detail });
  }

  #place(known: Pick<Place, "thread" | "isNew"> & Partial<Place>, { sandbox }: ThreadSettings): Place {
    const none = { isTheirs: false, identity: undefined, held: undefined, words: undefined, given: 0 };
    known.thread.tokens ??= this.#context.estimatedTokens;
    const inputs = this.#inputs;
    return { server: this.#server, seam: "thread", keeps: false, sandbox, inputs, ...none, ...known };
  }

  async #settings(ephemeral: boolean): Promise<ThreadSettings> {
    const { permissionMode, model, engine } = this.#turn;
    const known = await threadSettings({ model, governs: engine.governs, permissionMode }, this.#around);
    return { ...known, developerInstructions: this.#context.system, ephemeral };
  }

  async #start(settings: ThreadSettings): Promise<OpenThread> {
    const params = startParams(this.#turn, settings);
    const thread = await this.#around.threads.start(this.#server, params, this.#turn.signal);
    this.#opened.push(thread);
    return thread;
  }

  async #inject(thread: OpenThread, messages: readonly AgentMessage[]): Promise<void> {
    const { signal } = this.#turn;
    const shortened = await this.#around.threads.inject(this.#server, thread.id, messages, signal);
    if (shortened.length > 0)
      this.#turn.degrade(
        "trim",
        `${shortened.length} results of tools are longer than Codex takes and are shown as their beginning and end; context_expand gives them whole`,
      );
  }
}
