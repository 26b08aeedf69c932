import { editDistance } from "../data/edit-distance.ts";

/** Suggestions for a mistyped name: at most three, the closest first. */
export function nearest(wanted: string, names: readonly string[]): string[] {
  const lower = wanted.toLowerCase();
  // A short name has to keep half of its letters.
  const most = Math.min(Math.max(2, Math.floor(wanted.length / 4)), Math.ceil(wanted.length / 2));
  /** Not compared where the lengths alone differ by more: a client may ask for a name of thousands of characters. */
  const distanceTo = (name: string): number =>
    Math.abs(name.length - lower.length) > most ? Infinity : editDistance(lower, name);
  return names
    .map((name) => {
      const candidate = name.toLowerCase();
      // The most common mistake is a ref without its provider (`gpt-5.5`).
      const tail = candidate.slice(candidate.indexOf("/") + 1);
      return { name, distance: Math.min(distanceTo(candidate), distanceTo(tail)) };
    })
    .filter(({ distance }) => distance <= most)
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, 3)
    .map(({ name }) => name);
}
