/**
 * A turn of the host on Codex: which thread it runs on, what that thread lacks, the native turn, and what the thread
 * holds afterwards. Source: harness port, "Implementation plan"; the design, "Codex".
 */
import { PagurusError, toPagurusError } from "../../contract/errors.ts";
import type { AdditionalContext } from "../../contract/fragment.ts";
import type {
  AssembledContext,
  HarnessTurn,
  HarnessTurnResult,
  SteeringMessage,
} from "../../contract/harness.ts";
import type { AgentMessage, UserMessage } from "../../contract/message.ts";
import { RpcError } from "../../rpc/peer.ts";
import type { AppServer, AppServers } from "./app-server.ts";
import type { CatalogFiles } from "./catalog.ts";
import { turnFailure } from "./failure.ts";
import type { CodexOptions } from "./options.ts";
import { toHistoryItems } from "./items.ts";
import type {
  JsonValue,
  ThreadArchiveParams,
  ThreadInjectItemsParams,
  ThreadStartResponse,
  TurnInterruptParams,
  TurnStartParams,
  TurnStartResponse,
  TurnSteerParams,
  UserInput,
} from "./protocol.ts";
import { NativeTurn, type NativeEnd } from "./native-turn.ts";
import { projectContextEngineAssemblyForCodex } from "./projection.ts";
import {
  closedBinding,
  extended,
  identityOf,
  NOTHING_HELD,
  openBinding,
  standingOf,
  startParams,
  unassembledStanding,
  type Held,
  type ThreadIdentity,
  type ThreadSettings,
} from "./thread.ts";

/** Characters of input that Codex takes, with room for what is around them. */
const MOST_INPUT_CHARS = 1_000_000;
const INTERRUPT_MS = 5_000;
const REQUEST_MS = 60_000;

interface RunnerOptions extends CodexOptions {
  servers: AppServers;
  catalogs: CatalogFiles;
}

/** A thread that a turn of the host runs on. */
interface Bound {
  server: AppServer;
  threadId: string;
  /** Undefined where the thread is of this turn only. */
  identity: ThreadIdentity | undefined;
  /** What the thread holds; undefined once that is not known. */
  held: Held | undefined;
  /** Input that could not join the native turn any more; the next one begins with it. */
  late: SteeringMessage[];
}

function inputOf(message: UserMessage, words?: string): UserInput[] {
  const { content } = message;
  const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  const texts = words === undefined ? parts : parts.filter(({ type }) => type !== "text");
  const said = words === undefined ? [] : [{ type: "text" as const, text: words }];
  return [...said, ...texts].map((part) =>
    part.type === "text"
      ? { type: "text", text: part.text, text_elements: [] }
      : { type: "image", url: `data:${part.mimeType};base64,${part.data}` },
  );
}

function inputsOf(messages: readonly UserMessage[]): UserInput[] {
  return messages.flatMap((message) => inputOf(message));
}

/** The set that came with the newest input; Codex injects what of it is new to the thread. */
function contextOf(messages: readonly SteeringMessage[]): AdditionalContext | null {
  return messages.at(-1)?.additionalContext ?? null;
}

/** Fragments reach Codex as the set of the turn, which it keeps itself. */
function isConversation(message: AgentMessage): boolean {
  return message.role !== "user" || message.fragment === undefined;
}

function wordsOf({ content }: UserMessage): string {
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
}

function factsOf({ sessionId, turnId, engine }: HarnessTurn): Record<string, unknown> {
  return { sessionId, turnId, engineId: engine.id };
}

function refused(error: RpcError): PagurusError {
  return new PagurusError(
    "runtime_failed",
    `Codex refused the turn: ${error.message.replace(/\.?$/, ".")} The conversation is kept; send the request again.`,
    { cause: error, details: { rpcCode: error.code } },
  );
}

/** A thread that nobody goes on with does not stay in Codex's list. */
function archive(server: AppServer, threadId: string): void {
  const params: ThreadArchiveParams = { threadId };
  server.request("thread/archive", params).catch(() => undefined);
}

function noteHeld(bound: Bound, messages: readonly AgentMessage[]): void {
  if (bound.held) bound.held = extended(bound.held, messages);
}

export class TurnRunner {
  readonly #options: RunnerOptions;
  /** Threads that each child has loaded: another child knows nothing of them. */
  readonly #loaded = new WeakMap<AppServer, Set<string>>();
  /** Of host turns that go on after a native turn. */
  readonly #bound = new WeakMap<HarnessTurn, Bound>();

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  /** Throws `PagurusError`. */
  async run(turn: HarnessTurn): Promise<HarnessTurnResult> {
    const going = this.#bound.get(turn);
    if (going) return this.#goOn(turn, going);
    let context = await turn.assemble();
    for (let again = false; ; again = true) {
      try {
        return await this.#first(turn, context);
      } catch (error) {
        const failure = error instanceof RpcError ? refused(error) : toPagurusError(error, "runtime_failed");
        if (again || turn.signal.aborted) throw failure;
        if (failure.code === "context_overflow")
          context = await turn.assemble({ overflow: { message: failure.message } });
        else if (!(error instanceof RpcError)) throw failure;
        // What Codex refuses of a bound thread (deleted, held by another process) it may take of a new one.
        turn.bind(undefined);
      }
    }
  }

  async #first(turn: HarnessTurn, context: AssembledContext): Promise<HarnessTurnResult> {
    const server = await this.#options.servers.get(turn.signal);
    const [input, ...more] = context.messages.slice(context.historyCount);
    const seam = this.#seamOf(turn, context);
    this.#options.log.debug("codex context engine assemble applied", {
      ...factsOf(turn),
      seam,
      assembledMessageCount: context.messages.length,
      estimatedTokens: context.estimatedTokens,
    });
    if (!input) throw new PagurusError("internal", "The assembled context has no live turn.");
    const history = context.messages.slice(0, context.historyCount).filter(isConversation);
    const extra = more.filter(isConversation).filter((message) => message.role === "user");
    if (seam === "projection") {
      const { bound, words } = await this.#projected(turn, context, server, history);
      const input = [...inputOf(turn.input, words), ...extra.flatMap((each) => inputOf(each))];
      return this.#native(turn, bound, input, turn.additionalContext);
    }
    const bound = await this.#thread(turn, context, server, history);
    const inputs = [turn.input, ...extra];
    noteHeld(bound, inputs);
    return this.#native(turn, bound, inputsOf(inputs), turn.additionalContext);
  }

  #seamOf(turn: HarnessTurn, context: AssembledContext): "thread" | "projection" {
    if (!turn.engine.governs || context.degraded !== undefined) return "thread";
    return context.projection?.epoch === undefined ? "projection" : "thread";
  }

  /** Input that came while the native turn was ending. */
  async #goOn(turn: HarnessTurn, bound: Bound): Promise<HarnessTurnResult> {
    const inputs = await turn.takeInputs();
    if (inputs.length === 0) return { stopReason: "stop", usage: { input: 0, output: 0, totalTokens: 0 } };
    noteHeld(bound, inputs);
    return this.#native(turn, bound, inputsOf(inputs), contextOf(inputs));
  }

  async #settings(turn: HarnessTurn, system: string, ephemeral: boolean): Promise<ThreadSettings> {
    const { permissionMode, model, engine } = turn;
    const readOnly = permissionMode === "read-only" || permissionMode === "deny";
    return {
      endpoint: this.#options.endpoint(model),
      catalogFile: engine.governs ? await this.#options.catalogs.file(model.id) : undefined,
      developerInstructions: system,
      sandbox: readOnly ? "read-only" : (this.#options.sandbox ?? "workspace-write"),
      ephemeral,
    };
  }

  /** The session's thread, with what it lacks of the history; a new one where it cannot go on. */
  async #thread(
    turn: HarnessTurn,
    context: AssembledContext,
    server: AppServer,
    history: readonly AgentMessage[],
  ): Promise<Bound> {
    const settings = await this.#settings(turn, context.system, false);
    const identity = identityOf(turn, context, settings.endpoint?.baseUrl ?? "");
    const binding = turn.binding();
    const standing =
      context.degraded === undefined
        ? standingOf(binding, identity, history)
        : unassembledStanding(binding, identity);
    const isLoaded = standing.bound && this.#threadsOf(server).has(standing.nativeId);
    if (standing.bound && isLoaded) {
      const { nativeId: threadId, held, delta } = standing;
      turn.bind(openBinding(threadId, standing.identity, turn.turnId));
      await this.#inject(turn, server, threadId, delta);
      return { server, threadId, identity: standing.identity, held, late: [] };
    }
    const reason = standing.bound ? "Codex was started anew" : standing.reason;
    const threadId = await this.#start(turn, server, settings);
    this.#options.log.debug("codex thread started", {
      ...factsOf(turn),
      threadId,
      reason,
      before: binding?.nativeId,
    });
    if (binding) archive(server, binding.nativeId);
    turn.bind(openBinding(threadId, identity, turn.turnId));
    await this.#inject(turn, server, threadId, history);
    return { server, threadId, identity, held: extended(NOTHING_HELD, history), late: [] };
  }

  /** A thread of its own for each projection: what the text tells, no native history tells again. */
  async #projected(
    turn: HarnessTurn,
    context: AssembledContext,
    server: AppServer,
    history: AgentMessage[],
  ): Promise<{ bound: Bound; words: string }> {
    const settings = await this.#settings(turn, context.system, true);
    const prompt = wordsOf(turn.input);
    let words = prompt;
    try {
      words = projectContextEngineAssemblyForCodex({
        assembledMessages: history,
        originalHistoryMessages: history,
        prompt,
      }).promptText;
    } catch (error) {
      turn.degrade("projection", `the context could not be projected: ${toPagurusError(error).message}`);
    }
    const threadId = await this.#start(turn, server, settings);
    const bound: Bound = { server, threadId, identity: undefined, held: undefined, late: [] };
    if (words.length <= MOST_INPUT_CHARS) return { bound, words };
    // Longer than an input may be: the part before the prompt goes in as a message of its own.
    const before = words.slice(0, words.length - prompt.length);
    await this.#inject(turn, server, threadId, [{ role: "user", content: before }]);
    return { bound, words: prompt };
  }

  #threadsOf(server: AppServer): Set<string> {
    const known = this.#loaded.get(server) ?? new Set<string>();
    this.#loaded.set(server, known);
    return known;
  }

  async #start(turn: HarnessTurn, server: AppServer, settings: ThreadSettings): Promise<string> {
    const { thread } = await server.request<ThreadStartResponse>(
      "thread/start",
      startParams(turn, settings),
      {
        signal: turn.signal,
        deadlineMs: REQUEST_MS,
      },
    );
    const { id } = thread;
    this.#threadsOf(server).add(id);
    return id;
  }

  async #inject(
    turn: HarnessTurn,
    server: AppServer,
    threadId: string,
    messages: readonly AgentMessage[],
  ): Promise<void> {
    if (messages.length === 0) return;
    const { items, shortened } = toHistoryItems(messages);
    if (shortened.length > 0)
      turn.degrade(
        "trim",
        `${shortened.length} results of tools are longer than Codex takes and are shown as their beginning and end; context_expand gives them whole`,
      );
    const params: ThreadInjectItemsParams = { threadId, items: items as JsonValue[] };
    await server.request("thread/inject_items", params, { signal: turn.signal, deadlineMs: REQUEST_MS });
  }

  /** One native turn, with the steering that comes meanwhile. */
  async #native(
    turn: HarnessTurn,
    bound: Bound,
    input: UserInput[],
    additionalContext: AdditionalContext | null,
  ): Promise<HarnessTurnResult> {
    const { server, threadId } = bound;
    const native = new NativeTurn(this.#watched(turn, bound));
    const unlisten = server.listen(threadId, native);
    this.#bound.set(turn, bound);
    let end: NativeEnd;
    try {
      turn.receipt({});
      const effort = turn.thinking === undefined || turn.thinking === "off" ? {} : { effort: turn.thinking };
      const params: TurnStartParams = { threadId, input, additionalContext, ...effort };
      const started = await server.request<TurnStartResponse>("turn/start", params, {
        deadlineMs: REQUEST_MS,
      });
      native.nativeTurnId ??= started.turn.id;
      end = await this.#untilEnd(turn, bound, native);
    } catch (error) {
      await native.close(turn.signal.aborted ? "aborted" : "error");
      this.#forget(turn, bound);
      throw error;
    } finally {
      unlisten();
    }
    return this.#ended(turn, bound, native, end);
  }

  /** The messages of the turn are what the thread holds more. */
  #watched(turn: HarnessTurn, bound: Bound): HarnessTurn {
    const emit: HarnessTurn["emit"] = (event) => {
      if (event.type === "message") noteHeld(bound, [event.message]);
      return turn.emit(event);
    };
    return Object.create(turn, { emit: { value: emit } }) as HarnessTurn;
  }

  async #untilEnd(turn: HarnessTurn, bound: Bound, native: NativeTurn): Promise<NativeEnd> {
    let isOver = false;
    const over = native.ended.finally(() => {
      isOver = true;
    });
    over.catch(() => undefined);
    const aborted = abortOf(turn.signal);
    while (!isOver) {
      const arrives = turn.inputArrives().then(() => "input" as const);
      const what = await Promise.race([over, aborted, native.exceeded, arrives]);
      if (what === "aborted" || what === "exceeded") return this.#interrupt(bound, native);
      if (what === "input" && !isOver && !(await this.#steer(turn, bound, native))) break;
    }
    const stopped = Promise.race([aborted, native.exceeded]);
    return Promise.race([over, stopped.then(() => this.#interrupt(bound, native))]);
  }

  /** False where nothing more can come. */
  async #steer(turn: HarnessTurn, bound: Bound, native: NativeTurn): Promise<boolean> {
    await native.split();
    const inputs = await turn.takeInputs();
    if (inputs.length === 0) return false;
    // Codex puts it behind the answer that is under way, the transcript where it was said: no longer the same order.
    bound.held = undefined;
    const params: TurnSteerParams = {
      threadId: bound.threadId,
      expectedTurnId: native.nativeTurnId ?? "",
      input: inputsOf(inputs),
      additionalContext: contextOf(inputs),
    };
    try {
      await bound.server.request("turn/steer", params, { deadlineMs: REQUEST_MS });
    } catch (error) {
      // The turn is ending, or Codex compacts: it is in the transcript already, and the next native turn begins with it.
      if (!(error instanceof RpcError)) throw error;
      bound.late.push(...inputs);
    }
    return true;
  }

  async #interrupt({ server, threadId }: Bound, native: NativeTurn): Promise<NativeEnd> {
    const params: TurnInterruptParams = { threadId, turnId: native.nativeTurnId ?? "" };
    server.request("turn/interrupt", params, { deadlineMs: INTERRUPT_MS }).catch(() => undefined);
    const late = new Promise<NativeEnd>((resolve) => {
      setTimeout(() => resolve({ status: "interrupted" }), INTERRUPT_MS).unref();
    });
    return Promise.race([native.ended, late]).catch(() => ({ status: "interrupted" as const }));
  }

  async #ended(
    turn: HarnessTurn,
    bound: Bound,
    native: NativeTurn,
    end: NativeEnd,
  ): Promise<HarnessTurnResult> {
    const { aborted } = turn.signal;
    await native.close(end.status === "completed" ? "stop" : aborted ? "aborted" : "error");
    const usage = native.usage ?? { input: 0, output: 0, totalTokens: 0 };
    const { identity, held, threadId } = bound;
    if (end.status === "completed" && identity && held && !native.compacted)
      turn.bind(closedBinding(threadId, identity, held));
    else this.#forget(turn, bound);
    if (end.status === "failed") throw turnFailure(end.error);
    if (end.status === "completed" && bound.late.length > 0 && !aborted) {
      const late = bound.late.splice(0);
      return this.#native(turn, bound, inputsOf(late), contextOf(late));
    }
    if (end.status === "completed") return { stopReason: "stop", usage };
    return { stopReason: aborted ? "aborted" : "max_steps", usage };
  }

  /** The next turn begins a thread anew, from the engine's context. */
  #forget(turn: HarnessTurn, bound: Bound): void {
    bound.held = undefined;
    if (!bound.identity) return;
    turn.bind(undefined);
    archive(bound.server, bound.threadId);
  }
}

function abortOf(signal: AbortSignal): Promise<"aborted"> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve("aborted");
    signal.addEventListener("abort", () => resolve("aborted"), { once: true });
  });
}
