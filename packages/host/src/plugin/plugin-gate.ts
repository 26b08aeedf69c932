/**
 * Decides whether runs need a failed plugin. A gate is a plugin that can block an input or a tool call: it has, or its code
 * names, a hook whose failure blocks (`HOOK_RULES`), or a middleware of tools. Without its gate no turn runs; any other plugin
 * costs only its own features. A plugin that is not built is judged by its sources; one without any code that can be read counts as a gate.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { extname, join } from "node:path";
import { HOOK_RULES } from "@pagurus/contract/host/hook-rules";
import { attempt } from "@pagurus/core/data/attempt";
import { isChanged } from "./allowed-files.ts";
import { toPagurusError } from "@pagurus/contract/errors";
import { GATES_ELSEWHERE } from "./compat/hook-names.ts";

/** Name of a middleware of tools among the gates: it can keep a tool from running. */
export const MIDDLEWARE_GATE = "registerToolMiddleware";

/** Names of hooks that can block, ours and those of OpenClaw that run as one of ours. */
function gateHooks(): string[] {
  const ours = Object.entries(HOOK_RULES).filter(([, { onFailure }]) => onFailure === "block");
  return [...ours.map(([name]) => name), ...GATES_ELSEWHERE];
}

/** Whether a hook of this name can block. */
export function isGateHook(name: string): boolean {
  return gateHooks().includes(name);
}

export interface FailedPlugin {
  /** `plugins.entries.<id>.required`. */
  required: boolean | undefined;
  /** File or folder of its code; absent if unknown. */
  code?: string | undefined;
  error: unknown;
  /** Gate hooks registered before the failure. */
  registered: readonly string[];
}

/**
 * Why no run starts without a failed plugin, as the rest of a sentence that begins with "it"; undefined where runs continue
 * without it.
 */
export function whyNeeded({ required, code, error, registered }: FailedPlugin): string | undefined {
  if (leftChanges(error)) return "has changed what all code of this process shares";
  if (required !== undefined) return required ? "is required by its entry" : undefined;
  if (registered.length > 0) return gateSentence(registered);
  // Its code may have lost the names of its hooks.
  if (hasOtherFiles(error)) return "has other files than you allowed and may have been a gate";
  const named = code === undefined ? undefined : gatesNamedIn(code);
  if (named === undefined) return "cannot be read and may be a gate";
  return named.length > 0 ? gateSentence(named) : undefined;
}

function gateSentence(hooks: readonly string[]): string {
  return `is a gate (${[...new Set(hooks)].join(", ")})`;
}

function hasOtherFiles(error: unknown): boolean {
  return attempt(() => isChanged(toPagurusError(error).details)) === true;
}

/** Changes of shared objects that could not be undone persist for the rest of the process. */
function leftChanges(error: unknown): boolean {
  try {
    return toPagurusError(error).details?.["undone"] === false;
  } catch {
    // An unreadable value was not thrown by us.
    return false;
  }
}

const CODE = new Set([".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"]);
const NOT_ITS_OWN = new Set(["node_modules", ".git"]);
/** More than any plugin's own code. */
const MAX_BYTES = 64_000_000;

/** Gate hook names in the text of the plugin's own files; undefined if it has none, or more than can be read. */
function gatesNamedIn(path: string): string[] | undefined {
  const gates = [...gateHooks(), MIDDLEWARE_GATE];
  const found = new Set<string>();
  const left = [path];
  let bytes = 0;
  let files = 0;
  try {
    for (let at = left.pop(); at !== undefined; at = left.pop()) {
      const stat = statSync(at);
      if (stat.isDirectory()) {
        for (const name of readdirSync(at)) if (!NOT_ITS_OWN.has(name)) left.push(join(at, name));
      } else if (stat.isFile() && CODE.has(extname(at))) {
        bytes += stat.size;
        files += 1;
        if (bytes > MAX_BYTES) return undefined;
        const text = readFileSync(at, "utf8");
        for (const hook of gates) if (namesHook(text, hook)) found.add(hook);
      }
    }
  } catch {
    // An unreadable part may contain the gate.
    return undefined;
  }
  return files === 0 ? undefined : gates.filter((hook) => found.has(hook));
}

function namesHook(text: string, hook: string): boolean {
  if (hook === MIDDLEWARE_GATE) return text.includes(hook);
  return [`"${hook}"`, `'${hook}'`, `\`${hook}\``].some((quoted) => text.includes(quoted));
}
