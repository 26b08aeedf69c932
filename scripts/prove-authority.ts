/** The claims of the authority of callers, and the steps that prove each. */
import { bench, tests, type Proof } from "./proof.ts";

export const AUTHORITY: Record<string, Proof> = {
  "authority.1": {
    claim:
      "Each field of the API lets through what its caller may name and refuses the rest; a field without a row fails the lint.",
    steps: [
      tests(
        "the matrix, random requests, comparing authorities",
        "test/server/authority/",
        "test/authority/",
      ),
      { title: "the matrix as a table", args: ["scripts/authority-matrix.ts"] },
      { title: "every field has a row", args: ["scripts/lint.ts", "--only", "authority"] },
    ],
  },
  "authority.2": {
    claim:
      "What a hostile model does in the sandbox runs nothing outside of it and reads none of 74 planted secrets, as root and as an ordinary user, with the network on.",
    steps: [
      tests("planted secrets, settings of the kernel", "test/tool/secrets", "test/tool/shown-places"),
      tests("planted programs", "test/platform/executables", "test/lint/programs"),
      tests("what commands leave in the workspace", "test/tool/left-behind", "test/tool/change-list"),
      tests("escapes of commands and tools", "test/tool/escape", "test/tool/walls"),
      tests("the environment block of the host", "test/launcher/environment"),
      tests("addresses", "test/tool/web-fetch"),
    ],
  },
  "authority.5": {
    claim:
      "A deletion that is killed at any of its writes leaves no word in the home, in a search or in a later request, embedded and in PostgreSQL.",
    steps: [
      tests("every place that has words", "test/deletions/places"),
      tests("200 kills, embedded", "test/deletions/kill"),
      tests("200 kills, two hosts and PostgreSQL", "test/real/postgres/deletion-kills"),
    ],
  },
  "authority.3": {
    claim:
      "A hostile repository gets no request, no key and no execution under run, chat and wire, with each runtime and each real program, until it is trusted, and then all works as before.",
    steps: [
      tests("29 traps for the wrapped programs, before and after trust", "test/cli/folder-traps"),
      tests("real programs under wire and as runtimes", "test/real/hostile/"),
      tests("which files each ACP agent is kept from", "test/runtimes/acp/untrusted-folder"),
      tests("programs that MCP servers would find in it", "test/cli/folder-programs"),
      tests("one question, one record", "test/cli/trust.test.ts"),
      tests("one function decides each address", "test/gateway/wrap/upstream-rule.test.ts"),
      tests("its texts in prompts", "test/turn/folder-fences.test.ts", "test/turn/system-prompt-places"),
      tests("logins of the real programs", "test/real/wire/logins"),
    ],
  },
  "authority.4": {
    claim: "Everything that a token has open ends within a second of its revocation and of its expiry.",
    steps: [
      tests("each kind, ended in three ways, with times", "test/server/token-ends"),
      tests("whatever an API does about it", "test/server/open-", "test/model-api/sealed-elements"),
      tests("revoked at another host", "test/real/postgres/shared-token-ends"),
      tests("logins of browsers, in chromium", "test/real/browser-login"),
    ],
  },
  "authority.6": {
    claim:
      "What is too large is refused by its length, 100,000 fuzzed requests on /v1, /api/v1 and ACP get an answer below 500, and no other caller waits.",
    steps: [
      tests("inputs that are too long, at each door", "test/server/too-long", "test/tokens/least-tokens"),
      tests(
        "long texts at each door, parsed beside the event loop",
        "test/server/parse-doors",
        "test/acp-server/bounded-inputs",
      ),
      tests("the longest bodies, with /health asked meanwhile", "test/server/long-bodies"),
      tests("what is open at once", "test/server/in-flight", "test/model-api/request-size"),
      tests("bodies in chunks of a byte", "test/server/short-chunks", "test/platform/joined-chunks"),
      tests("the memory of conversations that are over", "test/server/live-memory"),
      tests("bodies at random, with /health asked meanwhile", "test/server/fuzz-bodies"),
      { title: "100,000 of them", args: ["scripts/fuzz-server.ts"] },
      tests("the shapes of /v1", "test/model-api/malformed", "test/platform/json/read-json"),
      tests("limits after filters", "test/stores/files/search-scope", "test/server/authority/limited-lists"),
      tests(
        "a full disk of the database, newer tables",
        "test/real/postgres/full-database",
        "test/real/postgres/newer-tables",
      ),
    ],
  },
  "authority.7": {
    claim:
      "At prosody, postfix and dovecot, and ngircd, none of 50 ways in which a wrong yes or a forged sender could count does; floods and bombs of strangers leave the owner answered within 5 s and the memory bounded; kills lose and double nothing.",
    steps: [
      tests("50 ways, at the real servers", "test/real/channels/wrong-yes"),
      tests("floods and bombs of strangers", "test/real/channels/stranger-floods"),
      tests("the check of an e-mail channel", "test/real/channels/email-check"),
      tests(
        "each kind of answer, code and mail",
        "test/channels/question-answers",
        "test/channels/channel-peers",
        "test/channels/robots",
        "test/channels/email/",
      ),
      tests(
        "kill -9 at the real servers",
        "test/real/channels/xmpp-kills",
        "test/real/channels/email-kills",
        "test/real/channels/irc-kills",
      ),
    ],
  },
  "authority.8": {
    claim:
      "A command, a turn, a start of run and of serve cost within noise of the commit before the walls, and a command in a repository of 50,000 files at most 30 ms more.",
    steps: [
      tests("the benchmark itself", "test/bench/authority", "test/tool/first-look"),
      bench("authority"),
    ],
  },
};
