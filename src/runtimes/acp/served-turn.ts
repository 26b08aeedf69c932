/** A turn of the host as the gateway asks it while an agent runs it. */
import { toPagurusError, type PagurusError } from "../../contract/errors.ts";
import type { AssembledContext, HarnessTurn } from "../../contract/harness.ts";
import type { WireTurn } from "../../contract/wire.ts";

/** How long a request waits for what the agent told before it, ms: both come by ways of their own. */
const HEARD_MS = 250;

/** What the agent has told of the turn. */
export interface Heard {
  /** Answers of the model, as far as they show. */
  readonly answers: number;
  /** Resolves when so many are told, and the results of their calls; false where that is not in time. */
  heard(answers: number, ms: number): Promise<boolean>;
}

export class ServedTurn {
  readonly turn: WireTurn;
  /** Resolves where the turn cannot go on, which the agent would ask again and again. */
  readonly refused: Promise<"unserved">;
  failure: PagurusError | undefined;
  readonly #told: Heard;
  /** Answers of the model that the gateway has counted. */
  #answers = 0;
  #onAnswer: (() => void) | undefined;

  /** `takesInstructions`: the agent's system prompt holds the base instructions. */
  constructor(turn: HarnessTurn, told: Heard, takesInstructions: boolean) {
    this.#told = told;
    const refused = Promise.withResolvers<"unserved">();
    this.refused = refused.promise;
    const { turnId, hostAgentId, model, engine, signal, instructions } = turn;
    this.turn = {
      get sessionId() {
        return turn.sessionId;
      },
      turnId,
      hostAgentId,
      model,
      engine,
      signal,
      assemble: async (request) => {
        await this.#heard();
        try {
          const { systemPromptAddition: _addition, ...context } = await turn.assemble(request);
          return saying(context, takesInstructions ? instructions : undefined);
        } catch (error) {
          if (!signal.aborted) {
            this.failure = toPagurusError(error);
            refused.resolve("unserved");
          }
          throw error;
        }
      },
      said: () => turn.said(),
      answerCompaction: (question) => turn.answerCompaction(question),
      receipt: (request) => {
        // A provider that counts nothing says zero.
        if (request.usage?.totalTokens === 0) return;
        turn.receipt(request);
        if (request.usage) this.#counted();
      },
      degrade: (stage, reason) => turn.degrade(stage, reason),
      emit: (event) => turn.emit(event),
    };
  }

  /** The gateway has counted what the agent has told. */
  async settled(): Promise<void> {
    if (this.#answers >= this.#told.answers) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, HEARD_MS);
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

  /** The engine is asked when the transcript has all that the request holds, as far as the agent tells it. */
  async #heard(): Promise<void> {
    if (!(await this.#told.heard(this.#answers, HEARD_MS))) this.#answers = this.#told.answers;
  }
}

/** With all that the agent's system prompt lacks, for the gateway to say: the engine's addition, texts of hooks. */
function saying(context: AssembledContext, instructions: string | undefined): AssembledContext {
  const { system } = context;
  const at = instructions === undefined ? -1 : system.indexOf(instructions);
  const around = at === -1 ? [system] : [system.slice(0, at), system.slice(at + (instructions?.length ?? 0))];
  const words = around.map((part) => part.replaceAll(/^\n+|\n+$/g, "")).filter((part) => part !== "");
  return words.length === 0 ? context : { ...context, systemPromptAddition: words.join("\n\n") };
}
