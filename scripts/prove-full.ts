/** The claims of tests that have a short form in `npm test` and belong to no other line. */
import { tests, type Proof } from "./proof.ts";

export const FULL_FORMS: Record<string, Proof> = {
  "full.1": {
    claim: "What `npm test` checks in a short form, and no other line in full, holds in its full length.",
    steps: [
      tests(
        "the engine lossless",
        ...[
          "audit/paths",
          "damage",
          "epochs",
          "facts",
          "result-facts",
          "store/least-match",
          "store/passages",
          "store/tree",
          "strings",
        ].map((name) => `test/engines/lossless/${name}.test.ts`),
      ),
      tests(
        "bytes of requests and answers",
        ...["compacting", "json-scan", "read-ahead"].map((name) => `test/gateway/${name}.test.ts`),
        "test/rpc/peer.test.ts",
      ),
      tests(
        "configurations, inputs and imports",
        "test/config/edit.property.test.ts",
        "test/contract/input-data.test.ts",
        "test/importers/old-keys/repair.property.test.ts",
        "test/importers/sessions/draft.test.ts",
      ),
      tests(
        "tools, words and screens",
        "test/tool/glob-linear.test.ts",
        "test/tool/workspace.test.ts",
        "test/memories/files.test.ts",
        "test/native/words.test.ts",
        "test/cli/markdown.test.ts",
      ),
      tests("turns", "test/turn/cost.test.ts", "test/turn/large-results.test.ts"),
      tests("the testkit", "test/testkit/fair.test.ts"),
      // In contract.8 the script of the newest programs does the same.
      tests("programs that users have, pinned", "test/real/tried/"),
    ],
  },
};
