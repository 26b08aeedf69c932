/** Refuses an input that is too long for the model by its length, before anything of it is stored, hooked or counted exactly. */
import type { AdditionalContext } from "@pagurus/contract/fragment";
import { PagurusError } from "@pagurus/contract/errors";
import type { InputPart } from "@pagurus/contract/host/run";
import type { ModelInfo } from "@pagurus/contract/model";
import { attempt } from "@pagurus/core/data/attempt";
import { MOST_TEXT } from "@pagurus/core/tokens/most-text";
import { tokensOver } from "@pagurus/core/tokens/least-tokens";
import type { AgentHost } from "../agent/agent-host.ts";

export interface NewInput {
  prompt: string;
  parts?: readonly InputPart[] | undefined;
  additionalContext?: AdditionalContext | null | undefined;
  /** Of the request; absent: the configured model, with its fallbacks. */
  model?: string | undefined;
}

/** Throws `live_turn_too_large`. An input whose model is not known passes: the run says what is wrong with it. */
export async function checkInputLength(host: AgentHost, input: NewInput): Promise<void> {
  const texts = textsOf(input);
  // Shorter than any window in use, so the models need not be looked up.
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  if (length <= SHORT) return;
  const model = await widest(host, input.model);
  const least = model && (await tokensOver(texts, model.contextWindow));
  if (least !== undefined)
    throw new PagurusError(
      "live_turn_too_large",
      `The input has at least ${least} tokens and ${model?.ref} takes ${model?.contextWindow}; send less at once, or choose a model with a larger window.`,
    );
  if (length <= MOST_TEXT) return;
  throw new PagurusError(
    "live_turn_too_large",
    `The texts of the input have ${length} characters, and ${MOST_TEXT} are the most; send less at once.`,
  );
}

const SHORT = 1_000;

function textsOf({ prompt, parts = [], additionalContext }: NewInput): string[] {
  return [
    prompt,
    ...parts.flatMap((part) => (part.type === "text" ? [part.text] : [])),
    ...Object.values(additionalContext ?? {}).map(({ value }) => value),
  ].filter((text) => typeof text === "string");
}

/** Of the models that may answer the input, the one with the largest window. */
async function widest(host: AgentHost, asked: string | undefined): Promise<ModelInfo | undefined> {
  const refs = asked === undefined ? [(await host.defaultModel()).ref, ...host.settings.fallbacks] : [asked];
  const models = refs.flatMap((ref) => attempt(() => host.modelInfo(ref)) ?? []);
  return models.toSorted((one, other) => other.contextWindow - one.contextWindow)[0];
}
