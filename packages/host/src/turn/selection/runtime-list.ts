/** `pagurus.runtimes`: the registered runtimes, and which one a run would use. */
import { type PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { AgentHarness } from "@pagurus/contract/harness/harness";
import type { ModelInfo } from "@pagurus/contract/model";
import type { NativeProgram } from "@pagurus/contract/harness/native";
import type { RuntimeExplanation, RuntimeFact } from "@pagurus/contract/harness/runtimes";
import { ignoredPins } from "@pagurus/core/config/legacy/legacy-pins";
import { withDeadline } from "@pagurus/core/platform/deadline";
import { checkHostRequirements } from "./host-requirements.ts";
import type { AgentHost } from "../agent/agent-host.ts";
import { reasonOf, supportOf, traceSelection } from "./select-runtime.ts";
import { defined } from "@pagurus/core/data/defined";

/** Deadline of a program for its version and login, ms. */
const PROGRAM_DEADLINE_MS = 10_000;

export function executionText({ execution }: AgentHarness): string {
  const { kind, detail } = execution;
  return detail === undefined ? kind : `${kind} (${detail})`;
}

function factsOf(harness: AgentHarness): Omit<RuntimeFact, "runs" | "program"> {
  const { id, label, aliases = [], family = "embedded", seam, capabilities, surfaces } = harness;
  return {
    id,
    label,
    aliases: [...aliases],
    family,
    execution: executionText(harness),
    seam,
    capabilities: [...capabilities],
    ...defined({ surfaces }),
  };
}

function runs(harness: AgentHarness, model: ModelInfo): RuntimeFact["runs"] {
  const support = supportOf(harness, model);
  return {
    model: model.ref,
    supported: support.supported,
    ...("reason" in support && { reason: support.reason }),
  };
}

async function programOf(harness: AgentHarness): Promise<Pick<RuntimeFact, "program">> {
  if (!harness.program) return {};
  const options = { ms: PROGRAM_DEADLINE_MS, label: `Asking the program of ${harness.id}` };
  try {
    const program: NativeProgram | undefined = await withDeadline(
      (signal) => harness.program?.(signal),
      options,
    );
    return program === undefined ? {} : { program };
  } catch (error) {
    return { program: { problem: toPagurusError(error).message } };
  }
}

async function refOf(host: AgentHost, ref: string | undefined): Promise<string> {
  return ref ?? (await host.defaultModel()).ref;
}

function modelOrReason(host: AgentHost, ref: string): ModelInfo | { reason: PagurusError } {
  try {
    return host.modelInfo(ref);
  } catch (error) {
    return { reason: toPagurusError(error) };
  }
}

/** Throws `model_unknown`, `config_invalid` for the requested model. */
export async function listRuntimes(
  host: AgentHost,
  request: { model?: string | undefined; programs?: boolean | undefined },
): Promise<RuntimeFact[]> {
  const ref = await refOf(host, request.model);
  const model = modelOrReason(host, ref);
  if (request.model !== undefined && "reason" in model) throw model.reason;
  return Promise.all(
    host.harnesses.map(async (harness) => ({
      ...factsOf(harness),
      runs:
        "reason" in model
          ? { model: ref, supported: false, reason: model.reason.message }
          : runs(harness, model),
      ...(request.programs === true ? await programOf(harness) : {}),
    })),
  );
}

/** Capabilities that the engine requires for a run and the runtime lacks. Other problems of the engine are shown by `status`. */
async function unmet(
  host: AgentHost,
  harness: AgentHarness,
  model: ModelInfo,
): Promise<PagurusError | undefined> {
  const engine = await host.slot.get().catch(() => undefined);
  if (!engine) return undefined;
  try {
    checkHostRequirements(engine, harness, "agent-run", { harnesses: host.harnesses, model });
    return undefined;
  } catch (error) {
    return toPagurusError(error);
  }
}

/** Throws `model_unknown`, `config_invalid`. */
export async function explainRuntime(
  host: AgentHost,
  request: { model?: string | undefined; runtime?: string | undefined },
): Promise<RuntimeExplanation> {
  const model = host.modelInfo(await refOf(host, request.model));
  const { steps, choice, error } = traceSelection({ ...host, model, requested: request.runtime });
  const problem = error ?? (await unmet(host, choice.harness, model));
  return {
    model: model.ref,
    ...defined({ writtenAs: model.writtenAs }),
    agentId: host.agentId,
    ...(choice ? { runtime: { ...factsOf(choice.harness), ...reasonOf(choice) } } : {}),
    ...(problem ? { problem: { code: problem.code, message: problem.message } } : {}),
    steps,
    ignored: ignoredPins(host.config, host.env).map(({ what }) => what),
  };
}
