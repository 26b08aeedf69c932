/** The claims about the house: what a reader finds, and that nothing got slower. */
import { tests, type Proof } from "./proof.ts";

export const HOUSE: Record<string, Proof> = {
  "house.1": {
    claim: "The figures of `npm run house` are within their limits, beside those of commit 35dd06b.",
    steps: [{ title: "figures", args: ["scripts/house-pair.ts"] }],
  },
  "house.2": {
    claim: "Start-up, turns, lossless and wire are no slower than at commit 35dd06b, measured in pairs.",
    steps: [{ title: "pairs", args: ["scripts/bench-pairs.ts"] }],
  },
  "house.3": {
    claim: "Homes, transcripts, receipts, databases and plugins made by commit 727ca3c5 open and work.",
    steps: [{ title: "old homes", args: ["scripts/prove-old-homes.ts"] }],
  },
  "house.4": {
    claim:
      "Three changes of a stranger, made from CONTRIBUTING alone, work, and each forgotten place is found.",
    steps: [
      { title: "changes", args: ["scripts/prove-stranger-changes.ts", "--only", "quirk,command,runtime"] },
    ],
  },
  "house.5": {
    claim: "One page walks a prompt from `pagurus run` to the fsync, with file names that exist.",
    steps: [tests("the way of a prompt", "test/docs/way.test.ts")],
  },
  "house.6": {
    claim:
      "A reader finds fewer names, shorter chains of imports, no cycles and no upward imports, beside commit eb5f8051.",
    steps: [
      { title: "figures", args: ["scripts/house-table.ts"] },
      { title: "walls of packages and layers", args: ["scripts/lint.ts", "--only", "layers,places"] },
    ],
  },
  "house.7": {
    claim:
      "`npm test` passes 50 times in a row on a quiet machine, in at most 150 s, and 10 times with its processes stopped for 450 ms of each second.",
    steps: [{ title: "repeated runs", args: ["scripts/prove-waits.ts"] }],
  },
  "house.9": {
    claim:
      "Four more changes of a stranger (a quirk, a slash command, a field of a receipt that the page shows, a channel) work, and types or the lint name each forgotten place.",
    steps: [
      {
        title: "changes",
        args: ["scripts/prove-stranger-changes.ts", "--only", "quirk,slash,receipt,channel"],
      },
    ],
  },
  "house.10": {
    claim:
      "Commands, options, published modules, the contract and the files of a home are those of commit b7a221a6, whose homes open.",
    steps: [{ title: "what a user sees", args: ["scripts/prove-user-view.ts"] }],
  },
};
