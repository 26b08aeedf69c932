/** Where a turn of the host runs on Codex: the session's thread with what it lacked, or one of the turn's own. */
import { PagurusError, toPagurusError } from "../../contract/errors.ts";
import type { AssembledContext, HarnessBinding, HarnessTurn } from "../../contract/harness.ts";
import type { AgentMessage, UserMessage } from "../../contract/message.ts";
import type { WireRoute } from "../../contract/wire.ts";
import { extended, type Held, NOTHING_HELD } from "../../native/held.ts";
import { isAdopted, takeOver } from "./adopted.ts";
import type { AppServer, AppServers } from "./app-server.ts";
import type { CatalogFiles } from "./catalog.ts";
import { isConversation, MOST_INPUT_CHARS, wordsOf } from "./input.ts";
import { fragmentItems } from "./items.ts";
import type { CodexOptions } from "./options.ts";
import { projectContextEngineAssemblyForCodex } from "./projection.ts";
import {
  closedBinding,
  identityOf,
  isTheirs,
  openBinding,
  resumeParams,
  standingOf,
  startParams,
  unassembledStanding,
  wireStanding,
  type Standing,
  type ThreadIdentity,
  type ThreadSettings,
} from "./thread.ts";
import type { LostThread, OpenThread, Threads } from "./threads.ts";
import type { WireRoutes } from "./wire.ts";

/** What Codex speaks with a model. */
const WIRE_API = "openai-responses";
/** Where the gateway listens is another place in each process, and no other way to the model. */
const ON_THE_WIRE = "wire";

export interface TurnSurroundings extends CodexOptions {
  servers: AppServers;
  catalogs: CatalogFiles;
  threads: Threads;
  routes: WireRoutes;
}

type PlaceSeam = "thread" | "projection" | "wire";

export interface Place {
  server: AppServer;
  thread: OpenThread;
  seam: PlaceSeam;
  /** The thread's way through the model gateway, on the wire. */
  route: WireRoute | undefined;
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
  const wanted = seamOf(turn, context, around);
  const server = await around.servers.get(turn.signal);
  const drift = around.servers.takeDrift(server);
  if (drift !== undefined) await turn.emit({ type: "notice", kind: "codex", detail: drift });
  if (context.messages.length <= context.historyCount)
    throw new PagurusError("internal", "The assembled context has no live turn.");
  const route = await wayOf(turn, wanted, around);
  const opening = new Opening(turn, context, around, server, route);
  let place: Place;
  try {
    place = wanted === "projection" ? await opening.projected() : await opening.bound();
  } catch (error) {
    opening.giveUp();
    throw error;
  } finally {
    if (route) await around.routes.giveUp(route);
  }
  around.log.debug("codex context engine assemble applied", {
    sessionId: turn.sessionId,
    turnId: turn.turnId,
    engineId: turn.engine.id,
    threadId: place.thread.id,
    seam: place.seam,
    assembledMessageCount: context.messages.length,
    estimatedTokens: context.estimatedTokens,
    hasSystemPromptAddition: context.hasSystemPromptAddition === true,
  });
  return place;
}

function seamOf(turn: HarnessTurn, context: AssembledContext, { seam }: TurnSurroundings): PlaceSeam {
  if (!turn.engine.governs) return "thread";
  // The gateway asks anew for each request.
  if (seam === "wire") return seam;
  if (context.degraded !== undefined) return "thread";
  return seam ?? (context.projection?.epoch === undefined ? "projection" : "thread");
}

/** The turn's way through the gateway, or why there is none, in words. */
async function routeFor(
  turn: HarnessTurn,
  { routes, endpoint }: TurnSurroundings,
): Promise<WireRoute | string> {
  if (!routes.canOpen) return "the host has no model gateway";
  if (endpoint(turn.model) === undefined)
    return `Codex's own login does not pass the model gateway (give the host a key for ${turn.model.ref})`;
  try {
    return await routes.of(turn.binding()?.nativeId, turn.sessionKey);
  } catch (error) {
    return `the model gateway could not be opened: ${toPagurusError(error).message.replace(/\.$/, "")}`;
  }
}

/**
 * Undefined where the turn needs none, or goes on without one, which is said. A model of another protocol is asked by the
 * gateway whoever has the context. Throws `runtime_unsupported`.
 */
async function wayOf(
  turn: HarnessTurn,
  seam: PlaceSeam,
  around: TurnSurroundings,
): Promise<WireRoute | undefined> {
  const isForeign = turn.model.api !== WIRE_API;
  if (seam !== "wire" && !isForeign) return undefined;
  const route = await routeFor(turn, around);
  if (typeof route !== "string") return route;
  if (isForeign) {
    const sentence = `Codex speaks the Responses API and ${turn.model.ref} another protocol, and ${route}; choose another runtime or model.`;
    throw new PagurusError("runtime_unsupported", sentence);
  }
  turn.degrade("assemble", `the context goes into the thread, not over the wire: ${route}`);
  return undefined;
}

export async function threadSettings(
  about: {
    model: HarnessTurn["model"];
    governs: boolean;
    permissionMode?: HarnessTurn["permissionMode"];
    /** Codex's own compaction is not kept away. */
    compacts?: boolean;
  },
  around: Pick<TurnSurroundings, "endpoint" | "catalogs" | "sandbox">,
): Promise<Pick<ThreadSettings, "endpoint" | "catalogFile" | "sandbox">> {
  const { model, governs, permissionMode, compacts } = about;
  const readOnly = permissionMode === "read-only" || permissionMode === "deny";
  return {
    endpoint: around.endpoint(model),
    catalogFile: governs && compacts !== true ? await around.catalogs.file(model.id) : undefined,
    sandbox: readOnly ? "read-only" : (around.sandbox ?? "workspace-write"),
  };
}

class Opening {
  readonly #turn: HarnessTurn;
  readonly #context: AssembledContext;
  readonly #around: TurnSurroundings;
  readonly #server: AppServer;
  readonly #route: WireRoute | undefined;
  /** What the thread holds is of no interest: the gateway gives the model the engine's context. */
  readonly #isWired: boolean;
  readonly #history: readonly AgentMessage[];
  /** What the turn has done so far, where it goes on on another thread. */
  readonly #done: readonly AgentMessage[];
  readonly #inputs: readonly UserMessage[];
  readonly #opened: OpenThread[] = [];

  constructor(
    turn: HarnessTurn,
    context: AssembledContext,
    around: TurnSurroundings,
    server: AppServer,
    route: WireRoute | undefined,
  ) {
    this.#turn = turn;
    this.#context = context;
    this.#around = around;
    this.#server = server;
    this.#route = route;
    this.#isWired = route !== undefined && turn.engine.governs;
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
    const route = this.#route;
    const keeps = !turn.engine.governs;
    // On the wire a thread is told nothing but what a thread before it has done in this very turn.
    const said = this.#isWired ? this.#done : [...this.#history, ...this.#done];
    const settings = await this.#settings(false);
    const { threads } = this.#around;
    const { binding, standing, identity } = await this.#standing(settings, said);
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
    if (route) this.#around.routes.keep(thread.id, route);
    if (going) await this.#tellLost(going);
    if (binding && !isTheirs(binding) && going?.isHeld !== true)
      threads.leave(this.#server, binding.nativeId);
    turn.bind(this.#bindingTo(thread.id, identity));
    await this.#inject(thread, said);
    const held = keeps || this.#isWired ? undefined : extended(NOTHING_HELD, said);
    return this.#place({ thread, isNew: true, keeps, identity, held }, settings);
  }

  async #standing(
    settings: ThreadSettings,
    said: readonly AgentMessage[],
  ): Promise<{ binding: HarnessBinding | undefined; standing: Standing; identity: ThreadIdentity }> {
    const turn = this.#turn;
    const context = this.#context;
    const isPlain = context.degraded !== undefined;
    const keeps = !turn.engine.governs;
    const place = this.#route ? ON_THE_WIRE : (settings.endpoint?.baseUrl ?? "");
    const identity = identityOf(turn, this.#isWired ? { system: context.system } : context, place);
    const found = turn.binding();
    const { threads } = this.#around;
    const binding = isAdopted(found)
      ? await takeOver(found, { turn, identity, settings, server: this.#server, threads })
      : found;
    if (this.#isWired) return { binding, identity, standing: wireStanding(binding, identity, isPlain) };
    const standing =
      !isPlain || keeps ? standingOf(binding, identity, said, keeps) : unassembledStanding(binding, identity);
    return { binding, standing, identity };
  }

  /** On the wire nobody minds how a turn on the thread has ended. */
  #bindingTo(nativeId: string, identity: ThreadIdentity, theirs = false): HarnessBinding {
    if (this.#isWired) return closedBinding(nativeId, identity, { isTheirs: theirs });
    return openBinding(nativeId, identity, this.#turn.turnId, theirs);
  }

  /** The thread as it is, after a restart of either side too, or why not. */
  async #goOn(
    standing: Extract<Standing, { bound: true }>,
    settings: ThreadSettings,
  ): Promise<Place | LostThread> {
    const turn = this.#turn;
    const { threads } = this.#around;
    const { nativeId, identity, held, delta, isCompacted, isTheirs: theirs } = standing;
    const route = this.#route;
    if (route && threads.has(this.#server, nativeId) && !this.#around.routes.has(nativeId))
      return { isHeld: false, lost: "does not know the way to the model any more" };
    const thread =
      threads.use(this.#server, nativeId) ??
      (await threads.resume(
        this.#server,
        resumeParams(nativeId, turn.model.id, turn.cwd, settings),
        turn.signal,
      ));
    if ("lost" in thread) return thread;
    this.#opened.push(thread);
    if (route) this.#around.routes.keep(nativeId, route);
    turn.bind(this.#bindingTo(nativeId, identity, theirs));
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
    const route = this.#route;
    const seam = this.#isWired ? ("wire" as const) : ("thread" as const);
    return { server: this.#server, seam, route, keeps: false, sandbox, inputs, ...none, ...known };
  }

  async #settings(ephemeral: boolean): Promise<ThreadSettings> {
    const { permissionMode, model, engine } = this.#turn;
    // Where the engine's context goes into the thread it must never be compacted.
    const compacts = this.#isWired && this.#around.compaction === "own";
    const about = { model, governs: engine.governs, permissionMode, compacts };
    const known = await threadSettings(about, this.#around);
    const told = { ...known, developerInstructions: this.#context.system, ephemeral };
    if (!this.#route) return told;
    const { baseUrl, headers } = this.#route;
    return { ...told, isWired: true, endpoint: { baseUrl, headers: { ...headers } } };
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
