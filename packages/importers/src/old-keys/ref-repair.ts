/**
 * Legacy refs: each is rewritten everywhere at once, as the value of a model and as a key of `models`, and only if every model
 * then still runs in its current runtime.
 */
import { recordOf } from "@pagurus/core/data/record-fields";
import { formatKeyPath, valueAt, type KeyPath } from "@pagurus/core/config/key-path";
import { agentsOf, decidedPolicy, scopesOf, usableProviders, type Providers } from "./decided.ts";
import type { RuntimePolicy } from "@pagurus/core/config/config-types";
import { editedValue, type Edit } from "./edited.ts";
import { CODEX_LOGIN, readLegacyRef, type LegacyRef } from "@pagurus/core/config/legacy/refs";

export interface LegacyFinding {
  path: KeyPath;
  /** One sentence. */
  what: string;
  /** Manual fix, where there are no edits. */
  advice?: string;
  /** Edits of the repair; absent where the meaning cannot be kept without a decision. Findings of one repair share them. */
  edits?: readonly Edit[];
}

/** Keys of an agent whose value is a model ref, at any depth. */
const REF_KEY = /^(?:primary|fallbacks|(?:\w*M|m)odel)$/;
/** Model calls outside turns: no runtime is chosen for them. */
const NOT_FOR_TURNS = new Set(["compaction", "imageModel", "imageGenerationModel", "pdfModel"]);
const NOT_SEARCHED = new Set(["models", "permission"]);

interface WrittenRef {
  scope: KeyPath;
  path: KeyPath;
  written: string;
}

function refsBelow(value: unknown, at: Omit<WrittenRef, "written">, named: boolean): WrittenRef[] {
  if (typeof value === "string") return named && value.includes("/") ? [{ ...at, written: value }] : [];
  if (typeof value !== "object" || value === null) return [];
  const below = (key: string | number): Omit<WrittenRef, "written"> => ({ ...at, path: [...at.path, key] });
  if (Array.isArray(value))
    return value.flatMap((each: unknown, index) => refsBelow(each, below(index), named));
  return Object.entries(value).flatMap(([key, each]) =>
    NOT_SEARCHED.has(key) ? [] : refsBelow(each, below(key), REF_KEY.test(key)),
  );
}

/** Every model ref of the agents that is a value. */
function refsOf(config: unknown): WrittenRef[] {
  return scopesOf(config).flatMap((scope) =>
    refsBelow(valueAt(config, scope), { scope, path: scope }, false),
  );
}

function runsTurns({ path }: WrittenRef): boolean {
  return !path.some((key) => NOT_FOR_TURNS.has(String(key)));
}

/** The runtime of each ref, for each of its agents; in an order that edits do not change. */
function decisions(config: unknown, probes: readonly string[]): string {
  const found = refsOf(config)
    .filter(runsTurns)
    .map(({ scope, written }) => agentsOf(config, scope).map((agent) => decision(config, agent, written)));
  // Models that no value names can run as well: the default one, those of --model and of sessions.
  const others = scopesOf(config).flatMap((scope) =>
    agentsOf(config, scope).map((agent) => probes.map((ref) => decision(config, agent, ref))),
  );
  return JSON.stringify([found, others]);
}

const EMBEDDED_NAMES = new Set(["embedded", "openclaw", "pi"]);

/** Codex's login in our own loop is refused; an API key instead would be billed to another account. */
function decision(config: unknown, agent: string, written: string): object {
  const policy = decidedPolicy(config, agent, written);
  const refused = written.startsWith(`${CODEX_LOGIN}/`) && EMBEDDED_NAMES.has(policy.id.trim().toLowerCase());
  return { ...policy, refused };
}

/** One legacy spelling: its places as a value, and the scopes whose `models` have it as a key. */
interface Spelling {
  written: string;
  legacy: LegacyRef;
  values: WrittenRef[];
  keyed: KeyPath[];
}

function spellingsOf(config: unknown, providers: Providers): Spelling[] {
  const found = new Map<string, Spelling>();
  const spelling = (written: string): Spelling | undefined => {
    const legacy = readLegacyRef(written, providers);
    if (!legacy) return undefined;
    const known = found.get(written) ?? { written, legacy, values: [], keyed: [] };
    found.set(written, known);
    return known;
  };
  for (const ref of refsOf(config)) spelling(ref.written)?.values.push(ref);
  for (const scope of scopesOf(config)) {
    for (const key of Object.keys(recordOf(valueAt(config, [...scope, "models"]))))
      spelling(key)?.keyed.push(scope);
  }
  return [...found.values()];
}

/** Moves the settings of a legacy key to the current one; undefined where both name different runtimes. */
function movedKey(config: unknown, scope: KeyPath, { written, legacy }: Spelling): Edit[] | undefined {
  const { ref, runtime } = legacy;
  const models = recordOf(valueAt(config, [...scope, "models"]));
  const path = [...scope, "models", written];
  if (!Object.hasOwn(models, ref)) return [{ kind: "rename", path, key: ref }];
  const own = recordOf(models[written]);
  const there = recordOf(models[ref]);
  const mine = recordOf(own["agentRuntime"])["id"] ?? runtime;
  const theirs = recordOf(there["agentRuntime"])["id"];
  if (theirs !== undefined && theirs !== mine) return undefined;
  const moved = Object.entries(own)
    .filter(([name]) => !Object.hasOwn(there, name))
    .map(([name, value]): Edit => ({ kind: "set", path: [...scope, "models", ref, name], value }));
  return [...moved, { kind: "unset", path }];
}

/** A policy for today's ref in a scope that has none. */
function pinIn(config: unknown, scope: KeyPath, ref: string, policy: RuntimePolicy): Edit[] {
  const path = [...scope, "models", ref, "agentRuntime"];
  if (valueAt(config, [...path, "id"]) !== undefined) return [];
  return Object.entries(policy).map(([key, value]) => ({ kind: "set", path: [...path, key], value }));
}

/** Edits that keep the meaning of a spelling, tried in order: implied policies first. */
function repairOf(config: unknown, spelling: Spelling): Edit[] | undefined {
  const { values, keyed, legacy, written } = spelling;
  const { ref, runtime } = legacy;
  const moves = keyed.map((scope) => movedKey(config, scope, spelling));
  if (moves.includes(undefined)) return undefined;
  const base: Edit[] = [
    ...values.map(({ path }): Edit => ({ kind: "set", path, value: ref })),
    ...moves.flatMap((edits) => edits ?? []),
  ];
  const moved = editedValue(config, base);
  // One legacy ref does not pin a whole provider.
  const implied = ref.endsWith("/*")
    ? []
    : keyed.flatMap((scope) => pinIn(moved, scope, ref, { id: runtime }));
  const withImplied = editedValue(moved, implied);
  const pinsAtValues = (from: unknown): Edit[] =>
    values.filter(runsTurns).flatMap(({ scope }) => {
      const [agent = ""] = agentsOf(config, scope);
      return pinIn(from, scope, ref, decidedPolicy(config, agent, written));
    });
  const probes = ref.endsWith("/*") ? [`${ref.slice(0, -1)}any`] : [];
  const before = decisions(config, probes);
  return [
    [...base, ...implied],
    base,
    [...base, ...pinsAtValues(moved)],
    [...base, ...implied, ...pinsAtValues(withImplied)],
  ].find((edits) => decisions(editedValue(config, edits), probes) === before);
}

/** Each place of a legacy ref, with the edits that fix all places of its spelling. */
export function refFindings(config: unknown): LegacyFinding[] {
  return spellingsOf(config, usableProviders(config)).flatMap((spelling): LegacyFinding[] => {
    const { written, legacy, values, keyed } = spelling;
    const { ref, runtime } = legacy;
    const edits = repairOf(config, spelling);
    const example = ref.endsWith("/*") ? `${ref.slice(0, -1)}<model>` : written;
    const advice = `Written as ${ref} a model would run in another runtime than now; decide which one is meant (pagurus runtimes explain ${example}).`;
    const rest = edits ? { edits } : { advice };
    const today = `a legacy ref; today it is ${JSON.stringify(ref)} with the runtime ${runtime}.`;
    return [
      ...values.map(({ path }) => ({
        path,
        what: `${formatKeyPath(path)} is ${JSON.stringify(written)}, ${today}`,
        ...rest,
      })),
      ...keyed.map((scope) => {
        const path = [...scope, "models", written];
        return { path, what: `${formatKeyPath(path)} is ${today}`, ...rest };
      }),
    ];
  });
}
