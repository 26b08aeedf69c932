/** What a preview of a long conversation has for a question: the context that its next turn would be sent. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { EncoderThread } from "../../../packages/lossless/src/encoder/encoder-thread.ts";
import { createLosslessEngine } from "../../../packages/lossless/src/lossless-engine.ts";
import type { LosslessStore } from "../../../packages/lossless/src/store/lossless-store.ts";
import { EngineParams } from "../../../packages/replay/src/engine/driver-params.ts";
import { ReplayTranscript } from "../../../packages/replay/src/engine/replay-transcript.ts";
import { textOfMessage } from "../../../packages/replay/src/prompt-blocks.ts";
import { idOf } from "./lossless.ts";
import type { Passage, Recaller } from "./recaller.ts";

/** Name of the preview with the sentence encoder. */
export const ENCODED_PREVIEW = "lossless, encoder, preview";

export class LosslessPreview implements Recaller {
  readonly name: string;
  readonly isPreview = true;
  readonly #dir = mkdtempSync(join(tmpdir(), "pagurus-preview-"));
  readonly #transcript = new ReplayTranscript("replay", join(this.#dir, "replay.jsonl"));
  readonly #encoder: EncoderThread | undefined;
  #engine: ContextEngine | undefined;

  readonly #create: typeof createLosslessEngine;

  /** `create` is another version's. */
  constructor(encoder?: EncoderThread, create = createLosslessEngine) {
    this.name = encoder ? ENCODED_PREVIEW : "lossless, preview";
    this.#encoder = encoder;
    this.#create = create;
  }

  async index(messages: readonly AgentMessage[]): Promise<void> {
    let turns = 0;
    for (const [index, message] of messages.entries()) {
      if (message.role === "user" && index > 0) this.#commit(turns++);
      this.#transcript.message(`t${turns}`, { ...message, entryId: idOf(index) });
    }
    this.#commit(turns);
    let store: LosslessStore | undefined;
    this.#engine = this.#create(
      { config: {}, agentDir: this.#dir, workspaceDir: this.#dir },
      { encoder: this.#encoder, onStore: (opened) => (store = opened) },
    );
    const params = this.#params(Math.max(...BUDGETS));
    await this.#engine.bootstrap?.({ ...params.base(), ...params.files() });
    await store?.encoded();
  }

  #commit(turn: number): void {
    this.#transcript.commit({ type: "turn_commit", turnId: `t${turn}`, outcome: "completed" });
  }

  #params(tokenBudget: number): EngineParams {
    const [dir, transcript] = [this.#dir, this.#transcript];
    return new EngineParams({ options: { window: tokenBudget }, factor: 1, tokenBudget, transcript, dir });
  }

  /** The messages of the context for an input. */
  async contextFor(prompt: string, tokenBudget: number): Promise<readonly AgentMessage[]> {
    const result = await this.#engine?.assemble({
      ...this.#params(tokenBudget).base(),
      messages: [],
      prompt,
      tokenBudget,
      availableTools: new Set<string>(),
      citationsMode: "auto",
      model: "replay",
    });
    return result?.messages ?? [];
  }

  async recall(prompt: string, tokenBudget: number): Promise<Passage[]> {
    const messages = await this.contextFor(prompt, tokenBudget);
    // Below the budget by what messages count beside their texts.
    return [{ entryId: "preview", text: messages.map(textOfMessage).join("\n") }];
  }

  async close(): Promise<void> {
    await this.#engine?.dispose?.();
    rmSync(this.#dir, { recursive: true });
  }
}

/** Budgets of a preview; below the first one no conversation is held. */
export const BUDGETS = [4_000, 8_000, 16_000] as const;

export function losslessPreview(): Recaller {
  return new LosslessPreview();
}

/** The same with the optional sentence encoder. */
export function encodedPreview(): Recaller {
  return new LosslessPreview(new EncoderThread());
}
