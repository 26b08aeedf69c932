/** Which facts of a conversation the model still has after five compactions in the real Claude Code, in three ways. */
import assert from "node:assert/strict";
import { existsSync, globSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { CODING_SESSIONS } from "../../../bench/context/replay/claude-code.ts";
import { ITEM_KINDS } from "../../../packages/replay/src/survival/survival-items.ts";
import { FULL } from "../../runner/short-form.ts";
import {
  fidelityOf,
  recordedSession,
  WAYS,
  type Fidelity,
  type Recorded,
  type Way,
} from "./fidelity-bench.ts";
import { madeSession } from "./made-session.ts";

/** Recorded sessions in the full form, where they are beside the checkout; else one that is made here. */
function sessions(): Recorded[] {
  if (!FULL || !existsSync(CODING_SESSIONS)) return [madeSession()];
  const files = globSync("*.jsonl", { cwd: CODING_SESSIONS }).filter((file) => !file.includes("_subagents_"));
  return files
    .toSorted()
    .flatMap((file, nth) => recordedSession(join(CODING_SESSIONS, file), `session ${nth + 1}`) ?? []);
}

function sum(all: readonly Fidelity[]): Fidelity {
  const kinds = Object.fromEntries(
    ITEM_KINDS.map((kind) => {
      const add = (key: "items" | "inContext" | "reachable"): number =>
        all.reduce((total, { kinds: own }) => total + own[kind][key], 0);
      return [kind, { items: add("items"), inContext: add("inContext"), reachable: add("reachable") }];
    }),
  ) as Fidelity["kinds"];
  const total = (key: "characters" | "requests"): number => all.reduce((count, each) => count + each[key], 0);
  return { kinds, characters: total("characters"), requests: total("requests") };
}

/** Percent of all items. */
function share({ kinds }: Fidelity): number {
  const all = Object.values(kinds);
  const items = all.reduce((count, each) => count + each.items, 0);
  return (100 * all.reduce((count, each) => count + each.reachable, 0)) / items;
}

function row(way: Way, made: Fidelity): string {
  const cells = ITEM_KINDS.map((kind) => {
    const { items, inContext, reachable } = made.kinds[kind];
    return `${kind} ${reachable} of ${items} (${inContext} in sight)`;
  });
  return `${way}: ${cells.join(", ")}; ${share(made).toFixed(1)} %; ${made.characters} characters; ${made.requests} requests`;
}

describe(
  "what is left of a conversation after five compactions in Claude Code",
  { timeout: 1_500_000 },
  () => {
    it("is more with the engine than with the program's summary or with stale results dropped", async () => {
      const made = new Map<Way, Fidelity>();
      for (const way of WAYS) {
        const all: Fidelity[] = [];
        for (const session of sessions()) all.push(await fidelityOf(session, way));
        made.set(way, sum(all));
      }
      for (const [way, each] of made) console.log(row(way, each));
      const [engine, ...others] = WAYS.map((way) => made.get(way) ?? assert.fail());
      assert.ok(engine);
      assert.equal(engine.requests, 0);
      for (const other of others)
        assert.ok(share(engine) > share(other), `${share(engine)} and ${share(other)} %`);
      for (const kind of ["decisions", "paths", "error lines"] as const) {
        const { items, reachable } = engine.kinds[kind];
        assert.ok(reachable >= 0.95 * items, `${kind}: ${reachable} of ${items}`);
      }
    });
  },
);
