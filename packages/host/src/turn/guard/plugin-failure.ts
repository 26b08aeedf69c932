import { isGeneratorObject } from "node:util/types";
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";

const MOST_CHARS = 300;

/**
 * Converts anything that plugin code threw to an error with one short line. Of a foreign message only the first line is kept: it may quote
 * its input. Any value can be thrown, also one without a message.
 */
export function pluginFailure(error: unknown): PagurusError {
  try {
    const failure = toPagurusError(error, "engine_failed");
    const ours = failure === error;
    const short = shortLine(ours ? failure.message.replaceAll(/\s+/g, " ") : failure.message);
    if (ours && short === failure.message) return failure;
    return new PagurusError(failure.code, short === "" ? "it gave no reason" : short, { cause: error });
  } catch {
    return new PagurusError("engine_failed", "it threw a value that cannot be shown", { cause: error });
  }
}

/** The first line of a plugin's message, at most 300 characters. */
export function shortLine(words: string): string {
  const [line = ""] = words.split("\n", 1);
  return line.length > MOST_CHARS ? `${line.slice(0, MOST_CHARS)}…` : line;
}

/** Of an answer of a generator function: nothing of it has run, whatever it was to do. */
export function generatorProblem(answer: unknown): string | undefined {
  return isGeneratorObject(answer) ? "it is a generator, whose code never runs" : undefined;
}
