/** The claims of `npm run prove`, and the steps that prove each. */

import { bench, tests, type Proof } from "./proof.ts";
import { BYTES } from "./prove-bytes.ts";
import { AUTHORITY } from "./prove-authority.ts";
import { CONTRACT } from "./prove-contract.ts";
import { FULL_FORMS } from "./prove-full.ts";
import { HOSTS } from "./prove-hosts.ts";
import { HOUSE } from "./prove-house.ts";
import { PAGE_VIEWS } from "./prove-page-views.ts";
import { INSPECTOR } from "./prove-inspector.ts";
import { PAGE } from "./prove-page.ts";
import { CHANNELS } from "./prove-channels.ts";
import { RECALL } from "./prove-recall.ts";
import { INSIDE } from "./prove-inside.ts";
import { KEEP } from "./prove-keep.ts";
import { TERMINAL } from "./prove-terminal.ts";
import { UNDO } from "./prove-undo.ts";
import { SERVE } from "./prove-serve.ts";
import { STRANGERS } from "./prove-strangers.ts";

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
      tests("the store and its process tests", "test/stores/files/"),
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
    steps: [bench("turn")],
  },
  "turn.7": {
    claim: "The lint fails on a forbidden import, a file that is too long, a logged prompt.",
    steps: [tests("planted violations", "test/lint/planted.process.test.ts")],
  },
  "codex.1": {
    claim: "The specification of the harness port holds, line by line (docs/architecture/codex.md).",
    steps: [
      tests(
        "engine lifecycle on the real program",
        "test/real/codex/projection",
        "test/real/codex/turns",
        "test/real/codex/fragments",
        "test/real/codex/native.",
        "test/real/codex/native-tools",
        "test/real/codex/reports",
      ),
      tests("projection, threads, mirror", "test/runtimes/codex/"),
      tests("compaction of a runtime", "test/turn/lanes/native"),
    ],
  },
  "codex.2": {
    claim:
      "On Codex the model sees the engine's context and the live turn, nothing twice, nothing missing, in each seam.",
    steps: [
      tests("thread and projection", "test/real/codex/epochs"),
      tests("text", "test/runtimes/codex/projection"),
    ],
  },
  "codex.3": {
    claim: "Additional context is shown by our own loop as the real Codex shows it.",
    steps: [tests("differential", "test/real/codex/differential")],
  },
  "codex.4": {
    claim: "A session goes from runtime to runtime, and each sees the whole conversation once.",
    steps: [tests("switching", "test/real/codex/switch")],
  },
  "codex.5": {
    claim:
      "Whatever happens to Codex or its endpoint, the session continues, and no process is left running.",
    steps: [
      tests("faults in turns", "test/real/codex/during"),
      tests("kill -9 of Codex in each phase", "test/real/codex/faults."),
      tests("kill -9 of the host in each phase", "test/real/codex/faults-host"),
      tests("endpoints", "test/real/codex/faults-endpoint"),
      tests("threads that are gone or held, compactions", "test/real/codex/faults-threads"),
      tests("versions, programs that are no Codex, logins", "test/real/codex/faults-program"),
      tests("the process", "test/real/codex/process"),
    ],
  },
  "codex.6": {
    claim: "Within an epoch each request begins with the one before it, on one thread.",
    steps: [
      tests("prefixes", "test/real/codex/turns"),
      tests("after a restart", "test/real/codex/resume"),
      tests("additional context", "test/real/codex/fragments"),
    ],
  },
  "codex.7": {
    claim:
      "The host adds little to the real Codex: to a turn, to a new epoch, to many sessions on one child.",
    steps: [bench("codex")],
  },
  "runtimes.1": {
    claim: "On Claude Code the model sees the engine's context with true roles, once, whatever is killed.",
    steps: [
      tests("turns, compactions, faults", "test/real/claude/"),
      tests("history, projection, mirror", "test/runtimes/claude/"),
    ],
  },
  "runtimes.2": {
    claim:
      "ACP in both directions: two agents driven, and the host as an agent driven by an independent client.",
    steps: [
      tests("agents", "test/real/acp/"),
      tests("the client's parts", "test/runtimes/acp/"),
      tests("the host as an agent, driven by acpx", "test/real/acp-agent/"),
      tests("the host as an agent, driven by the SDK", "test/acp-server/"),
    ],
  },
  "runtimes.3": {
    claim:
      "The conformance suite runs over Claude Code and ACP, and the compatibility table is made from it.",
    steps: [
      tests(
        "claude-cli and acp",
        "test/real/claude/conformance.process.test.ts",
        "test/real/acp/conformance.process.test.ts",
      ),
      { title: "report", args: ["scripts/conformance.ts", "--check"] },
      { title: "table", args: ["scripts/runtimes-table.ts", "--check"] },
    ],
  },
  "runtimes.4": {
    claim: "A session that changes its runtime at each turn receives every earlier message, once.",
    steps: [tests("30 turns in four runtimes", "test/real/runtimes/switching.process.test.ts")],
  },
  "runtimes.5": {
    claim:
      "A user's MCP server is used from every runtime, and one that misbehaves causes one error sentence.",
    steps: [tests("real and hostile servers", "test/real/mcp/"), tests("the client's parts", "test/mcp/")],
  },
  "runtimes.6": {
    claim: "The host adds little to a warm turn of each program that it drives.",
    steps: [bench("runtimes")],
  },
  "lossless.1": {
    claim:
      "The lossless engine is fast and small at long histories: assembling, ingesting, searching, adopting, waiting.",
    steps: [bench("lossless")],
  },
  "lossless.2": {
    claim:
      "Every message is recoverable byte for byte by its id, after any sequence of operations and crashes.",
    steps: [
      tests("the store", "test/engines/lossless/store/lossless.test.ts"),
      tests("kill -9 inside writes of the store", "test/engines/lossless/store/kill"),
      tests("sequences of operations", "test/engines/lossless/proof/lossless"),
      tests("crash images of each statement", "test/engines/lossless/proof/crash"),
      tests("kill -9 in every kind of write, full disks", "test/engines/lossless/proof/kill"),
    ],
  },
  "lossless.3": {
    claim:
      "Whatever a summarizer does wrong, no truncated text is used as a summary, the debt is shown, and it recovers.",
    steps: [tests("honesty", "test/engines/lossless/proof/honesty")],
  },
  "lossless.4": {
    claim: "One step over the budget never drops the summarized past.",
    steps: [tests("one step over", "test/engines/lossless/proof/one-step")],
  },
  "lossless.5": {
    claim: "An adopted session is searchable whole, and equal turns are as many as they were.",
    steps: [tests("adoption", "test/engines/lossless/proof/adoption")],
  },
  "lossless.6": {
    claim: "Recorded coding sessions cost little and keep far strings in sight, at both windows.",
    steps: [bench("context", "replay")],
  },
  "lossless.7": {
    claim: "Recall finds more than recency, BM25, and BM25 with neighbours, at each budget.",
    steps: [bench("context", "recall")],
  },
  ...RECALL,
  ...INSIDE,
  ...KEEP,
  ...UNDO,
  ...TERMINAL,
  "lossless.8": {
    claim:
      "After each compaction a long job continues: requests, corrections, files, the open step, what is done.",
    steps: [tests("the checks themselves", "test/bench/context/continuity"), bench("context", "continuity")],
  },
  "lossless.9": {
    claim:
      "The engine conforms, runs long, and takes turns with another engine in one session without a model call.",
    steps: [
      tests("conformance", "test/engines/lossless/conformance.test.ts"),
      ...["turns", "extractive", "one-turn", "back-and-forth"].map((name) =>
        tests(`long runs: ${name}`, `test/engines/lossless/long/${name}`),
      ),
    ],
  },
  "cli.1": {
    claim: "Each command says in one sentence that its output could not be written, and ends as failed.",
    steps: [tests("outputs that fail", "test/cli/output.process.test.ts")],
  },
  "plugins.1": {
    claim:
      "Engines that were not written for this host run unmodified: 50 turns with tools, two compactions each. Their folders are named by PAGURUS_FOREIGN_ENGINES (separated as in PATH); the small engines of the tests import and call the same names.",
    steps: [
      tests("imports, api, tools and hooks of OpenClaw", "test/plugin/compat"),
      tests("small engines in the real host", "test/plugin/foreign-engines"),
      { title: "installed engines", args: ["scripts/foreign-engines.ts"] },
    ],
  },
  "plugins.2": {
    claim:
      "Every rule that selects a runtime and every repair of the doctor does what it says; a second --fix changes nothing.",
    steps: [
      tests("selection", "test/turn/select/", "test/runtimes/codex/claims.test.ts"),
      tests("repairs, with configurations before and after", "test/doctor/repair"),
    ],
  },
  "plugins.3": {
    claim:
      "The conformance suites pass for the bundled engines and runtimes and the examples; each engine and harness with one deliberate fault is caught.",
    steps: [
      tests("mutants of engines, one a check", "test/testkit/mutants", "test/testkit/named-mutants"),
      tests("mutants of harnesses, one a check", "test/testkit/harness/"),
      tests("the engines", "test/testkit/engines.test.ts", "test/engines/lossless/conformance.test.ts"),
      tests("the examples, at the command line", "test/examples/"),
      tests("the engine of the guide", "test/docs/examples.process.test.ts"),
      tests("the real Codex", "test/real/codex/conformance"),
      { title: "docs/conformance.md", args: ["scripts/conformance.ts", "--check"] },
    ],
  },
  "plugins.4": {
    claim:
      "Hostile manifests, settings, packages and plugins are refused in one sentence; an install that is killed at any step leaves the old plugin in use.",
    steps: [
      tests("manifests from a fuzzer", "test/plugin/manifest.test.ts"),
      tests("settings and schemas from a fuzzer", "test/plugin/config-check.test.ts"),
      tests("writers to prototypes, and what else breaks", "test/plugin/hostile.process.test.ts"),
      tests("links, refusals and kill -9 during installs", "test/plugin/install/"),
    ],
  },
  "wire.1": {
    claim:
      "At each request of Codex and of Claude Code the model sees the engine's context and the live turn, through compactions.",
    steps: [
      tests("200 turns of each", "test/real/wire/turns.process.test.ts"),
      tests("splicing, dialects", "test/gateway/splice/", "test/gateway/dialect/"),
    ],
  },
  "wire.2": {
    claim: "Compactions of the harness are answered by the engine; where it does not, the provider answers.",
    steps: [
      tests("forced compactions", "test/real/wire/compactions"),
      tests("the turn's side", "test/turn/lanes/outer-compaction"),
    ],
  },
  "wire.3": {
    claim: "Requests that are not governed pass byte for byte, at little cost.",
    steps: [
      tests("byte for byte", "test/gateway/passthrough", "test/real/wire/passthrough"),
      bench("wire", "passthrough"),
    ],
  },
  "wire.4": {
    claim: "Requests keep their prefix, and cost less than those of the harness alone.",
    steps: [bench("wire", "prefix")],
  },
  "wire.5": {
    claim: "Bodies, clients, endpoints and other users that misbehave get clear errors, and nothing leaks.",
    steps: [
      tests("faults", "test/gateway/faults", "test/gateway/server/", "test/gateway/upstream/"),
      bench("wire", "memory"),
    ],
  },
  "wire.6": {
    claim:
      "The user's own Codex and Claude Code run in a terminal under `pagurus wire`, through a compaction.",
    steps: [tests("in tmux", "test/real/wire/interactive")],
  },
  "wire.7": {
    claim:
      "Each program that runs offline is governed through compactions, and a conversation goes through all of them.",
    steps: [
      tests("40 turns of each, and through all", "test/real/wire/programs"),
      tests("kinds, conversations, marks", "test/gateway/wrap/request-kinds"),
    ],
  },
  "wire.8": {
    claim:
      "ACP agents: the model that ran, results, denials, permission modes, and the next turn in a new process.",
    steps: [tests("real agents", "test/real/acp/programs"), tests("scripted agent", "test/runtimes/acp/")],
  },
  "wire.9": {
    claim:
      "A program's own login is used on the user's word, reaches its own host untouched, and is nowhere else.",
    steps: [tests("back ends of Codex and Claude Code", "test/real/wire/logins")],
  },
  "wire.10": {
    claim: "Compactions by address and by element are answered by the engine in their own form.",
    steps: [
      tests("with the openai package", "test/real/wire/compact-endpoint"),
      tests("with Codex", "test/real/wire/compactions-codex"),
      tests("with Copilot, Qwen Code and OpenCode", "test/real/wire/programs-compact"),
      tests("form", "test/gateway/dialect/responses-compact"),
    ],
  },
  "wire.11": {
    claim:
      "Gemini's protocol: recorded requests pass byte for byte, mutated ones never fail, spliced ones keep their order.",
    steps: [
      tests(
        "reading, recorded, mutated, spliced",
        "test/gateway/dialect/generate-content",
        "test/gateway/splice/",
      ),
      tests("byte for byte", "test/gateway/passthrough"),
    ],
  },
  "wire.12": {
    claim:
      "The gateway adds at most 1 ms to the first byte (p99 5), and the host 5 and 10 ms to a warm turn.",
    steps: [bench("wire", "first-byte"), bench("runtimes", "codex"), bench("runtimes", "claude-cli")],
  },
  ...CONTRACT,
  ...AUTHORITY,
  ...BYTES,
  ...SERVE,
  ...CHANNELS,
  ...HOSTS,
  ...INSPECTOR,
  ...PAGE,
  ...PAGE_VIEWS,
  ...STRANGERS,
  ...HOUSE,
  ...FULL_FORMS,
};
