/** Windows of models that their servers named when they refused a context. A home keeps them: see `window-file.ts`. */

/** By endpoint and model, tokens. */
const LEARNED = new Map<string, number>();
/** Files of the open homes. */
const LISTENERS = new Set<LearnedListener>();
/** A number in the words of an overflow that is the limit, not the request's own size. */
const LIMIT =
  /(?:maximum|limit|window|length|context|supports?|only|up to|at most|n_ctx|>|<=)[^\d]{0,40}?(\d[\d,_]{2,}\d)/gi;
/** A smaller number is something else, such as a status. */
const LEAST_WINDOW = 1_000;

/** Called with each window that a server names. `key`: endpoint and model, for example `http://127.0.0.1:8080 qwen3`. Never throws. */
export type LearnedListener = (key: string, tokens: number) => void;

interface At {
  baseUrl: string;
  info: { id: string };
}

function keyOf({ baseUrl, info }: At): string {
  // A configured address may lack the version path that requests have.
  return `${URL.parse(baseUrl)?.origin ?? baseUrl} ${info.id}`;
}

/** The window in the words of an overflow; undefined if they name none. */
export function windowIn(words: string): number | undefined {
  const numbers = [...words.matchAll(LIMIT)].map(([, number = ""]) => Number(number.replaceAll(/[,_]/g, "")));
  const plausible = numbers.filter((number) => number >= LEAST_WINDOW);
  return plausible.length === 0 ? undefined : Math.min(...plausible);
}

export function learnWindow(at: At, tokens: number): void {
  const key = keyOf(at);
  recallWindow(key, tokens);
  for (const listener of LISTENERS) listener(key, tokens);
}

/** Takes a window; of several for one model the smallest counts. */
export function recallWindow(key: string, tokens: number): void {
  LEARNED.set(key, Math.min(tokens, LEARNED.get(key) ?? tokens));
}

/** Returns a function that removes the listener. */
export function onLearnedWindow(listener: LearnedListener): () => void {
  LISTENERS.add(listener);
  return () => void LISTENERS.delete(listener);
}

/** The window that the endpoint's server named for the model; undefined if none is known. */
export function learnedWindow(at: At): number | undefined {
  return LEARNED.get(keyOf(at));
}
