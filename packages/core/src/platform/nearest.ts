import { editDistance } from "../data/edit-distance.ts";

/** Suggestions for a mistyped name: at most three, the closest first. */
export function nearest(wanted: string, names: readonly string[]): string[] {
  const lower = wanted.toLowerCase();
  return names
    .map((name) => {
      const candidate = name.toLowerCase();
      // The most common mistake is a ref without its provider (`gpt-5.5`).
      const tail = candidate.slice(candidate.indexOf("/") + 1);
      return { name, distance: Math.min(editDistance(lower, candidate), editDistance(lower, tail)) };
    })
    .filter(({ distance }) => distance <= Math.max(2, Math.floor(wanted.length / 4)))
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, 3)
    .map(({ name }) => name);
}
