/** The claims of the authority of callers, and the steps that prove each. */
import { tests, type Proof } from "./proof.ts";

export const AUTHORITY: Record<string, Proof> = {
  "authority.5": {
    claim:
      "A deletion that is killed at any of its writes leaves no word in the home, in a search or in a later request, embedded and in PostgreSQL.",
    steps: [
      tests("every place that has words", "test/deletions/places"),
      tests("200 kills, embedded", "test/deletions/kill"),
      tests("200 kills, two hosts and PostgreSQL", "test/real/postgres/deletion-kills"),
    ],
  },
  "authority.4": {
    claim: "Everything that a token has open ends within a second of its revocation and of its expiry.",
    steps: [
      tests("each kind, ended in three ways, with times", "test/server/token-ends"),
      tests("whatever an API does about it", "test/server/open-"),
      tests("revoked at another host", "test/real/postgres/shared-token-ends"),
      tests("logins of browsers, in chromium", "test/real/browser-login"),
    ],
  },
  "authority.6": {
    claim:
      "What is too large is refused by its length, 100,000 fuzzed requests on /v1, /api/v1 and ACP get an answer below 500, and no other caller waits.",
    steps: [
      tests("inputs that are too long, at each door", "test/server/too-long", "test/tokens/least-tokens"),
      tests("bodies at random, with /health asked meanwhile", "test/server/fuzz-bodies"),
      tests("the shapes of /v1", "test/model-api/malformed"),
      tests("a limited search", "test/stores/files/search-scope"),
    ],
  },
};
