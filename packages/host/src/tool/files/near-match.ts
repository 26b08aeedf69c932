/** Finds the places of a text that resemble a text that was not found. */

const MOST_PLACES = 2;
const LEAST_SCORE = 0.5;
/** Maximum number of compared lines. */
const MOST_COMPARED_LINES = 20_000;
const MOST_SHOWN_LINES = 12;

export interface NearMatch {
  /** 1-based. */
  line: number;
  text: string;
}

function pairs(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  const squeezed = text.replaceAll(/\s+/g, " ").trim().slice(0, 200);
  for (let at = 0; at + 1 < squeezed.length; at += 1) {
    const pair = squeezed.slice(at, at + 2);
    counts.set(pair, (counts.get(pair) ?? 0) + 1);
  }
  return counts;
}

/** Dice coefficient over character pairs, 0 to 1. */
function likeness(a: Map<string, number>, b: Map<string, number>): number {
  let shared = 0;
  let total = 0;
  for (const [pair, count] of a) {
    shared += Math.min(count, b.get(pair) ?? 0);
    total += count;
  }
  for (const count of b.values()) total += count;
  return total === 0 ? 0 : (2 * shared) / total;
}

/** Similarity of two short texts, 0 to 1. */
export function textLikeness(a: string, b: string): number {
  return likeness(pairs(a), pairs(b));
}

export function nearMatches(text: string, wanted: string): NearMatch[] {
  const lines = text.split(/\r?\n/).slice(0, MOST_COMPARED_LINES);
  const wantedLines = wanted.split(/\r?\n/);
  while (wantedLines.length > 1 && wantedLines.at(-1)?.trim() === "") wantedLines.pop();
  while (wantedLines.length > 1 && wantedLines[0]?.trim() === "") wantedLines.shift();
  const head = wantedLines.slice(0, MOST_SHOWN_LINES);
  const wantedPairs = head.map((line) => pairs(line));
  const linePairs = lines.map((line) => pairs(line));
  const none = new Map<string, number>();
  const scored = lines
    .map((_line, start) => {
      let score = 0;
      for (const [index, wantedPair] of wantedPairs.entries()) {
        const same = lines[start + index]?.trim() === head[index]?.trim();
        score += same ? 1 : likeness(wantedPair, linePairs[start + index] ?? none);
      }
      return { start, score: score / wantedPairs.length };
    })
    .filter(({ score }) => score >= LEAST_SCORE)
    .sort((a, b) => b.score - a.score || a.start - b.start);
  const found: NearMatch[] = [];
  for (const { start } of scored) {
    if (found.some(({ line }) => Math.abs(line - 1 - start) < head.length)) continue;
    found.push({ line: start + 1, text: lines.slice(start, start + head.length).join("\n") });
    if (found.length === MOST_PLACES) break;
  }
  return found;
}
