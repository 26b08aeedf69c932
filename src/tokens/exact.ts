import { splitLongRuns } from "./runs.ts";

type Tokenizer = typeof import("gpt-tokenizer/encoding/o200k_base");

/** Text that looks like a control token is counted as text, not refused. */
const AS_TEXT = { allowedSpecial: new Set<string>(), disallowedSpecial: new Set<string>() };

async function loadTokenizer(): Promise<Tokenizer | undefined> {
  try {
    return await import("gpt-tokenizer/encoding/o200k_base");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}

/**
 * Counts the tokens of a text in `o200k_base` with the optional peer `gpt-tokenizer`; undefined when it is not
 * installed. Runs of more than 256 letters, signs or blanks are split first, which may add a token for each split.
 * The first call loads the tokenizer, which takes about 0.2 s.
 */
export async function countExact(text: string): Promise<number | undefined> {
  const tokenizer = await loadTokenizer();
  if (tokenizer === undefined) return undefined;
  let total = 0;
  for (const piece of splitLongRuns(text)) total += tokenizer.countTokens(piece, AS_TEXT);
  return total;
}
