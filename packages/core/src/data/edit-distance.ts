/** Levenshtein distance: letters that are added, removed or replaced to make one word of the other. One row at a time. */
export function editDistance(a: string, b: string): number {
  const row = Uint32Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    let diagonal = i - 1;
    let left = i;
    row[0] = i;
    for (let j = 1; j <= b.length; j++) {
      const above = row[j] ?? 0;
      const change = diagonal + (a.charCodeAt(i - 1) === b.charCodeAt(j - 1) ? 0 : 1);
      left = Math.min(change, above + 1, left + 1);
      row[j] = left;
      diagonal = above;
    }
  }
  return row[b.length] ?? 0;
}
