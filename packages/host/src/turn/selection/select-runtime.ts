/**
 * Selects the runtime of a model; reports the rule that chose it and the result of every other rule. Source: agent runtimes, "Runtime
 * selection".
 */
import { isPagurusError, PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { AgentHarness } from "@pagurus/contract/harness/harness";
import type { ModelInfo } from "@pagurus/contract/model";
import type { ClaimResult, RuntimeReason, SelectionStep } from "@pagurus/contract/harness/runtimes";
import { CLI_BACKENDS, CODEX_LOGIN } from "@pagurus/core/config/legacy/refs";
import type { PagurusConfig, RuntimePolicy } from "@pagurus/core/config/config-types";
import {
  isAuto,
  policyPlaces,
  type PolicyPlace,
  type PolicyQuestion,
} from "@pagurus/core/config/runtime-policy";
import { entryOf, pluginState } from "../../plugin/listed.ts";
import { notAsked, supportOf } from "../admit/runtime-support.ts";

export interface RuntimeChoice extends RuntimeReason {
  harness: AgentHarness;
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
const AUTO = "auto";
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
  const places = policyPlaces(input);
  const deciding = places.findIndex(({ policy }) => policy !== undefined);
  const place = places[deciding];
  const named = place?.policy?.id;
  const fixed = named !== undefined && !isAuto(named);
  const steps = places.map((each, index) => policyStep(each, index, deciding));
  if (fixed) steps.push(...unaskedSteps(input));
  try {
    const choice = fixed
      ? { harness: explicit(input, named, place?.source ?? ""), ...placed(place) }
      : automatic(input, place, steps);
    checkLogin(input, choice.harness);
    return { steps, choice };
  } catch (error) {
    return { steps, error: toPagurusError(error) };
  }
}

/** The choice without its harness. */
export function reasonOf({ rule, source, agentId, why }: RuntimeReason): RuntimeReason {
  return {
    rule,
    source,
    ...(agentId === undefined ? {} : { agentId }),
    ...(why === undefined ? {} : { why }),
  };
}

function placed(place: PolicyPlace | undefined): RuntimeReason {
  const agentId = place?.policy?.agentId;
  return {
    rule: place?.rule ?? "compatibility",
    source: place?.source ?? "",
    ...(agentId === undefined ? {} : { agentId }),
  };
}

function policyStep({ rule, source, policy }: PolicyPlace, index: number, deciding: number): SelectionStep {
  if (index !== deciding) {
    const later = deciding >= 0 && index > deciding && policy !== undefined;
    return { rule, source, outcome: later ? "unasked" : "absent", ...detailOf(policy) };
  }
  return { rule, source, outcome: isAuto(policy?.id) ? "auto" : "chosen", ...detailOf(policy) };
}

function detailOf(policy: RuntimePolicy | undefined): { detail?: string } {
  if (!policy) return {};
  const id = policy.id === undefined || isAuto(policy.id) ? AUTO : policy.id;
  return { detail: policy.fallback === undefined ? id : `${id}, fallback ${policy.fallback}` };
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

function automatic(
  input: SelectionInput,
  place: PolicyPlace | undefined,
  steps: SelectionStep[],
): RuntimeChoice {
  const { harnesses, model } = input;
  const reasons = missingRuntime(input);
  let claimed: AgentHarness | undefined;
  for (const harness of claimants(input)) {
    const source = `a claim of ${harness.id}`;
    if (claimed) {
      steps.push({ rule: "claim", source, outcome: "unasked" });
      continue;
    }
    const answer = ask(harness, model);
    if (answer.claims) claimed = harness;
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
    return { harness: claimed, rule: "claim", source: `claimed by ${claimed.id}` };
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
    harness: lookUp(harnesses, EMBEDDED, model),
    rule: "compatibility",
    source: COMPATIBILITY,
    ...(why === "" ? {} : { why }),
  };
}

/** A claim is for a model that the runtime supports; an exception is a reason like any other. */
function ask(harness: AgentHarness, model: ModelInfo): ClaimResult {
  try {
    const answer = harness.claims?.(model) ?? { claims: false };
    if (!answer.claims) return answer;
    const support = supportOf(harness, model);
    return support.supported ? answer : { claims: false, reason: support.reason };
  } catch (error) {
    return { claims: false, reason: notAsked(harness, error) };
  }
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
function explicit(input: SelectionInput, id: string, source: string): AgentHarness {
  const { harnesses, model, config } = input;
  const name = id.trim().toLowerCase();
  const known = harnesses.map((harness) => harness.id).join(", ");
  if (byName(harnesses, id) ?? byName(harnesses, name)) {
    const harness = lookUp(harnesses, byName(harnesses, id) ? id : name, model);
    if (harness.id === EMBEDDED && model.writtenAs?.startsWith(`${CODEX_LOGIN}/`) === true)
      throw codexLogin(model, model.writtenAs);
    return harness;
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

function lookUp(harnesses: readonly AgentHarness[], name: string, model: ModelInfo): AgentHarness {
  const harness = byName(harnesses, name);
  if (!harness) {
    const known = harnesses.map(({ id }) => id).join(", ");
    throw new PagurusError(
      "runtime_unknown",
      `No agent runtime is called "${name}"; choose one of: ${known}.`,
    );
  }
  const support = supportOf(harness, model);
  if (support.supported) return harness;
  throw new PagurusError(
    "runtime_unsupported",
    `The runtime "${harness.id}" cannot run ${model.ref}: ${support.reason} Choose another runtime or model.`,
    { details: { runtime: harness.id, model: model.ref } },
  );
}

function signsIn(harness: AgentHarness, model: ModelInfo): boolean {
  if (!ask(harness, model).claims) return false;
  const support = supportOf(harness, model);
  return support.supported && support.login === "own";
}

/** A runtime without a login of its own calls the model with the host's credential. */
function checkLogin(input: SelectionInput, harness: AgentHarness): void {
  const { model } = input;
  const support = supportOf(harness, model);
  if (support.supported && support.login === "own") return;
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
  return named || harnesses.some((harness) => signsIn(harness, model));
}

function codexLogin(model: ModelInfo, login: string): PagurusError {
  return new PagurusError(
    "runtime_unsupported",
    `The login of ${login} belongs to Codex, so the runtime "${EMBEDDED}" cannot call ${model.ref} with it: use the runtime codex, or an API key (OPENAI_API_KEY).`,
    { details: { runtime: EMBEDDED, model: model.ref } },
  );
}
