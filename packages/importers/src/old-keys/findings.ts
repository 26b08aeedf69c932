/**
 * Outdated settings of a configuration, and the current form of each. Source: agent runtimes, "Codex surfaces", "Runtime
 * selection".
 */
import { recordOf } from "@pagurus/core/data/record-fields";
import { formatKeyPath, valueAt, type KeyPath } from "@pagurus/core/config/key-path";
import { isAuto } from "@pagurus/core/config/runtime-policy";
import { scopesOf } from "./decided.ts";
import type { Edit } from "./edited.ts";
import { ignoredPins } from "@pagurus/core/config/legacy/legacy-pins";
import { refFindings, type LegacyFinding } from "./ref-repair.ts";

/** Every place that may hold a policy. */
function policyPaths(config: unknown): KeyPath[] {
  const atModels = scopesOf(config).flatMap((scope) =>
    Object.keys(recordOf(valueAt(config, [...scope, "models"]))).map((key): KeyPath => [
      ...scope,
      "models",
      key,
      "agentRuntime",
    ]),
  );
  const providers = recordOf(valueAt(config, ["models", "providers"]));
  const atProviders = Object.entries(providers).flatMap(([id, provider]): KeyPath[] => {
    const base: KeyPath = ["models", "providers", id];
    const entries = recordOf(provider)["models"];
    const own = Array.isArray(entries)
      ? entries.map((_, index): KeyPath => [...base, "models", index, "agentRuntime"])
      : [];
    return [[...base, "agentRuntime"], ...own];
  });
  return [...atModels, ...atProviders];
}

/** Runtimes that policies name, with the place of each name. */
export function namedRuntimes(config: unknown): { path: KeyPath; id: string }[] {
  return policyPaths(config).flatMap((path) => {
    const { id } = recordOf(valueAt(config, path));
    return typeof id === "string" && !isAuto(id) ? [{ path: [...path, "id"], id }] : [];
  });
}

const OLD_FALLBACKS = new Set(["pi", "openclaw"]);

function policyFindings(config: unknown): LegacyFinding[] {
  return policyPaths(config).flatMap((path): LegacyFinding[] => {
    const { id, fallback } = recordOf(valueAt(config, path));
    const findings: LegacyFinding[] = [];
    if (id === "codex-cli") {
      const at = [...path, "id"];
      const what = `${formatKeyPath(at)} names a backend that is gone; its turns run in the runtime codex.`;
      findings.push({ path: at, what, edits: [{ kind: "set", path: at, value: "codex" }] });
    }
    const at = [...path, "fallback"];
    const falls = typeof fallback === "string" && (fallback === "embedded" || OLD_FALLBACKS.has(fallback));
    if (falls && typeof id === "string" && !isAuto(id)) {
      const what = `${formatKeyPath(at)} has no meaning beside the id ${JSON.stringify(id)}: a named runtime is never replaced.`;
      findings.push({ path: at, what, edits: [{ kind: "unset", path: at }] });
    } else if (falls && fallback !== "embedded") {
      const what = `${formatKeyPath(at)} is ${JSON.stringify(fallback)}, an older name of "embedded", which is the default.`;
      // It has been ignored so far, and if read it would override policies that apply.
      const edit: Edit =
        id === undefined ? { kind: "unset", path: at } : { kind: "set", path: at, value: "embedded" };
      findings.push({ path: at, what, edits: [edit] });
    }
    return findings;
  });
}

/** Findings in the order of the repairs. `config` is the file's current value. */
export function legacyFindings(config: unknown): LegacyFinding[] {
  return [
    ...ignoredPins(config, {}).flatMap(({ path, what }): LegacyFinding[] =>
      path ? [{ path, what, edits: [{ kind: "unset", path }] }] : [],
    ),
    ...refFindings(config),
    ...policyFindings(config),
  ];
}
