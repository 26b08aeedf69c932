/** The context part of a `HarnessTurn`: assembled contexts, their receipts, and the models that they are for. */
import type { PagurusError } from "@pagurus/contract/errors";
import type { AssembledContext, CompactionQuestion, TurnContext } from "@pagurus/contract/harness/harness";
import { Assembler, type Assembly } from "../context/assemble-context.ts";
import { EngineEpochs } from "./engine-epochs.ts";
import { ReceiptBook } from "./receipt-book.ts";
import type { AssembleRequest } from "../context/prompt-hooks.ts";
import { EMBEDDED } from "../selection/select-runtime.ts";
import type { TurnState } from "../state/turn-state.ts";
import type { Allowance } from "../cost/cost-limits.ts";
import { affordable } from "./raise-limit.ts";
import type { ModelChain } from "./model-chain.ts";
import { defined } from "@pagurus/core/data/defined";

export class RunContext {
  /** Absent where no fallbacks are configured, in other runtimes, and before the first context. */
  chain: ModelChain | undefined;
  readonly #run: TurnState;
  /** `reached`: the turn is over. */
  readonly #end: { readonly reached: boolean };
  readonly #assembler: Assembler;
  readonly #book: ReceiptBook;
  readonly #epochs: EngineEpochs;
  #allowance: Allowance | undefined;

  constructor(run: TurnState, end: { readonly reached: boolean }) {
    this.#run = run;
    this.#end = end;
    this.#assembler = new Assembler(run);
    this.#book = new ReceiptBook(run);
    this.#epochs = new EngineEpochs(run);
  }

  /** `taken`: the context is made already, for a fallback that takes over. */
  async #assemble(request?: AssembleRequest, taken?: Assembly): Promise<AssembledContext> {
    const run = this.#run;
    if (request?.fixedTokens !== undefined) run.noteFixed(request.fixedTokens);
    // Another runtime calls its model itself, and would call the one that the host has passed over.
    const applies = run.harness.id === EMBEDDED && run.host.settings.fallbacks.length > 0;
    const begun = applies && !this.chain ? await this.#begin() : undefined;
    const assembly = taken ?? begun ?? (await this.#assembler.assemble(request));
    this.#allowance?.done();
    this.#allowance = await affordable(run.admitted, this.#book.costOf(assembly));
    const { maxOutputTokens } = this.#allowance;
    this.#book.assembled(assembly);
    run.noteSent(assembly.contextTokens);
    await this.#epochs.assembled(assembly);
    const { previousResponseId } = this.#book;
    return { ...assembly, ...defined({ maxOutputTokens, previousResponseId }) };
  }

  async #fallback(failure: PagurusError, progress: { shown: boolean }): Promise<AssembledContext> {
    if (!this.chain) throw failure;
    return this.#assemble({}, await this.chain.next(failure, progress));
  }

  #receipt(request: Parameters<TurnContext["receipt"]>[0]): void {
    if (request.seam) this.#run.seam = request.seam;
    if (request.failed) this.#allowance?.done();
    else if (request.usage) {
      this.#book.usage(request.usage, request.cache);
      // It is paid, and what the next request may cost is checked before that.
      this.#allowance?.done();
    } else {
      if (request.parts) this.#run.noteBeside(this.#book.beside(request.parts));
      this.#book.sent({ ...request, fallback: this.chain?.current });
    }
  }

  async #answerCompaction(question: CompactionQuestion): Promise<{ summary: string } | undefined> {
    const { answerInTurn } = await import("./answer-compaction.ts");
    return this.#end.reached ? undefined : answerInTurn(this.#run, this.#assembler, question);
  }

  /** For the harness, with members of its own: programs around a harness copy them. */
  view(): TurnContext {
    const run = this.#run;
    return {
      assemble: this.#assemble.bind(this),
      fallback: (failure, progress) => this.#fallback(failure, progress),
      receipt: this.#receipt.bind(this),
      answerCompaction: (question) => this.#answerCompaction(question),
      get fragments() {
        return run.fragments.injected;
      },
      get additionalContext() {
        return run.inputContext ?? null;
      },
      fragmentsLost: () => {
        const before = run.fragments.injected.length;
        run.changeFragments((fragments) => fragments.settle([]));
        return run.fragments.injected.slice(before);
      },
      messages: () => run.recorder.messages,
      newestEntryId: () => run.recorder.messages.at(-1)?.entryId,
    };
  }

  /** Creates the chain; returns the context for a fallback where the model is cooling. */
  async #begin(): Promise<Assembly | undefined> {
    const chain = await import("./model-chain.ts");
    this.chain = new chain.ModelChain(this.#run, {
      assembler: this.#assembler,
      check: (assembly) => this.#run.admitted.cost.before(this.#book.costOf(assembly)).done(),
    });
    return this.chain.start();
  }
}
