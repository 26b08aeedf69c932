/**
 * Selects the runtime of a model; reports the rule that chose it and the result of every other rule. Source: agent runtimes, "Runtime
 * selection".
 */
import { isPagurusError, PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { AgentHarness } from "@pagurus/contract/harness/harness";
import type { ModelInfo } from "@pagurus/contract/model";
import type {
  ClaimResult,
  RuntimeReason,
  SelectionStep,
  SupportResult,
} from "@pagurus/contract/harness/runtimes";
import { CLI_BACKENDS, CODEX_LOGIN } from "@pagurus/core/config/legacy/refs";
import type { PagurusConfig } from "@pagurus/core/config/config-types";
import { decidePolicy, type PolicyPlace, type PolicyQuestion } from "@pagurus/core/config/runtime-policy";
import { entryOf, pluginState } from "../../plugin/listed.ts";
import { defined } from "@pagurus/core/data/defined";

export interface RuntimeChoice extends RuntimeReason {
  harness: AgentHarness;
}

/** A runtime that runs the model. */
interface Chosen {
  harness: AgentHarness;
  /** It has a login of its own for the model. */
  signsIn: boolean;
  /** Absent: the reason is the place that names it. */
  reason?: RuntimeReason;
}

/** Inputs of a selection; `AgentHost` has all of them but the model. */
export interface SelectionInput extends PolicyQuestion {
  model: ModelInfo;
  harnesses: readonly AgentHarness[];
  /** Throws `credential_missing`, `config_invalid` when the host itself could not call the model. */
  checkAccess(ref: string): void;
}

/** All steps of a selection. `error`: the run's refusal, in place of a choice. */
export type Selection = { steps: SelectionStep[] } & (
  | { choice: RuntimeChoice; error?: undefined }
  | { choice?: undefined; error: PagurusError }
);

/** The runtime of our own loop. */
export const EMBEDDED = "embedded";
/** Preferred runtime for a provider's models, when it is installed. */
const MEANT: Readonly<Record<string, string>> = { openai: "codex" };

/** Throws `runtime_unknown`, `runtime_unsupported`, `credential_missing`, `config_invalid`. */
export function selectRuntime(input: SelectionInput): RuntimeChoice {
  const { choice, error } = traceSelection(input);
  if (choice) return choice;
  throw error;
}

/** Same as `selectRuntime`, with every rule's result. Never throws. */
export function traceSelection(input: SelectionInput): Selection {
  const { place, runtime, steps } = decidePolicy(input);
  if (runtime !== undefined) steps.push(...unaskedSteps(input));
  try {
    const chosen =
      runtime === undefined ? automatic(input, place, steps) : explicit(input, runtime, place?.source ?? "");
    if (!chosen.signsIn) checkLogin(input, chosen.harness);
    return { steps, choice: { harness: chosen.harness, ...(chosen.reason ?? placed(place)) } };
  } catch (error) {
    return { steps, error: toPagurusError(error) };
  }
}

/** The choice without its harness. */
export function reasonOf({ rule, source, agentId, why }: RuntimeReason): RuntimeReason {
  return { rule, source, ...defined({ agentId, why }) };
}

function placed(place: PolicyPlace | undefined): RuntimeReason {
  const agentId = place?.policy?.agentId;
  return { rule: place?.rule ?? "compatibility", source: place?.source ?? "", ...defined({ agentId }) };
}

function unaskedSteps(input: SelectionInput): SelectionStep[] {
  const claiming = claimants(input).map(({ id }): SelectionStep => ({
    rule: "claim",
    source: `a claim of ${id}`,
    outcome: "unasked",
  }));
  return [...claiming, { rule: "compatibility", source: COMPATIBILITY, outcome: "unasked" }];
}

/** Runtimes that can claim a model. A CLI backend is no embedded harness: it is selected by its id only. */
function claimants({ harnesses }: Pick<SelectionInput, "harnesses">): AgentHarness[] {
  return harnesses.filter(({ claims, family }) => claims !== undefined && family !== "cli");
}

const COMPATIBILITY = "compatibility runtime";

function automatic(input: SelectionInput, place: PolicyPlace | undefined, steps: SelectionStep[]): Chosen {
  const { harnesses, model } = input;
  const reasons = missingRuntime(input);
  let claimed: Chosen | undefined;
  for (const harness of claimants(input)) {
    const source = `a claim of ${harness.id}`;
    if (claimed) {
      steps.push({ rule: "claim", source, outcome: "unasked" });
      continue;
    }
    const answer = ask(harness, model);
    if (answer.claims) claimed = { harness, signsIn: answer.signsIn };
    else if (answer.reason !== undefined) reasons.push(answer.reason);
    steps.push({
      rule: "claim",
      source,
      ...(answer.claims
        ? { outcome: "chosen", detail: harness.id }
        : { outcome: "declined", detail: answer.reason ?? "not one of its models" }),
    });
  }
  if (claimed) {
    steps.push({ rule: "compatibility", source: COMPATIBILITY, outcome: "unasked" });
    return { ...claimed, reason: { rule: "claim", source: `claimed by ${claimed.harness.id}` } };
  }
  const why = reasons.join(" ");
  if (place?.policy?.fallback === "none") {
    steps.push({
      rule: "compatibility",
      source: COMPATIBILITY,
      outcome: "declined",
      detail: "fallback none",
    });
    throw new PagurusError(
      "runtime_unsupported",
      `No runtime claims ${model.ref}, and ${place.source}.fallback is "none"${why === "" ? "" : ` (${why})`}; name a runtime in its id, or set the fallback to "embedded".`,
      { details: { model: model.ref, source: place.source } },
    );
  }
  steps.push({ rule: "compatibility", source: COMPATIBILITY, outcome: "chosen", detail: EMBEDDED });
  return {
    ...lookUp(harnesses, EMBEDDED, model),
    reason: { rule: "compatibility", source: COMPATIBILITY, ...(why === "" ? {} : { why }) },
  };
}

type Claim = { claims: true; signsIn: boolean } | Extract<ClaimResult, { claims: false }>;

/** A claim is for a model that the runtime supports; an exception is a reason like any other. */
function ask(harness: AgentHarness, model: ModelInfo): Claim {
  try {
    const answer = harness.claims?.(model) ?? { claims: false };
    if (!answer.claims) return answer;
    const support = supportOf(harness, model);
    if (!support.supported) return { claims: false, reason: support.reason };
    return { claims: true, signsIn: support.login === "own" };
  } catch (error) {
    return { claims: false, reason: notAsked(harness, error) };
  }
}

/** Calls a runtime's `supports`. A plugin's runtime may throw: that is a reason like any other. Never throws. */
export function supportOf(harness: AgentHarness, model: ModelInfo): SupportResult {
  try {
    const support = harness.supports(model);
    return support.supported ? support : { supported: false, reason: support.reason };
  } catch (error) {
    return { supported: false, reason: notAsked(harness, error) };
  }
}

/** One sentence. */
function notAsked({ id }: AgentHarness, error: unknown): string {
  return `The runtime ${id} could not be asked: ${toPagurusError(error).message.replace(/\.?$/, ".")}`;
}

/** Why a provider's preferred runtime is not available. */
function missingRuntime({ harnesses, model, config }: SelectionInput): string[] {
  const meant = Object.hasOwn(MEANT, model.provider) ? MEANT[model.provider] : undefined;
  if (meant === undefined || harnesses.some(({ id }) => id === meant)) return [];
  return [notRegistered(meant, config)];
}

function notRegistered(id: string, config: PagurusConfig): string {
  const off = turnedOff(id, config);
  return off ? `The runtime "${id}" is turned off (${off.why}).` : `The runtime "${id}" is not registered.`;
}

/** The setting that disables the plugin of a runtime, and its remedy. */
function turnedOff(id: string, config: PagurusConfig): { why: string; remedy: string } | undefined {
  switch (pluginState(config, id, "linked")) {
    case "denied":
      return { why: `plugins.deny names ${id}`, remedy: "take it out there" };
    case "not allowed":
      // An allow list has no effect on names that are no plugin's.
      if (!Object.values(MEANT).includes(id) && !entryOf(config, id)) return undefined;
      return { why: `plugins.allow does not name ${id}`, remedy: "add it there" };
    case "disabled":
      return { why: `plugins.entries.${id}.enabled is false`, remedy: "set it to true" };
    case "enabled":
      return undefined;
  }
}

/** An explicit runtime, from a run or a policy, is that one or a refusal. */
function explicit(input: SelectionInput, id: string, source: string): Chosen {
  const { harnesses, model, config } = input;
  const name = id.trim().toLowerCase();
  const known = harnesses.map((harness) => harness.id).join(", ");
  if (byName(harnesses, id) ?? byName(harnesses, name)) {
    const chosen = lookUp(harnesses, byName(harnesses, id) ? id : name, model);
    if (chosen.harness.id === EMBEDDED && model.writtenAs?.startsWith(`${CODEX_LOGIN}/`) === true)
      throw codexLogin(model, model.writtenAs);
    return chosen;
  }
  const off = turnedOff(name, config);
  if (!off && CLI_BACKENDS.includes(name)) {
    throw new PagurusError(
      "runtime_unknown",
      `"${id}" (${source}) names a CLI backend, which is no embedded harness, and none is registered under it; install a plugin that has it, or choose one of: ${known}.`,
      { details: { runtime: id } },
    );
  }
  throw new PagurusError(
    "runtime_unknown",
    off
      ? `The runtime "${id}" (${source}) is turned off (${off.why}); ${off.remedy}, or choose one of: ${known}.`
      : `No agent runtime is called "${id}" (${source}); choose one of: ${known}.`,
    { details: { runtime: id } },
  );
}

function byName(harnesses: readonly AgentHarness[], name: string): AgentHarness | undefined {
  return harnesses.find(({ id, aliases }) => id === name || aliases?.includes(name));
}

function lookUp(harnesses: readonly AgentHarness[], name: string, model: ModelInfo): Chosen {
  const harness = byName(harnesses, name);
  if (!harness) {
    const known = harnesses.map(({ id }) => id).join(", ");
    throw new PagurusError(
      "runtime_unknown",
      `No agent runtime is called "${name}"; choose one of: ${known}.`,
    );
  }
  const support = supportOf(harness, model);
  if (support.supported) return { harness, signsIn: support.login === "own" };
  throw new PagurusError(
    "runtime_unsupported",
    `The runtime "${harness.id}" cannot run ${model.ref}: ${support.reason} Choose another runtime or model.`,
    { details: { runtime: harness.id, model: model.ref } },
  );
}

/** A runtime without a login of its own calls the model with the host's credential. */
function checkLogin(input: SelectionInput, harness: AgentHarness): void {
  const { model } = input;
  try {
    input.checkAccess(model.ref);
  } catch (error) {
    const missing = isPagurusError(error) && error.code === "credential_missing";
    if (missing && harness.id === EMBEDDED && hasCodexLogin(input)) throw codexLogin(model, CODEX_LOGIN);
    throw error;
  }
}

/** True for a Codex login in the configuration, or one of Codex itself. */
function hasCodexLogin({ config, harnesses, model }: SelectionInput): boolean {
  if (model.provider !== "openai") return false;
  const { auth } = config as { auth?: { profiles?: Record<string, { provider?: unknown } | null> } };
  const named = Object.values(auth?.profiles ?? {}).some((profile) => profile?.provider === CODEX_LOGIN);
  if (named) return true;
  return harnesses.some((harness) => {
    const claim = ask(harness, model);
    return claim.claims && claim.signsIn;
  });
}

function codexLogin(model: ModelInfo, login: string): PagurusError {
  return new PagurusError(
    "runtime_unsupported",
    `The login of ${login} belongs to Codex, so the runtime "${EMBEDDED}" cannot call ${model.ref} with it: use the runtime codex, or an API key (OPENAI_API_KEY).`,
    { details: { runtime: EMBEDDED, model: model.ref } },
  );
}
