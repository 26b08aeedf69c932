import { RecentMap } from "./recent-map.ts";

/**
 * The same function of a text, which keeps its answers to the texts that were used last: for texts that most requests repeat, as a system
 * prompt. `most`: how many texts are kept.
 */
export function keepingRecent<T>(make: (text: string) => T, most: number): (text: string) => T {
  const made = new RecentMap<string, T>(most);
  return (text) => made.of(text, () => make(text));
}
