/** The turn of the host as the gateway calls it, while a program runs it that reports its answers over its own channel. */
import { toPagurusError, type PagurusError } from "@pagurus/contract/errors";
import type { AssembledContext, HarnessTurn } from "@pagurus/contract/harness/harness";
import type { WireTurn } from "@pagurus/contract/harness/wire";
import { textAround } from "./around.ts";

/** What the program has reported of the turn. */
export interface TurnProgress {
  /** Number of answers of the model reported so far. */
  readonly answers: number;
  /** Resolves when that many answers and the results of their calls are reported; false on timeout. */
  reported(answers: number, ms: number): Promise<boolean>;
  /** Resolves when all reported messages are written. */
  written?(): Promise<void>;
}

export interface ServedOptions {
  /** How long a request waits for the reports before it, ms: requests and reports arrive over different channels. */
  reportMs: number;
  /** The base instructions, when the program's system prompt contains them. */
  instructions?: string;
  /** Tokens of those instructions when it does not, and they are sent with the context. */
  addedTokens?: number;
}

/** The turn as the gateway calls it, with the runtime's own parts. */
export function wireTurnOf(
  turn: HarnessTurn,
  own: Partial<Pick<WireTurn, "assemble" | "answerCompaction" | "receipt">>,
): WireTurn {
  const { turnId, hostAgentId, model, engine, signal } = turn;
  return {
    // A compaction may rotate it.
    get sessionId() {
      return turn.sessionId;
    },
    turnId,
    hostAgentId,
    model,
    engine,
    signal,
    assemble: (request) => turn.context.assemble(request),
    messages: () => turn.context.messages(),
    answerCompaction: (question) => turn.context.answerCompaction(question),
    receipt: (request) => turn.context.receipt(request),
    degrade: (stage, reason) => turn.io.degrade(stage, reason),
    emit: (event) => turn.io.emit(event),
    ...own,
  };
}

export class ServedTurn {
  readonly turn: WireTurn;
  /** Resolves when the turn cannot continue, since the program would retry forever. */
  readonly refused: Promise<"unserved">;
  failure: PagurusError | undefined;
  readonly #progress: TurnProgress;
  readonly #reportMs: number;
  /** Answers of the model that the gateway has counted. */
  #answers = 0;
  #onAnswer: (() => void) | undefined;

  constructor(
    turn: HarnessTurn,
    progress: TurnProgress,
    { reportMs, instructions, addedTokens = 0 }: ServedOptions,
  ) {
    this.#progress = progress;
    this.#reportMs = reportMs;
    const refused = Promise.withResolvers<"unserved">();
    this.refused = refused.promise;
    const { signal } = turn;
    this.turn = wireTurnOf(turn, {
      assemble: async (request) => {
        await this.#allReported();
        try {
          const whole = withAddedTokens(request, addedTokens);
          const { systemPromptAddition: _addition, ...context } = await turn.context.assemble(whole);
          return saying(context, instructions);
        } catch (error) {
          if (!signal.aborted && request?.forCompaction !== true) {
            this.failure = toPagurusError(error);
            refused.resolve("unserved");
          }
          throw error;
        }
      },
      receipt: (request) => {
        // A provider without usage reports zero.
        if (request.usage?.totalTokens === 0) return;
        turn.context.receipt(request);
        if (request.usage) this.#counted();
      },
    });
  }

  /** Resolves when the gateway has counted the reported answers. */
  async settled(): Promise<void> {
    if (this.#answers >= this.#progress.answers) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, this.#reportMs);
      this.#onAnswer = () => {
        if (this.#answers < this.#progress.answers) return;
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #counted(): void {
    this.#answers += 1;
    this.#onAnswer?.();
  }

  /** Waits until the transcript has all that the request holds, as far as the program reports it, before the engine is called. */
  async #allReported(): Promise<void> {
    // An answer that broke off is not reported.
    if (!(await this.#progress.reported(this.#answers, this.#reportMs)))
      this.#answers = this.#progress.answers;
    await this.#progress.written?.();
  }
}

/** Counts the tokens of text that is sent with the context and is in no request of the program. */
function withAddedTokens(request: Parameters<WireTurn["assemble"]>[0], addedTokens: number): typeof request {
  if (request?.fixedTokens === undefined) return request;
  return { ...request, fixedTokens: request.fixedTokens + addedTokens };
}

/** Adds the text that the program's system prompt lacks, for the gateway to send: the engine's addition, texts of hooks. */
function saying(context: AssembledContext, instructions: string | undefined): AssembledContext {
  const words = textAround(context.system, instructions);
  return words === "" ? context : { ...context, systemPromptAddition: words };
}
