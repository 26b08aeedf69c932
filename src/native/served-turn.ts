/** A turn of the host as the gateway asks it while a program runs it that tells of its answers by a way of its own. */
import { toPagurusError, type PagurusError } from "../contract/errors.ts";
import type { AssembledContext, HarnessTurn } from "../contract/harness.ts";
import type { WireTurn } from "../contract/wire.ts";

/** What the program has told of the turn. */
export interface Heard {
  /** Answers of the model, as far as they show. */
  readonly answers: number;
  /** Resolves when so many are told, and the results of their calls; false where that is not in time. */
  heard(answers: number, ms: number): Promise<boolean>;
  /** What was told so far is written down. */
  written?(): Promise<void>;
}

export interface ServedOptions {
  /** How long a request waits for what the program told before it, ms: both come by ways of their own. */
  heardMs: number;
  /** The base instructions, where the program's system prompt holds them. */
  instructions?: string;
  /** Tokens of those instructions where it does not, and they are said with the context. */
  saidTokens?: number;
}

/** The turn as the gateway asks it, with what a runtime does of that in its own way. */
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
    assemble: (request) => turn.assemble(request),
    said: () => turn.said(),
    answerCompaction: (question) => turn.answerCompaction(question),
    receipt: (request) => turn.receipt(request),
    degrade: (stage, reason) => turn.degrade(stage, reason),
    emit: (event) => turn.emit(event),
    ...own,
  };
}

export class ServedTurn {
  readonly turn: WireTurn;
  /** Resolves where the turn cannot go on, which the program would ask again and again. */
  readonly refused: Promise<"unserved">;
  failure: PagurusError | undefined;
  readonly #told: Heard;
  readonly #heardMs: number;
  /** Answers of the model that the gateway has counted. */
  #answers = 0;
  #onAnswer: (() => void) | undefined;

  constructor(turn: HarnessTurn, told: Heard, { heardMs, instructions, saidTokens = 0 }: ServedOptions) {
    this.#told = told;
    this.#heardMs = heardMs;
    const refused = Promise.withResolvers<"unserved">();
    this.refused = refused.promise;
    const { signal } = turn;
    this.turn = wireTurnOf(turn, {
      assemble: async (request) => {
        await this.#heard();
        try {
          const whole = withSaid(request, saidTokens);
          const { systemPromptAddition: _addition, ...context } = await turn.assemble(whole);
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
        // A provider that counts nothing says zero.
        if (request.usage?.totalTokens === 0) return;
        turn.receipt(request);
        if (request.usage) this.#counted();
      },
    });
  }

  /** The gateway has counted what the program has told. */
  async settled(): Promise<void> {
    if (this.#answers >= this.#told.answers) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, this.#heardMs);
      this.#onAnswer = () => {
        if (this.#answers < this.#told.answers) return;
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #counted(): void {
    this.#answers += 1;
    this.#onAnswer?.();
  }

  /** The engine is asked when the transcript has all that the request holds, as far as the program tells it. */
  async #heard(): Promise<void> {
    // An answer that broke off is none that it tells.
    if (!(await this.#told.heard(this.#answers, this.#heardMs))) this.#answers = this.#told.answers;
    await this.#told.written?.();
  }
}

/** What is said with the context and stands in no request of the program's takes room, too. */
function withSaid(request: Parameters<WireTurn["assemble"]>[0], saidTokens: number): typeof request {
  if (request?.fixedTokens === undefined) return request;
  return { ...request, fixedTokens: request.fixedTokens + saidTokens };
}

/** With all that the program's system prompt lacks, for the gateway to say: the engine's addition, texts of hooks. */
function saying(context: AssembledContext, instructions: string | undefined): AssembledContext {
  const { system } = context;
  const at = instructions === undefined ? -1 : system.indexOf(instructions);
  const around = at === -1 ? [system] : [system.slice(0, at), system.slice(at + (instructions?.length ?? 0))];
  const words = around.map((part) => part.replaceAll(/^\n+|\n+$/g, "")).filter((part) => part !== "");
  return words.length === 0 ? context : { ...context, systemPromptAddition: words.join("\n\n") };
}
