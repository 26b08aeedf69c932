/**
 * Settings that once pinned a whole agent, a session or the process to a runtime. They are ignored: a runtime is chosen per
 * model. Source: agent runtimes, "Runtime selection".
 */
import { isRecord } from "../../data/record-fields.ts";
import { formatKeyPath, type KeyPath } from "../key-path.ts";

export interface IgnoredPin {
  /** Place in the configuration; absent for the environment. */
  path?: KeyPath;
  /** One sentence. */
  what: string;
}

const ENVIRONMENT = "OPENCLAW_AGENT_RUNTIME";
/** Keys of an agent, or of a session's state, that are pins. */
export const PIN_KEYS: readonly string[] = [
  "agentRuntime",
  "embeddedHarness",
  "agentHarnessId",
  "agentRuntimeOverride",
];

function pinsAt(value: unknown, path: KeyPath): IgnoredPin[] {
  if (!isRecord(value)) return [];
  return PIN_KEYS.filter((key) => value[key] !== undefined).map((key) => {
    const at = [...path, key];
    return {
      path: at,
      what: `${formatKeyPath(at)} pins every model of the agent to a runtime and is ignored; name the runtime at a model or a provider.`,
    };
  });
}

/** In the order of the configuration, the environment last. */
export function ignoredPins(
  config: unknown,
  env: Readonly<Record<string, string | undefined>>,
): IgnoredPin[] {
  const agents = isRecord(config) && isRecord(config["agents"]) ? config["agents"] : {};
  const list = Array.isArray(agents["list"]) ? (agents["list"] as unknown[]) : [];
  const pins = [
    ...pinsAt(agents["defaults"], ["agents", "defaults"]),
    ...list.flatMap((entry, index) => pinsAt(entry, ["agents", "list", index])),
  ];
  const named = env[ENVIRONMENT]?.trim();
  if (named)
    pins.push({
      what: `The environment variable ${ENVIRONMENT} is ignored; use --runtime for one run, or name the runtime at a model or a provider.`,
    });
  return pins;
}
