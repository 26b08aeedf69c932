/** Options that a user can set for a session in the editor: modes of v1, and configuration options. */
import type {
  SessionConfigOption,
  SessionConfigSelectOption,
  SessionModeState,
} from "@agentclientprotocol/sdk";
import type { Pagurus } from "@pagurus/contract/host/host";
import { MODE_WORDS, type PermissionMode } from "@pagurus/contract/host/permission-modes";
import type { RunRequest } from "@pagurus/contract/host/run";
import type { StatusReport } from "@pagurus/contract/host/status";
import { invalid } from "./acp-errors.ts";
import type { ModelList } from "./acp-models.ts";
import { defined } from "@pagurus/core/data/defined";

export type Mode = PermissionMode;
export type Thinking = NonNullable<RunRequest["thinking"]>;

/** Options of a session's runs; an absent one is as configured. */
export interface Chosen {
  mode: Mode;
  model?: string | undefined;
  runtime?: string | undefined;
  thinking?: Thinking | undefined;
}

/** Input for building a session's options. */
export interface Facts {
  /** The configured model. */
  model: string;
  runtime: string;
  engine: string;
  runtimes: SessionConfigSelectOption[];
}

function wordsOf(mode: Mode): { name: string; description: string } {
  const { name, says } = MODE_WORDS[mode];
  return { name, description: says };
}

const THINKING: readonly Thinking[] = ["off", "low", "medium", "high"];
/** Value that selects the configured default. */
export const CONFIGURED = "default";

export function isMode(value: string): value is Mode {
  return Object.hasOwn(MODE_WORDS, value);
}

function isThinking(value: string): value is Thinking {
  return (THINKING as readonly string[]).includes(value);
}

/** Reads from the host what the session would run with. */
export async function readFacts(
  pagurus: Pagurus,
  status: StatusReport,
  agentId: string,
  model: string | undefined,
): Promise<Facts> {
  const facts = await pagurus.runtimes.list({ agentId, ...defined({ model }) });
  return {
    model: status.model.ref,
    runtime: status.Runtime.id,
    engine: status.engine.effective,
    runtimes: facts.filter(({ runs }) => runs.supported).map(({ id, label }) => ({ value: id, name: label })),
  };
}

export function modeState({ mode }: Chosen, modes: readonly Mode[]): SessionModeState {
  const availableModes = modes.map((id) => ({ id, ...wordsOf(id) }));
  return { currentModeId: mode, availableModes };
}

/** Adds the current choice to the list if it is missing, whatever the list was made from. */
function withCurrent(options: SessionConfigSelectOption[], current: string): SessionConfigSelectOption[] {
  return options.some(({ value }) => value === current)
    ? options
    : [...options, { value: current, name: current }];
}

/** What the options of a session are made from. */
export interface OptionScope {
  facts: Facts;
  models: ModelList;
  /** Modes that the client may choose. */
  modes: readonly Mode[];
}

export function configOptions(chosen: Chosen, { facts, models, modes }: OptionScope): SessionConfigOption[] {
  const select = (
    head: { id: string; name: string; category: string; description?: string },
    currentValue: string,
    options: SessionConfigSelectOption[],
  ): SessionConfigOption => ({
    type: "select",
    ...head,
    currentValue,
    options: withCurrent(options, currentValue),
  });
  const configured = (what: string): SessionConfigSelectOption => ({
    value: CONFIGURED,
    name: `Configured (${what})`,
  });
  return [
    select(
      { id: "mode", name: "Permissions", category: "mode" },
      chosen.mode,
      modes.map((value) => ({ value, ...wordsOf(value) })),
    ),
    select({ id: "model", name: "Model", category: "model" }, chosen.model ?? CONFIGURED, [
      configured(facts.model),
      ...models.refs().map((ref) => ({ value: ref, name: ref })),
    ]),
    select({ id: "thinking", name: "Thinking", category: "thought_level" }, chosen.thinking ?? CONFIGURED, [
      { value: CONFIGURED, name: "Configured" },
      ...THINKING.map((value) => ({ value, name: value })),
    ]),
    select({ id: "runtime", name: "Runtime", category: "_runtime" }, chosen.runtime ?? CONFIGURED, [
      configured(facts.runtime),
      ...facts.runtimes,
    ]),
    select(
      {
        id: "engine",
        name: "Context engine",
        category: "_context_engine",
        description: "What decides what the model sees. Chosen in the configuration, for all sessions alike.",
      },
      facts.engine,
      [{ value: facts.engine, name: facts.engine }],
    ),
  ];
}

/** Returns the choices with one option changed. Throws `usage_invalid` with a sentence for a value that cannot be chosen. */
export async function choose(
  chosen: Chosen,
  change: { id: string; value: string },
  known: OptionScope & { pagurus: Pagurus; agentId: string },
): Promise<Chosen> {
  const { id, value } = change;
  switch (id) {
    case "mode":
      if (isMode(value) && known.modes.includes(value)) return { ...chosen, mode: value };
      throw invalid(`There is no mode "${value}" here; choose ${known.modes.join(", ")}.`);
    case "thinking":
      if (value === CONFIGURED) return { ...chosen, thinking: undefined };
      if (isThinking(value)) return { ...chosen, thinking: value };
      throw invalid(`There is no level of thinking "${value}"; choose ${THINKING.join(", ")}.`);
    case "model": {
      if (value === CONFIGURED) return { ...chosen, model: undefined };
      const { problem } = known.models.check(value);
      if (problem !== undefined) throw invalid(problem);
      return { ...chosen, model: value };
    }
    case "runtime": {
      if (value === CONFIGURED) return { ...chosen, runtime: undefined };
      const { pagurus, agentId } = known;
      const model = chosen.model === undefined ? {} : { model: chosen.model };
      const { problem } = await pagurus.runtimes.explain({ agentId, runtime: value, ...model });
      if (problem) throw invalid(problem.message);
      return { ...chosen, runtime: value };
    }
    case "engine":
      if (value === known.facts.engine) return chosen;
      throw invalid(
        "The context engine is chosen for all sessions, by plugins.slots.contextEngine in the configuration.",
      );
    default:
      throw invalid(`There is no option "${id}"; choose mode, model, thinking or runtime.`);
  }
}
