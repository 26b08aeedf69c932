/** The claims that `npm run prove` shows in full length, and what shows them. */

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
function tests(title: string, ...paths: string[]): ProofStep {
  return { title, args: ["scripts/test.ts", ...paths] };
}

export const PROOFS: Record<string, Proof> = {
  "turn.1": {
    claim: "A clean clone answers a prompt with nothing configured, remembers it, and its tests pass.",
    steps: [{ title: "clean clone", args: ["scripts/prove-clean-clone.ts"] }],
  },
  "turn.2": {
    claim: "Turns work against servers that speak the four wire protocols, also when those misbehave.",
    steps: [tests("wire protocols", "test/turn/wire.process.test.ts")],
  },
  "turn.3": {
    claim: "Whatever happens to a session, the messages sent to a model are valid.",
    steps: [tests("validity", "test/turn/validity.test.ts")],
  },
  "turn.4": {
    claim: "A crash at any moment loses nothing that was committed.",
    steps: [
      tests("the store and its process tests", "test/session/"),
      tests("kill -9 during turns", "test/turn/kill.process.test.ts"),
      tests("a full disk and a read-only one during turns", "test/turn/disk.process.test.ts"),
    ],
  },
  "turn.5": {
    claim: "An engine that fails at any stage costs a warning, never the conversation.",
    steps: [tests("failing engine", "test/turn/failing-engine.process.test.ts")],
  },
  "turn.6": {
    claim: "The host's own cost of a turn is small and does not grow with the session.",
    steps: [{ title: "bench turn", args: ["scripts/prove-bench.ts", "turn"] }],
  },
  "contract.1": {
    claim: "Every member and field of the engine contract is called, set or read, and a test shows it.",
    steps: [{ title: "npm run contract", args: ["scripts/contract.ts"] }],
  },
  "contract.2": {
    claim: "Each compaction is handled by whom the engine's flags, the mode, the provider and the lane say.",
    steps: [tests("lanes", "test/turn/lanes/"), tests("planning", "test/compaction/")],
  },
  "contract.3": {
    claim:
      "Whatever an interceptor or a summarizing model does wrong, the history stays and the session goes on.",
    steps: [
      tests(
        "faults",
        ...["interception", "hooks", "compact", "model", "successor", "maintenance"].map(
          (name) => `test/turn/faults/${name}.test.ts`,
        ),
      ),
    ],
  },
  "contract.4": {
    claim:
      "2,000 turns through compactions of each lane, and one turn of 600 rounds, stay within the window.",
    steps: [tests("long runs", "test/turn/long/")],
  },
  "contract.5": {
    claim: "kill -9 in a compaction, rewrite, rotation, commit or spawn leaves a consistent session.",
    steps: [
      tests("kill -9 around commits", "test/turn/faults/kill-commit"),
      tests("kill -9 inside compactions", "test/turn/faults/kill-compaction"),
      tests("kill -9 inside rotations and rewrites", "test/turn/faults/kill-rewrite"),
      tests("kill -9 inside subagent spawns", "test/turn/faults/kill-subagent"),
      tests("kills of the store", "test/session/"),
      tests("subagents", "test/turn/subagents/"),
    ],
  },
  "turn.7": {
    claim: "The lint fails on a forbidden import, a file that is too long, a logged prompt.",
    steps: [tests("planted violations", "test/lint/planted.process.test.ts")],
  },
};
