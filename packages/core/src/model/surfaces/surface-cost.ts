/**
 * Prices requests of direct surfaces. Before a request its units are estimated, so that a limit can refuse it; the answer's own counts
 * replace them. A model is priced by tokens (`cost`) where tokens are counted, else by its other units (`unitCost`).
 */
import type { DirectSurface, ModelInfo } from "@pagurus/contract/model";
import { estimateTokens } from "../../tokens/estimate.ts";
import { costOf } from "../model-usage.ts";

/** Counted units of one request. Absent: not known. */
export interface SurfaceUnits {
  inputTokens?: number;
  outputTokens?: number;
  images?: number;
  seconds?: number;
  characters?: number;
}

/** The parts of a request that its price follows from. */
export interface SurfaceAsk {
  surface: DirectSurface;
  texts: readonly string[];
  /** Tokens that the client counted itself, as the input of embeddings may be. */
  tokens?: number;
  /** Images that are asked for. */
  images?: number;
  /** Images that are sent. */
  sentImages?: number;
  /** A sound that is sent: its length, and its bytes from the first one, of which the head of a WAV file is read. */
  sound?: { bytes: number; start: Buffer };
}

const MILLION = 1_000_000;
/** Tokens of one generated image of the highest quality and the largest size, and of one that is sent. */
const SURFACE_IMAGE_TOKENS = 6_300;
const SENT_IMAGE_TOKENS = 1_600;
/** Tokens of a character that is spoken, as sound. */
const SPOKEN_TOKENS = 1.5;
/** Tokens of a second of sound that is sent, and of the text of a second of speech. */
const SOUND_TOKENS = 20;
const TRANSCRIPT_TOKENS = 5;
/** Bytes of a second of compressed sound (128 kbit/s). */
const SECOND_BYTES = 16_000;

/** Estimated before the request is sent. */
function estimatedUnits(ask: SurfaceAsk): SurfaceUnits {
  const { surface, texts, images, sentImages = 0, sound } = ask;
  const text = texts.reduce((sum, each) => sum + estimateTokens(each), ask.tokens ?? 0);
  const characters = texts.reduce((sum, { length }) => sum + length, 0);
  switch (surface) {
    case "embeddings":
      return { inputTokens: text, outputTokens: 0 };
    case "images": {
      const asked = images ?? 1;
      return {
        inputTokens: text + sentImages * SENT_IMAGE_TOKENS,
        outputTokens: asked * SURFACE_IMAGE_TOKENS,
        images: asked,
      };
    }
    case "speech":
      return { inputTokens: text, outputTokens: Math.ceil(characters * SPOKEN_TOKENS), characters };
    case "transcription": {
      const seconds = sound ? secondsOf(sound) : 0;
      return {
        inputTokens: text + Math.ceil(seconds * SOUND_TOKENS),
        outputTokens: Math.ceil(seconds * TRANSCRIPT_TOKENS),
        seconds,
      };
    }
  }
}

/** Exact for WAV, whose head has the bytes of a second; else as for a usual compression. */
function secondsOf({ bytes, start }: { bytes: number; start: Buffer }): number {
  const isWave = start.length >= 32 && start.toString("latin1", 0, 4) === "RIFF";
  const rate = isWave && start.toString("latin1", 8, 12) === "WAVE" ? start.readUInt32LE(28) : 0;
  return bytes / (rate > 0 ? rate : SECOND_BYTES);
}

/** US dollars; undefined where no price fits the units that are known. */
function costOfUnits(
  { cost, unitCost }: Pick<ModelInfo, "cost" | "unitCost">,
  { inputTokens, outputTokens, ...units }: SurfaceUnits,
): number | undefined {
  if (cost && inputTokens !== undefined) {
    const output = outputTokens ?? 0;
    return costOf({ input: inputTokens, output, totalTokens: inputTokens + output }, cost);
  }
  if (!unitCost) return undefined;
  const { images, seconds, characters } = units;
  const parts = [
    unitCost.request,
    product(unitCost.image, images),
    product(unitCost.minute, seconds === undefined ? undefined : seconds / 60),
    product(unitCost.millionCharacters, characters === undefined ? undefined : characters / MILLION),
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.reduce((sum, part) => sum + part, 0);
}

function product(price: number | undefined, units: number | undefined): number | undefined {
  return price === undefined || units === undefined ? undefined : price * units;
}

/** The price before the request; undefined for a model without prices of this surface. */
export function estimatedCost(info: ModelInfo, ask: SurfaceAsk): number | undefined {
  return costOfUnits(info, estimatedUnits(ask));
}

/**
 * Price of an answer, US dollars; undefined for a model without prices. `counted`: units that the answer counts. The others, tokens
 * excepted, are estimated. An answer without a count that has a price costs the whole estimate.
 */
export function answeredCost(info: ModelInfo, ask: SurfaceAsk, counted: SurfaceUnits): number | undefined {
  const { inputTokens: _input, outputTokens: _output, ...units } = estimatedUnits(ask);
  return costOfUnits(info, { ...units, ...counted }) ?? estimatedCost(info, ask);
}

/** Describes a request for the sentence of a limit, for example `2 images of openai/gpt-image-1`. */
export function describeAsk({ ref }: Pick<ModelInfo, "ref">, ask: SurfaceAsk): string {
  const { images, seconds, characters, inputTokens = 0 } = estimatedUnits(ask);
  const amount =
    images !== undefined
      ? `${images} ${images === 1 ? "image" : "images"}`
      : seconds !== undefined
        ? `${Math.ceil(seconds)} s of sound`
        : characters !== undefined
          ? `${characters} characters of speech`
          : `${inputTokens} tokens of input`;
  return `${amount} ${ask.surface === "images" || ask.surface === "speech" ? "of" : "for"} ${ref}`;
}
