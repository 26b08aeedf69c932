/**
 * The short form of each step of `npm run prove`, which CI runs between its runs in full. Test files are run by `npm test -- --all` and by
 * the tests of the real programs; the other steps by `npm run prove -- --short`, or by what is named here. Of benchmarks CI runs the tests
 * alone, which measure in short for one of them: figures of a busy machine say nothing.
 */
import { ROOT } from "./command.ts";
import type { ProofStep } from "./proof.ts";
import { PROOFS } from "./prove-lines.ts";

/** `command`: a line of `.ci/run`. `tests`: part of the path of a test file, which `npm test -- --all` or the real programs' tests run. */
export type ShortForm = { args: string[] } | { command: string } | { tests: string };

const LINT: ShortForm = { command: "npm run --silent lint" };

/** By the script, or the option, that a step begins with. */
const SCRIPTS: Readonly<Record<string, ShortForm>> = {
  "scripts/contract.ts": { args: ["scripts/contract.ts"] },
  "scripts/authority-matrix.ts": { args: ["scripts/authority-matrix.ts"] },
  "scripts/conformance.ts": { tests: "test/testkit/engines.test.ts" },
  "scripts/runtimes-table.ts": LINT,
  "scripts/lint.ts": LINT,
  "scripts/house-pair.ts": LINT,
  "scripts/house-table.ts": LINT,
  "scripts/setup-openclaw.ts": { command: "npm run --silent setup:real" },
  "scripts/newest.ts": { command: "npm run --silent newest" },
  "scripts/prove-clean-clone.ts": { command: "npm ci" },
  "scripts/fuzz-server.ts": { tests: "test/server/fuzz-bodies.process.test.ts" },
  "scripts/prove-strange.ts": { tests: "test/testkit/strange-servers/" },
  "scripts/prove-one-shot.ts": { tests: "test/bench/pairs.test.ts" },
  "scripts/bench-pairs.ts": { tests: "test/bench/pairs.test.ts" },
  "scripts/prove-idle-jobs.ts": { tests: "test/schedule/due-times.test.ts" },
  "scripts/prove-findings.ts": { tests: "test/lint/wall-findings.test.ts" },
  "scripts/foreign-engines.ts": { tests: "test/plugin/foreign-engines/" },
  "scripts/registry-plugins.ts": { tests: "test/plugin/compat/" },
  "scripts/page-screens.ts": { tests: "test/real/page-access" },
  "scripts/prove-waits.ts": { args: ["scripts/prove-waits.ts", "--short"] },
  "scripts/prove-old-homes.ts": { tests: "test/stores/files/" },
  "scripts/prove-user-view.ts": { args: ["scripts/prove-user-view.ts"] },
  "scripts/prove-stranger-changes.ts": { args: ["scripts/prove-stranger-changes.ts", "--short"] },
  "-p": { tests: "test/real/mcp/conformance" },
};

/** Undefined for a step without one, which the tests refuse. */
export function shortFormOf({ args }: ProofStep): ShortForm | undefined {
  const [script = "", ...more] = args.filter((arg) => arg !== "--no-warnings");
  if (script === "scripts/test.ts") return { tests: more.join(" ") };
  if (script === "scripts/prove-bench.ts") return { tests: "test/bench/" };
  return Object.hasOwn(SCRIPTS, script) ? SCRIPTS[script] : undefined;
}

/** Old checkouts are this one: a shallow clone has no earlier commit, and only the running of a short form counts. */
export const SHORT_ENV = { PAGURUS_OLD_CHECKOUT: ROOT };

/** Arguments of node that CI runs, each once. */
export function shortCommands(): string[][] {
  const commands = new Map<string, string[]>();
  for (const { steps } of Object.values(PROOFS))
    for (const step of steps) {
      const form = shortFormOf(step);
      if (form && "args" in form) commands.set(form.args.join(" "), form.args);
    }
  return [...commands.values()];
}

/** Scripts with a row above. */
export const SHORT_SCRIPTS = Object.keys(SCRIPTS);
