/** Opens the session of a turn: the bound one, running or resumed, or a new one with the whole context. */
import { randomUUID } from "node:crypto";
import { appendFileSync, readFileSync, realpathSync } from "node:fs";
import { PagurusError } from "@pagurus/contract/errors";
import type { AssembledContext, HarnessTurn } from "@pagurus/contract/harness/harness";
import type { AgentMessage } from "@pagurus/contract/message";
import { recordOf, stringOf } from "@pagurus/core/data/record-fields";
import { contentBlocks, type Block } from "@pagurus/core/protocols/messages/messages-blocks";
import { extended, type Held, NOTHING_HELD } from "../thread/thread-state.ts";
import { parted, sessionLines, toNative, type Speaker } from "./claude-history.ts";
import type { ClaudeOptions } from "./claude-options.ts";
import type { LiveSession, Sessions } from "./claude-sessions.ts";
import {
  bindingOf,
  identityOf,
  checkClaudeBinding,
  type BindingCheck,
  type ClaudeThreadState,
} from "./claude-thread.ts";

export interface TurnSurroundings extends ClaudeOptions {
  sessions: Sessions;
}

export interface Place {
  session: LiveSession;
  /** Input of its program; empty when it continues by itself. */
  input: Block[];
  /** Without `held` and `openTurn`. */
  state: ClaudeThreadState;
  /** Includes the input; undefined when Claude Code manages the context, or the gateway sends it. */
  held: Held | undefined;
}

type Bound = Extract<BindingCheck, { bound: true }>;

/** Throws `runtime_failed`, `store_write_failed`. */
export async function openPlace(
  turn: HarnessTurn,
  context: AssembledContext,
  around: TurnSurroundings,
): Promise<Place> {
  const { messages } = context;
  if (messages.at(-1)?.role === "assistant")
    throw new PagurusError("internal", "The assembled context has no message to answer.");
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
    const binding = turn.thread.binding();
    const check = checkClaudeBinding(binding, this.#identity, this.#context, this.#keeps);
    const continuing = check.bound ? await this.#reuse(check) : undefined;
    if (continuing) return continuing;
    if (binding && check.bound) await sessions.end(binding.nativeId);
    else if (binding) void sessions.leave(binding.nativeId);
    // When only its program is gone the session continues: its file is written again, from the same context.
    const made = await this.#begin(check.bound ? check.nativeId : randomUUID());
    log.debug("claude session started", {
      sessionId: turn.sessionId,
      turnId: turn.turnId,
      nativeId: made.session.id,
      before: binding?.nativeId,
      reason: check.bound ? "its program is gone" : check.reason,
    });
    return made;
  }

  /** The bound session, when its program runs with the turn's settings, or can be started with them. */
  async #reuse(check: Bound): Promise<Place | undefined> {
    const { sessions } = this.#around;
    const { nativeId, state, lacking } = check;
    const unassembled = this.#context.degraded !== undefined && !this.#keeps;
    const running = sessions.running(nativeId);
    const fits =
      running !== undefined &&
      running.last === state.last &&
      (unassembled || running.startedAs === this.#startedAs);
    const isInput = lacking.every(({ role }) => role === "user");
    if (running && fits && isInput) {
      this.#open(nativeId, state);
      sessions.use(running, this.#turn);
      const shown = state.isCompacted === true ? this.#turn.context.fragmentsLost() : [];
      const input = [
        ...shown.map(({ text: words }): Block => ({ type: "text", text: words })),
        ...lacking.flatMap((message) => (message.role === "user" ? contentBlocks(message.content) : [])),
      ];
      return this.#place(running, input, state, lacking);
    }
    return this.#keeps ? this.#resume(check) : undefined;
  }

  /** Resumes a session that Claude Code manages, after appending the messages since its last line. */
  async #resume({ nativeId, state, lacking }: Bound): Promise<Place | undefined> {
    const { sessions } = this.#around;
    const cwd = cwdOf(this.#turn);
    await sessions.end(nativeId);
    const file = sessions.file(nativeId);
    const parent = file === undefined ? undefined : lastLine(file);
    if (file === undefined || parent === undefined) return undefined;
    const { head, input, continues } = parted(
      toNative(lacking, speakerOf(this.#turn), this.#context.messages),
    );
    this.#open(nativeId, state);
    const { id: modelId } = this.#turn.model;
    const lines = sessionLines(head, { sessionId: nativeId, cwd, modelId, parent });
    // Adds the newline after a line that a crash cut short.
    const isTorn = !readFileSync(file, "utf8").endsWith("\n");
    appendFileSync(file, isTorn ? `\n${lines}` : lines);
    const words = continues ? wordsOf(input) : undefined;
    const session = await this.#start(nativeId, words, true);
    const shown = state.isCompacted === true ? this.#turn.context.fragmentsLost() : [];
    const before = shown.map(({ text }): Block => ({ type: "text", text }));
    return this.#place(session, continues ? [] : [...before, ...input], state, lacking);
  }

  async #begin(id: string): Promise<Place> {
    const { sessions } = this.#around;
    const { messages } = this.#context;
    const { head, input, continues } = parted(toNative(messages, speakerOf(this.#turn)));
    const state: ClaudeThreadState = { ...this.#identity };
    this.#open(id, state);
    if (head.length > 0) sessions.author(id, cwdOf(this.#turn), this.#turn.model.id, head);
    const session = await this.#start(id, continues ? wordsOf(input) : undefined, head.length > 0);
    session.tokens = this.#context.estimatedTokens;
    const place = this.#place(session, continues ? [] : input, state, messages, NOTHING_HELD);
    // Without user text it continues with text of Claude Code's own, which no later turn may contain.
    return continues && wordsOf(input) === "" ? { ...place, held: undefined } : place;
  }

  async #start(id: string, continuation: string | undefined, resumes: boolean): Promise<LiveSession> {
    const request = {
      id,
      continuation,
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
    before: ClaudeThreadState,
    messages: readonly AgentMessage[],
    from = before.held,
  ): Place {
    const { held: _held, openTurn: _turn, isCompacted: _compacted, ...state } = before;
    // Identity it was resumed with; a session that continues without the engine keeps its earlier one.
    const known = this.#keeps ? { ...state, ...this.#identity } : state;
    const held = this.#keeps || !from ? undefined : extended(from, messages);
    return { session, input, state: known, held };
  }

  #open(nativeId: string, state: ClaudeThreadState): void {
    const { held: _held, ...known } = state;
    this.#turn.thread.bind(bindingOf(nativeId, { ...known, openTurn: this.#turn.turnId }));
  }
}

export function speakerOf({ model, tools }: HarnessTurn): Speaker {
  const { provider, id: modelId } = model;
  return { provider, modelId, hostTools: new Set(tools.specs.map(({ name }) => name)) };
}

/** Its folder without symbolic links, as the program sees it. */
export function cwdOf({ cwd }: HarnessTurn): string {
  return realpathSync(cwd);
}

export function wordsOf(input: readonly Block[]): string {
  return input.map((block) => stringOf(block["text"])).join("\n");
}

/** Id of the last conversation line in a session file; undefined when there is none. */
function lastLine(file: string): string | undefined {
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  for (const line of lines.toReversed()) {
    try {
      const { uuid, type, isSidechain } = recordOf(JSON.parse(line));
      const spoken = type === "user" || type === "assistant" || type === "system" || type === "attachment";
      if (spoken && isSidechain !== true && typeof uuid === "string") return uuid;
    } catch {
      // A line that a crash cut short; Claude Code skips it too.
      continue;
    }
  }
  return undefined;
}
