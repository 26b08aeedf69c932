/** Where a turn of the host runs: the session that is bound, as it runs or resumed, or a new one with the whole context. */
import { randomUUID } from "node:crypto";
import { appendFileSync, readFileSync, realpathSync } from "node:fs";
import { PagurusError } from "../../contract/errors.ts";
import type { AssembledContext, HarnessTurn } from "../../contract/harness.ts";
import type { AgentMessage } from "../../contract/message.ts";
import { extended, type Held, NOTHING_HELD } from "../../native/held.ts";
import { fields, text } from "./fields.ts";
import { contentBlocks, parted, sessionLines, toNative, type Block, type Speaker } from "./history.ts";
import type { ClaudeOptions } from "./options.ts";
import type { LiveSession, Sessions } from "./sessions.ts";
import { bindingOf, identityOf, standingOf, type Standing, type ThreadState } from "./thread.ts";

export interface TurnSurroundings extends ClaudeOptions {
  sessions: Sessions;
}

export interface Place {
  session: LiveSession;
  /** What its program is told; empty where it goes on by itself. */
  input: Block[];
  /** Without `held` and `openTurn`. */
  state: ThreadState;
  /** With the input; undefined where Claude Code keeps the context, or the gateway tells it. */
  held: Held | undefined;
}

type Bound = Extract<Standing, { bound: true }>;

/** Throws `runtime_failed`, `store_write_failed`. */
export async function openPlace(
  turn: HarnessTurn,
  context: AssembledContext,
  around: TurnSurroundings,
): Promise<Place> {
  const { messages } = context;
  if (messages.at(-1)?.role === "assistant")
    throw new PagurusError("internal", "The assembled context has nothing to be answered.");
  const place = await new Opening(turn, context, around).open();
  around.log.debug("claude context engine assemble applied", {
    sessionId: turn.sessionId,
    turnId: turn.turnId,
    engineId: turn.engine.id,
    nativeId: place.session.id,
    assembledMessageCount: context.messages.length,
    estimatedTokens: context.estimatedTokens,
    hasSystemPromptAddition: context.hasSystemPromptAddition === true,
  });
  return place;
}

class Opening {
  readonly #turn: HarnessTurn;
  readonly #context: AssembledContext;
  readonly #around: TurnSurroundings;
  readonly #endpoint: ReturnType<ClaudeOptions["endpoint"]>;
  readonly #keeps: boolean;
  readonly #identity: ReturnType<typeof identityOf>;
  readonly #startedAs: string;

  constructor(turn: HarnessTurn, context: AssembledContext, around: TurnSurroundings) {
    this.#turn = turn;
    this.#context = context;
    this.#around = around;
    this.#endpoint = around.endpoint(turn.model);
    this.#keeps = !turn.engine.governs;
    this.#identity = identityOf(turn, context, this.#endpoint);
    const { model, tools, instructions } = this.#identity;
    this.#startedAs = [model, tools, instructions].join(" ");
  }

  async open(): Promise<Place> {
    const { sessions, log } = this.#around;
    const turn = this.#turn;
    const binding = turn.binding();
    const standing = standingOf(binding, this.#identity, this.#context, this.#keeps);
    const going = standing.bound ? await this.#goOn(standing) : undefined;
    if (going) return going;
    if (binding && standing.bound) await sessions.end(binding.nativeId);
    else if (binding) void sessions.leave(binding.nativeId);
    // Where only its program is gone the session goes on: its file is written anew, from the same context.
    const made = await this.#begin(standing.bound ? standing.nativeId : randomUUID());
    log.debug("claude session started", {
      sessionId: turn.sessionId,
      turnId: turn.turnId,
      nativeId: made.session.id,
      before: binding?.nativeId,
      reason: standing.bound ? "its program is gone" : standing.reason,
    });
    return made;
  }

  /** The bound session, where its program runs as the turn needs it, or can be started so. */
  async #goOn(standing: Bound): Promise<Place | undefined> {
    const { sessions } = this.#around;
    const { nativeId, state, lacking } = standing;
    const unassembled = this.#context.degraded !== undefined && !this.#keeps;
    const running = sessions.running(nativeId);
    const fits =
      running !== undefined &&
      running.last === state.last &&
      (unassembled || running.startedAs === this.#startedAs);
    const said = lacking.every(({ role }) => role === "user");
    if (running && fits && said) {
      this.#open(nativeId, state);
      sessions.use(running, this.#turn);
      const shown = state.isCompacted === true ? this.#turn.fragmentsLost() : [];
      const input = [
        ...shown.map(({ text: words }): Block => ({ type: "text", text: words })),
        ...lacking.flatMap((message) => (message.role === "user" ? contentBlocks(message.content) : [])),
      ];
      return this.#place(running, input, state, lacking);
    }
    return this.#keeps ? this.#resume(standing) : undefined;
  }

  /** Claude Code's own session, with what was said since behind its last line. */
  async #resume({ nativeId, state, lacking }: Bound): Promise<Place | undefined> {
    const { sessions } = this.#around;
    const cwd = cwdOf(this.#turn);
    await sessions.end(nativeId);
    const file = sessions.file(nativeId);
    const parent = file === undefined ? undefined : lastLine(file);
    if (file === undefined || parent === undefined) return undefined;
    const { head, input, goesOn } = parted(toNative(lacking, speakerOf(this.#turn), this.#context.messages));
    this.#open(nativeId, state);
    const { id: modelId } = this.#turn.model;
    const lines = sessionLines(head, { sessionId: nativeId, cwd, modelId, parent });
    // Behind a line that a crash cut short.
    const isTorn = !readFileSync(file, "utf8").endsWith("\n");
    appendFileSync(file, isTorn ? `\n${lines}` : lines);
    const words = goesOn ? wordsOf(input) : undefined;
    const session = await this.#start(nativeId, words, true);
    const shown = state.isCompacted === true ? this.#turn.fragmentsLost() : [];
    const before = shown.map(({ text: said }): Block => ({ type: "text", text: said }));
    return this.#place(session, goesOn ? [] : [...before, ...input], state, lacking);
  }

  async #begin(id: string): Promise<Place> {
    const { sessions } = this.#around;
    const { messages } = this.#context;
    const { head, input, goesOn } = parted(toNative(messages, speakerOf(this.#turn)));
    const state: ThreadState = { ...this.#identity };
    this.#open(id, state);
    if (head.length > 0) sessions.author(id, cwdOf(this.#turn), this.#turn.model.id, head);
    const session = await this.#start(id, goesOn ? wordsOf(input) : undefined, head.length > 0);
    session.tokens = this.#context.estimatedTokens;
    const place = this.#place(session, goesOn ? [] : input, state, messages, NOTHING_HELD);
    // Without words of the user's it is told to go on in words of Claude Code's own, which no later turn is to have.
    return goesOn && wordsOf(input) === "" ? { ...place, held: undefined } : place;
  }

  async #start(id: string, goesOn: string | undefined, resumes: boolean): Promise<LiveSession> {
    const request = {
      id,
      goesOn,
      startedAs: this.#startedAs,
      system: this.#context.system,
      endpoint: this.#endpoint,
      route: undefined,
      keeps: this.#keeps,
      cwd: cwdOf(this.#turn),
    };
    const { model, thinking, maxSteps } = this.#turn;
    const session = await this.#around.sessions.start(
      { model, thinking, maxSteps, turn: this.#turn },
      request,
      resumes,
    );
    for (const { role, content } of this.#context.messages)
      if (role === "assistant")
        for (const part of content) if (part.type === "toolCall") session.calls.add(part.id);
    return session;
  }

  #place(
    session: LiveSession,
    input: Block[],
    before: ThreadState,
    said: readonly AgentMessage[],
    from = before.held,
  ): Place {
    const { held: _held, openTurn: _turn, isCompacted: _compacted, ...state } = before;
    // What it was resumed with from now on; a session that goes on without the engine keeps what it was made for.
    const known = this.#keeps ? { ...state, ...this.#identity } : state;
    const held = this.#keeps || !from ? undefined : extended(from, said);
    return { session, input, state: known, held };
  }

  #open(nativeId: string, state: ThreadState): void {
    const { held: _held, ...known } = state;
    this.#turn.bind(bindingOf(nativeId, { ...known, openTurn: this.#turn.turnId }));
  }
}

export function speakerOf({ model, tools }: HarnessTurn): Speaker {
  const { provider, id: modelId } = model;
  return { provider, modelId, hostTools: new Set(tools.specs.map(({ name }) => name)) };
}

/** As the program sees its folder. */
export function cwdOf({ cwd }: HarnessTurn): string {
  return realpathSync(cwd);
}

export function wordsOf(input: readonly Block[]): string {
  return input.map((block) => text(block["text"])).join("\n");
}

/** Id of the last line of the conversation in a session file; undefined where there is none. */
function lastLine(file: string): string | undefined {
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  for (const line of lines.toReversed()) {
    try {
      const { uuid, type, isSidechain } = fields(JSON.parse(line));
      const spoken = type === "user" || type === "assistant" || type === "system" || type === "attachment";
      if (spoken && isSidechain !== true && typeof uuid === "string") return uuid;
    } catch {
      // A line that a crash cut short; Claude Code skips it too.
      continue;
    }
  }
  return undefined;
}
