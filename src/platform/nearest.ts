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

/** Levenshtein distance, two rows at a time. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(change, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
