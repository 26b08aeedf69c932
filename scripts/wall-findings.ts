/**
 * Findings about walls (`w`) and about channels, MCP, plugins and PostgreSQL (`c`), each with tests that fail on the code in which it was
 * found: a test file, and a part of the title.
 */

export interface WallFinding {
  id: string;
  what: string;
  tests: readonly (readonly [file: string, title: string])[];
}

const matrix: [string, string] = [
  "test/server/authority/matrix.process.test.ts",
  "lets through what a caller may name and refuses the rest",
];
const acpMatrix = (title: string): [string, string] => [
  "test/server/authority/acp-matrix.process.test.ts",
  title,
];
const afterCommand = (title: string): [string, string] => ["test/tool/left-behind.process.test.ts", title];
const questions = (title: string): [string, string] => ["test/channels/question-answers.test.ts", title];
const wrongYes = (title: string): [string, string] => ["test/real/channels/wrong-yes.process.test.ts", title];
const traps: [string, string] = ["test/cli/folder-traps.process.test.ts", "gets nothing of"];

const ROWS: Readonly<Record<string, readonly [what: string, ...tests: (readonly [string, string])[]]>> = {
  "w1.1": ["a turn chooses its own permission and folder", matrix],
  "w1.2": [
    "an ACP client over the network starts programs",
    acpMatrix("lets through what a caller may name"),
  ],
  "w1.3": [
    "an ACP client saves a rule",
    acpMatrix("takes an answer that saves a rule only of a caller that may"),
  ],
  "w2.1": ["a repository names the host of a key", traps],
  "w2.2": [
    "a repository names the host of a login",
    ["test/gateway/wrap/upstream-rule.test.ts", "gets a login at its maker's hosts alone"],
    ["test/real/wire/logins.process.test.ts", "reaches no host but its maker's"],
  ],
  "w2.3": [
    "a wrapped program lacks its own question about the folder",
    ["test/gateway/wrap/claude-settings.test.ts", "leaves the settings of a folder out with -p"],
    ["test/programs/untrusted-folder.test.ts", "gets nothing of ${name} before trust"],
  ],
  "w3.1": [
    "settings of the kernel are writable",
    ["test/tool/secrets.process.test.ts", "planted secrets is read"],
  ],
  "w4.1": [
    "programs that a command plants in PATH",
    ["test/tool/escape.process.test.ts", "programs that a command plants in folders of PATH"],
    ["test/platform/executables.test.ts", "a program is not taken from"],
  ],
  "w4.2": ["the guard's budget is filled", afterCommand("more repositories than are mounted")],
  "w4.3": ["a .git that is a file stays", afterCommand("a file .git")],
  "w4.4": [
    "git runs what is planted while a command runs",
    afterCommand("a git that the user runs while a command runs"),
  ],
  "w4.5": [
    "settings and instructions are written unseen",
    afterCommand("whatever a command writes where programs start from"),
  ],
  "w5.1": [
    "revocation leaves streams and sockets open",
    ["test/server/token-ends.process.test.ts", "ends when it ${how}"],
    ["test/real/postgres/shared-token-ends.process.test.ts", "ends with its revocation at another one"],
  ],
  "w5.2": ["a cookie goes to every port", ["test/server/access.process.test.ts", "counts no cookie"]],
  "w5.3": ["folders in queries and bodies are unchecked", matrix],
  "w5.4": [
    "limits come before filters",
    ["test/stores/files/search-scope.test.ts", "a limited search finds the session's own hit"],
  ],
  "w5.5": [
    "a limited admin reaches more than its sessions",
    matrix,
    [
      "test/authority/authority.test.ts",
      "a token is refused whose authority would be wider than its creator's",
    ],
    ["test/server/authority/random.process.test.ts", "have no effect outside of their authority"],
  ],
  "w5.6": [
    "a prompt of 31 MB blocks the host",
    ["test/server/too-long.process.test.ts", "of 31 MB is refused"],
  ],
  "w5.7": [
    "the advice for a full database disk",
    ["test/real/postgres/full-database.process.test.ts", "a command names the full disk and what to do"],
  ],
  "w6.1": ["secrets are a deny list", ["test/tool/secrets.process.test.ts", "planted secrets is read"]],
  "w6.2": [
    "keys in the host's environment block",
    ["test/launcher/environment.process.test.ts", "holds no key"],
  ],
  "w7.1": [
    "deleted words stay",
    ["test/deletions/kill.process.test.ts", "leaves no word after any of"],
    ["test/deletions/places.test.ts", "were only in declared places"],
  ],
  "w8.1": ["instructions close their element", ["test/turn/folder-fences.test.ts", "stays in its element"]],
  "w8.2": [
    "a rule for git covers programs",
    ["test/tool/permission-shell.test.ts", "a prefix of git covers no way"],
  ],
  "w8.3": [
    "malformed requests are failures of the server",
    ["test/model-api/malformed.test.ts", "is answered without a failure"],
  ],
  "w8.4": [
    "summaries are readable and forgeable",
    ["test/model-api/sealed-elements.test.ts", "is refused once it was changed"],
  ],
  "w8.5": [
    "look-alike addresses",
    ["test/channels/plain-text.test.ts", "looks different from every other one"],
  ],
  "w8.6": [
    "headers, unknown tokens, open homes, the sign-in code",
    ["test/server/answer-headers.process.test.ts", "its type is not guessed"],
    ["test/server/access.process.test.ts", "answers 404 for a token"],
    ["test/doctor/doctor.process.test.ts", "finds files that others can read"],
    ["test/cli/server/service.process.test.ts", "no command line has the code"],
  ],
  "w8.7": [
    "private addresses in IPv6",
    ["test/tool/web-fetch.test.ts", "an IPv6 address with an IPv4 address inside"],
  ],
  c1: [
    "a yes approves another question",
    questions("that replies to a question answers that one"),
    wrongYes("does not count over e-mail"),
    wrongYes("does not count over XMPP"),
  ],
  c2: ["always outlives the tool", ["test/tool/permission-definition.test.ts", "changed is asked for again"]],
  c3: ["a plain yes in a group", questions("in a group counts without the name of the agent")],
  c4: [
    "forged results of authentication",
    ["test/channels/email/authentication.test.ts", "is not proven by a field of the sender"],
    ["test/real/channels/email-check.process.test.ts", "says whether a forged result counts"],
  ],
  c5: [
    "mail of strangers is parsed",
    ["test/real/channels/stranger-floods.process.test.ts", "leave the owner answered"],
  ],
  c6: ["robots that begin threads", ["test/channels/robots.test.ts", "gets a limited number of answers"]],
  c7: ["strangers shut others out", ["test/channels/channel-peers.test.ts", "of one domain shut no one out"]],
  c8: [
    "a test of e-mail without sending",
    ["test/real/channels/email-check.process.test.ts", "fails where no mail can be sent"],
  ],
  c9: ["hidden words of HTML", ["test/channels/email/read-mail.test.ts", "has no words that its HTML hides"]],
  c10: [
    "entries with secrets, or that cannot start",
    ["test/cli/channels.test.ts", "are not written with a secret in clear"],
  ],
  c11: [
    "one bad element loses a message",
    ["test/mcp/client/liars.process.test.ts", "bad elements, null for absent fields"],
  ],
  c12: [
    "calls without an end, children without a host",
    ["test/mcp/client/liars.process.test.ts", "progress keeps a call alive up to longestCallMs"],
    ["test/platform/children.process.test.ts", "is gone with all that it started"],
  ],
  c13: [
    "unseen characters for a model",
    ["test/tool/toolset.test.ts", "descriptions and schemas of tools of others reach the model without di"],
  ],
  c14: [
    "older programs on newer tables",
    ["test/real/postgres/newer-tables.process.test.ts", "every entry refuses tables"],
  ],
  c15: [
    "changed plugins, a clock that goes back",
    ["test/plugin/install/allowed-files.process.test.ts", "runs no code of changed files"],
    ["test/channels/channel-peers.test.ts", "is not valid ${when}, and never again"],
  ],
  c16: [
    "a member's id counts as sent",
    ["test/channels/xmpp-group-reader.test.ts", "counts as sent by its author and id"],
  ],
};

export const WALL_FINDINGS: readonly WallFinding[] = Object.entries(ROWS).map(([id, [what, ...tests]]) => ({
  id,
  what,
  tests,
}));
