/** What a claim of `npm run prove` is, and the steps that show it. */

export interface ProofStep {
  /** What it shows, for the heading. */
  title: string;
  /** Arguments of node, from the root. */
  args: string[];
}

export interface Proof {
  claim: string;
  steps: ProofStep[];
}

/** One `npm test` run; every part of a path must match a file. */
export function tests(title: string, ...paths: string[]): ProofStep {
  return { title, args: ["scripts/test.ts", ...paths] };
}

export function bench(name: string, part?: string): ProofStep {
  const only = part === undefined ? [] : ["--only", part];
  return {
    title: ["bench", name, ...only].join(" "),
    args: ["scripts/prove-bench.ts", name, ...only],
  };
}
