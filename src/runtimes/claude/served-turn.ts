/** A turn of the host as the gateway asks it while a program runs it. */
import { toPagurusError, type PagurusError } from "../../contract/errors.ts";
import type { AssembledContext, HarnessTurn } from "../../contract/harness.ts";
import type { WireTurn } from "../../contract/wire.ts";
import type { NativeTurn } from "./native-turn.ts";

/** How long a request waits for what the program said before it, ms: both come by ways of their own. */
const HEARD_MS = 500;

export class ServedTurn implements WireTurn {
  /** Resolves where the turn cannot go on, which the program would ask again and again. */
  readonly refused: Promise<"unserved">;
  failure: PagurusError | undefined;
  readonly #turn: HarnessTurn;
  readonly #native: NativeTurn;
  readonly #refuse = Promise.withResolvers<"unserved">();
  /** Answers of the model that the gateway has counted. */
  #answers = 0;
  #onAnswer: (() => void) | undefined;

  constructor(turn: HarnessTurn, native: NativeTurn) {
    this.#turn = turn;
    this.#native = native;
    this.refused = this.#refuse.promise;
  }

  get sessionId(): string {
    return this.#turn.sessionId;
  }

  get turnId(): string {
    return this.#turn.turnId;
  }

  get hostAgentId(): string {
    return this.#turn.hostAgentId;
  }

  get model(): WireTurn["model"] {
    return this.#turn.model;
  }

  get engine(): WireTurn["engine"] {
    return this.#turn.engine;
  }

  get signal(): AbortSignal {
    return this.#turn.signal;
  }

  /** With all that the system prompt of the program lacks, for the gateway to say. */
  async assemble(request?: { overflow?: { message: string } }): Promise<AssembledContext> {
    await this.#heard();
    try {
      const { systemPromptAddition: _addition, ...context } = await this.#turn.assemble(request);
      const addition = besides(context.system, this.#turn.instructions);
      return addition === "" ? context : { ...context, systemPromptAddition: addition };
    } catch (error) {
      if (!this.#turn.signal.aborted) {
        this.failure = toPagurusError(error);
        this.#refuse.resolve("unserved");
      }
      throw error;
    }
  }

  said(): ReturnType<WireTurn["said"]> {
    return this.#turn.said();
  }

  answerCompaction(
    ...given: Parameters<WireTurn["answerCompaction"]>
  ): ReturnType<WireTurn["answerCompaction"]> {
    return this.#turn.answerCompaction(...given);
  }

  receipt(request: Parameters<WireTurn["receipt"]>[0]): void {
    // A provider that counts nothing says zero.
    if (request.usage?.totalTokens === 0) return;
    this.#turn.receipt(request);
    if (!request.usage) return;
    this.#answers += 1;
    this.#onAnswer?.();
  }

  degrade(...given: Parameters<WireTurn["degrade"]>): void {
    this.#turn.degrade(...given);
  }

  emit(...given: Parameters<WireTurn["emit"]>): Promise<void> {
    return this.#turn.emit(...given);
  }

  /** The gateway has counted what the program has told. */
  async settled(): Promise<void> {
    if (this.#answers >= this.#native.counted) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, HEARD_MS);
      this.#onAnswer = () => {
        if (this.#answers < this.#native.counted) return;
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** The engine is asked when the transcript has all that the request holds. */
  async #heard(): Promise<void> {
    // An answer that broke off is none that the program tells.
    if (!(await this.#native.heard(this.#answers, HEARD_MS))) this.#answers = this.#native.counted;
    await this.#native.written();
  }
}

/** What stands around the base instructions: the engine's addition, and texts of hooks. */
function besides(system: string, instructions: string): string {
  const at = system.indexOf(instructions);
  const around = at === -1 ? [system] : [system.slice(0, at), system.slice(at + instructions.length)];
  return around
    .map((words) => words.replaceAll(/^\n+|\n+$/g, ""))
    .filter((words) => words !== "")
    .join("\n\n");
}
