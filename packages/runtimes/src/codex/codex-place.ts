/** Opens the thread of a turn: the session's thread with what it lacks, or a new one for this turn. */
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { AssembledContext, HarnessBinding, HarnessTurn } from "@pagurus/contract/harness/harness";
import type { AgentMessage, ImagePart, TextPart, UserMessage } from "@pagurus/contract/message";
import type { WireRoute } from "@pagurus/contract/harness/wire";
import { firstVersionNote } from "@pagurus/core/platform/version-notes";
import { repositoryRoot } from "@pagurus/core/platform/repository";
import { splitInput } from "../thread/thread-input.ts";
import { extended, type Held, NOTHING_HELD } from "../thread/thread-state.ts";
import { isAdopted, takeOver } from "./app-server/adopted.ts";
import type { AppServer, AppServers } from "./app-server/app-server.ts";
import type { CatalogFiles } from "./codex-catalog.ts";
import { isConversation, MOST_INPUT_CHARS, wordsOf } from "./app-server/codex-input.ts";
import { fragmentItems } from "./codex-items.ts";
import type { CodexOptions } from "./codex-options.ts";
import { projectContextEngineAssemblyForCodex, type CodexContextProjection } from "./codex-projection.ts";
import {
  changedInstructions,
  closedBinding,
  identityOf,
  isForeignThread,
  openBinding,
  resumeParams,
  checkCodexBinding,
  startParams,
  checkUnassembled,
  checkWired,
  type BindingCheck,
  type ThreadIdentity,
  type ThreadSettings,
} from "./codex-thread.ts";
import { routeOfTurn, seamOf, type PlaceSeam } from "./codex-seam.ts";
import type { LostThread, OpenThread, Threads } from "./codex-threads.ts";
import { firstShown, isPastBound, nowShown, type ShownInstructions } from "./shown-instructions.ts";
import { textAround } from "@pagurus/core/native/around";
import type { WireRoutes } from "./wire/codex-wire.ts";
import { realPath } from "@pagurus/core/platform/real-path";

/** Constant in the identity of routes: the gateway's address differs in each process. */
const ON_THE_WIRE = "wire";

export interface TurnSurroundings extends CodexOptions {
  servers: AppServers;
  catalogs: CatalogFiles;
  threads: Threads;
  routes: WireRoutes;
}

/** How a turn uses its thread. */
type ThreadUse =
  /** For this turn alone: the context is text around the prompt. */
  | { kind: "once" }
  /** Over turns; `held` is the part of the assembled context in it, undefined once that is unknown. */
  | { kind: "held"; identity: ThreadIdentity; held: Held | undefined }
  /** Over turns; Codex manages the context. */
  | { kind: "kept"; identity: ThreadIdentity }
  /** Over turns; its content does not matter, since the gateway sends the model the engine's context. */
  | { kind: "wired"; identity: ThreadIdentity };

/** The seam by which contexts reach the model in each use. */
export const SEAMS: Readonly<Record<ThreadUse["kind"], PlaceSeam>> = {
  once: "projection",
  held: "thread",
  kept: "thread",
  wired: "wire",
};

export interface Place {
  server: AppServer;
  thread: OpenThread;
  use: ThreadUse;
  /** The thread's route through the model gateway, on the wire. */
  route: WireRoute | undefined;
  /** The thread began with this turn. */
  isNew: boolean;
  /** The thread is the user's own. */
  isTheirs: boolean;
  /** User messages that the thread does not have yet, in order. */
  inputs: readonly UserMessage[];
  /** Text that replaces the first input's own. */
  words: string | undefined;
  /** Images of earlier messages that come before it, with the lines that name them. */
  images: readonly (TextPart | ImagePart)[];
  sandbox: ThreadSettings["sandbox"];
  /** Number of fragments of the turn that the thread already has. */
  fragmentCount: number;
  /** Developer instructions of the turn, when the thread began with others. */
  changed: string | undefined;
  /** The texts around the base instructions that the thread shows; undefined where the host does not count them. */
  shown: ShownInstructions | undefined;
}

/** Throws Codex's refusal, `runtime_failed`. */
export async function openPlace(
  turn: HarnessTurn,
  context: AssembledContext,
  around: TurnSurroundings,
): Promise<Place> {
  const wanted = seamOf(turn, context, around);
  const server = await around.servers.get(turn.signal);
  const note = firstVersionNote(around.home, "codex", server.version);
  if (note !== undefined) await turn.io.emit({ type: "notice", kind: "codex", detail: note });
  if (context.messages.length <= context.historyCount)
    throw new PagurusError("internal", "The assembled context has no live turn.");
  const route = await routeOfTurn(turn, wanted, around);
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
    seam: SEAMS[place.use.kind],
    assembledMessageCount: context.messages.length,
    estimatedTokens: context.estimatedTokens,
    hasSystemPromptAddition: context.hasSystemPromptAddition === true,
  });
  return place;
}

/** The prompt of a new native turn, for hooks; with `HarnessTurn.assemble`. */
export function promptTextOf(
  turn: HarnessTurn,
  context: Pick<AssembledContext, "messages" | "historyCount" | "projection" | "degraded">,
  around: Pick<TurnSurroundings, "seam">,
): string {
  const prompt = wordsOf(turn.input);
  if (seamOf(turn, context, around) !== "projection") return prompt;
  const history = context.messages.slice(0, context.historyCount).filter(isConversation);
  return projectionOf(turn, history).promptText;
}

/** The assembled context as text and images around the turn's prompt. */
function projectionOf(
  { input, model }: HarnessTurn,
  history: readonly AgentMessage[],
): CodexContextProjection {
  return projectContextEngineAssemblyForCodex({
    assembledMessages: [...history],
    originalHistoryMessages: [...history],
    prompt: wordsOf(input),
    noImages: model.input.includes("image") ? undefined : `${model.ref} is not known to take images`,
  });
}

export async function threadSettings(
  about: {
    model: HarnessTurn["model"];
    governs: boolean;
    cwd: string;
    permissionMode?: HarnessTurn["permissionMode"];
    /** Codex's own compaction stays enabled. */
    compacts?: boolean;
  },
  around: Pick<TurnSurroundings, "endpoint" | "catalogs" | "sandbox" | "trusts">,
): Promise<Pick<ThreadSettings, "endpoint" | "catalogFile" | "sandbox" | "untrusted">> {
  const { model, governs, cwd, permissionMode, compacts } = about;
  const readOnly = permissionMode === "read-only" || permissionMode === "deny";
  return {
    endpoint: around.endpoint(model),
    catalogFile: governs && compacts !== true ? await around.catalogs.file(model.id) : undefined,
    sandbox: readOnly ? "read-only" : (around.sandbox ?? "workspace-write"),
    untrusted: around.trusts(cwd) ? [] : foldersOf(cwd),
  };
}

/** The folder and the root of its repository, by the names that Codex may look them up by. */
function foldersOf(cwd: string): string[] {
  const real = realPath(cwd);
  return [...new Set([cwd, real, repositoryRoot(real) ?? real])];
}

class Opening {
  readonly #turn: HarnessTurn;
  readonly #context: AssembledContext;
  readonly #around: TurnSurroundings;
  readonly #server: AppServer;
  readonly #route: WireRoute | undefined;
  /** How a thread is used that continues over turns. */
  readonly #kind: Exclude<ThreadUse["kind"], "once">;
  readonly #history: readonly AgentMessage[];
  /** The turn's earlier messages, when it continues on another thread. */
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
    this.#kind = !turn.engine.governs ? "kept" : route ? "wired" : "held";
    const { messages, historyCount } = context;
    const { before, inputs } = splitInput(messages.slice(historyCount).filter(isConversation));
    this.#history = messages.slice(0, historyCount).filter(isConversation);
    this.#done = before;
    this.#inputs = inputs;
  }

  /** Releases an opened thread that is not used. */
  giveUp(): void {
    for (const thread of this.#opened) this.#around.threads.rest(this.#server, thread);
  }

  /** The session's thread, with what it lacks of the history; a new one when it cannot continue. */
  async bound(): Promise<Place> {
    const turn = this.#turn;
    const route = this.#route;
    // On the wire a thread gets only the messages of an earlier thread of this turn.
    const missing = this.#kind === "wired" ? this.#done : [...this.#history, ...this.#done];
    const settings = await this.#settings(false);
    const { threads } = this.#around;
    const { binding, check, identity } = await this.#check(settings, missing);
    const continuing = check.bound ? await this.#continue(check, settings) : undefined;
    if (continuing && !("lost" in continuing)) return continuing;
    const thread = await this.#start(settings);
    this.#around.log.debug("codex thread started", {
      sessionId: turn.sessionId,
      turnId: turn.turnId,
      threadId: thread.id,
      before: binding?.nativeId,
      reason: check.bound ? "Codex cannot continue the thread" : check.reason,
    });
    if (route) this.#around.routes.keep(thread.id, route);
    if (continuing) await this.#reportLost(continuing);
    if (binding && !isForeignThread(binding) && continuing?.isHeld !== true)
      threads.leave(this.#server, binding.nativeId);
    turn.thread.bind(this.#bindingTo(thread.id, identity));
    await this.#inject(thread, missing);
    const use = this.#useOf(identity, extended(NOTHING_HELD, missing));
    const shown =
      this.#kind === "wired" ? undefined : firstShown(textAround(this.#context.system, turn.instructions));
    return this.#place({ thread, use, isNew: true, shown }, settings);
  }

  async #check(
    settings: ThreadSettings,
    missing: readonly AgentMessage[],
  ): Promise<{ binding: HarnessBinding | undefined; check: BindingCheck; identity: ThreadIdentity }> {
    const turn = this.#turn;
    const context = this.#context;
    const kind = this.#kind;
    const endpoint = this.#route ? ON_THE_WIRE : (settings.endpoint?.baseUrl ?? "");
    const identity =
      kind === "wired"
        ? identityOf(turn, { system: context.system }, endpoint, true)
        : identityOf(turn, context, endpoint);
    const found = turn.thread.binding();
    const { threads } = this.#around;
    const binding = isAdopted(found)
      ? await takeOver(found, { turn, identity, settings, server: this.#server, threads })
      : found;
    return { binding, identity, check: this.#checkOf(binding, identity, missing) };
  }

  #checkOf(
    binding: HarnessBinding | undefined,
    identity: ThreadIdentity,
    missing: readonly AgentMessage[],
  ): BindingCheck {
    const isPlain = this.#context.degraded !== undefined;
    switch (this.#kind) {
      case "wired":
        return checkWired(binding, identity, isPlain);
      case "kept":
        return checkCodexBinding(binding, identity, missing, true);
      case "held":
        return isPlain
          ? checkUnassembled(binding, identity)
          : this.#bounded(checkCodexBinding(binding, identity, missing));
    }
  }

  #useOf(identity: ThreadIdentity, held: Held | undefined): ThreadUse {
    return this.#kind === "held" ? { kind: "held", identity, held } : { kind: this.#kind, identity };
  }

  /** Not for a thread of the user, and not where Codex manages the context: a new one would have what Codex has compacted. */
  #bounded(check: BindingCheck): BindingCheck {
    if (!check.bound || check.isTheirs || !check.shown) return check;
    const { shown } = this.#shownOn(check);
    return shown && isPastBound(shown, this.#context, this.#turn)
      ? { bound: false, reason: "its replaced instructions cost more than a new thread" }
      : check;
  }

  /** The instructions of the turn on a thread that continues, if it began with others, and what it then shows. */
  #shownOn({ identity, shown }: Extract<BindingCheck, { bound: true }>): Pick<Place, "changed" | "shown"> {
    // After a failed `assemble` the addition is unknown, and stays as it is.
    const isKnown = identity.isChanged === true && this.#context.degraded === undefined;
    if (!isKnown) return { changed: undefined, shown };
    const changed = changedInstructions(this.#context.system, this.#turn.instructions);
    return { changed, shown: shown && nowShown(shown, changed) };
  }

  /** On the wire it does not matter how a turn on the thread has ended. */
  #bindingTo(nativeId: string, identity: ThreadIdentity, theirs = false): HarnessBinding {
    if (this.#kind === "wired") return closedBinding(nativeId, identity, { isTheirs: theirs });
    return openBinding(nativeId, identity, this.#turn.turnId, theirs);
  }

  /** Continues the thread, also after a restart of either side; otherwise returns the reason. */
  async #continue(
    check: Extract<BindingCheck, { bound: true }>,
    settings: ThreadSettings,
  ): Promise<Place | LostThread> {
    const turn = this.#turn;
    const { threads } = this.#around;
    const { nativeId, identity, held, delta, isCompacted, isTheirs: theirs, tokens } = check;
    const route = this.#route;
    if (route && threads.has(this.#server, nativeId) && !this.#around.routes.has(nativeId))
      return { isHeld: false, lost: "has lost its route to the model" };
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
    thread.tokens ??= tokens;
    turn.thread.bind(this.#bindingTo(nativeId, identity, theirs));
    const lost = isCompacted ? turn.context.fragmentsLost() : [];
    if (lost.length > 0) await threads.injectItems(this.#server, nativeId, fragmentItems(lost), turn.signal);
    await this.#inject(thread, delta);
    const fragmentCount = isCompacted ? turn.context.fragments.length : 0;
    const use = this.#useOf(identity, held);
    const known = { thread, use, isNew: false, isTheirs: theirs, fragmentCount };
    return this.#place({ ...known, ...this.#shownOn(check) }, settings);
  }

  /** A new thread for each projection: its text must not repeat a native history. */
  async projected(): Promise<Place> {
    const turn = this.#turn;
    const settings = await this.#settings(true);
    const prompt = wordsOf(turn.input);
    let words = prompt;
    let images: Place["images"] = [];
    try {
      const projection = projectionOf(turn, this.#history);
      words = projection.promptText;
      images = projection.images;
      if (projection.imagesLeftOut !== undefined) turn.io.degrade("projection", projection.imagesLeftOut);
    } catch (error) {
      turn.io.degrade("projection", `the context could not be projected: ${toPagurusError(error).message}`);
    }
    const thread = await this.#start(settings);
    const known = { thread, use: { kind: "once" as const }, isNew: true };
    if (this.#done.length > 0) {
      // Messages since the prompt come after the text, which ends with the prompt.
      const own = turn.input.content.filter(({ type }) => type !== "text");
      const content = [...images, { type: "text" as const, text: words }, ...own];
      const first = { role: "user" as const, content };
      await this.#inject(thread, [first, ...this.#done.slice(1)]);
      return this.#place(known, settings);
    }
    if (words.length > MOST_INPUT_CHARS) {
      // Longer than an input may be: the part before the prompt becomes a message of its own.
      const before = words.slice(0, words.length - prompt.length);
      await this.#inject(thread, [{ role: "user", content: [...images, { type: "text", text: before }] }]);
      return this.#place({ ...known, words: prompt }, settings);
    }
    return this.#place({ ...known, words, images }, settings);
  }

  #reportLost({ lost }: LostThread): Promise<void> {
    const detail = `The Codex thread of this session ${lost}; the turn continues in a new one, with the conversation as the host has it.`;
    return this.#turn.io.emit({ type: "notice", kind: "codex_thread", detail });
  }

  #place(
    known: Pick<Place, "thread" | "use" | "isNew"> & Partial<Place>,
    { sandbox }: ThreadSettings,
  ): Place {
    const none = {
      isTheirs: false,
      words: undefined,
      images: [],
      fragmentCount: 0,
      changed: undefined,
      shown: undefined,
    };
    const inputs = this.#inputs;
    return { server: this.#server, route: this.#route, sandbox, inputs, ...none, ...known };
  }

  async #settings(ephemeral: boolean): Promise<ThreadSettings> {
    const { permissionMode, model, engine, cwd } = this.#turn;
    // A thread with the engine's context must never be compacted.
    const compacts = this.#kind === "wired" && this.#around.compaction === "own";
    const about = { model, governs: engine.governs, cwd, permissionMode, compacts };
    const known = await threadSettings(about, this.#around);
    const settings = { ...known, developerInstructions: this.#context.system, ephemeral };
    if (!this.#route) return settings;
    const { baseUrl, headers } = this.#route;
    return { ...settings, isWired: true, endpoint: { baseUrl, headers: { ...headers } } };
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
      this.#turn.io.degrade(
        "trim",
        `${shortened.length} tool results exceed Codex's limit and are reduced to head and tail; context_expand returns them whole`,
      );
  }
}
