/** The claims about what strangers found. */
import { tests, type Proof } from "./proof.ts";

export const STRANGERS: Record<string, Proof> = {
  "strangers.1": {
    claim: "Each fault that strangers found has a test that failed before, or a reason.",
    steps: [{ title: "findings", args: ["scripts/prove-findings.ts"] }],
  },
  "strangers.2": {
    claim:
      "A hostile model gets nothing out of the workspace, with bubblewrap and without, and no key follows a redirect.",
    steps: [
      tests("escapes, 10,000 tries", "test/tool/escape.process.test.ts"),
      tests("environment of children", "test/platform/child-environment", "test/real/codex/environment"),
      tests("redirects", "test/model/redirect.test.ts"),
    ],
  },
  "strangers.3": {
    claim:
      "After any of 500 flipped bits the next request is correct or the change is reported, and no session is refused.",
    steps: [tests("bit flips", "test/turn/bit-flips.test.ts")],
  },
  "strangers.4": {
    claim:
      "Of 30 plugins of the registry none ends the host or refuses a run that does not need it. Needs npm and its registry.",
    steps: [{ title: "plugins of the registry", args: ["scripts/registry-plugins.ts"] }],
  },
  "strangers.5": {
    claim:
      "Two folders, four programs at once, resumed and continued in every combination: each conversation continues whole, and no message reaches another one.",
    steps: [
      tests(
        "keys of folders",
        "test/stores/files/folder-keys.property.test.ts",
        "test/turn/session-claim.test.ts",
      ),
      tests("real programs in tmux", "test/real/wire/folders.process.test.ts"),
    ],
  },
  "strangers.6": {
    claim: "A new user's first hour in a terminal: README, chat, wire, a mistake of each kind.",
    steps: [tests("first hour", "test/real/first-hour.process.test.ts")],
  },
};
