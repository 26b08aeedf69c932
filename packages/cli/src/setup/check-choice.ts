/** Tries a choice before anything is written: does the program start, does the server answer, does the provider take the key. */
import { errorText } from "@pagurus/core/data/error-text";
import { TRIED } from "@pagurus/core/data/tried-programs";
import { oneLine } from "@pagurus/host/command/layout";
import type { PagurusConfig } from "@pagurus/core/config/config-types";
import { requestModels } from "@pagurus/core/model/discover";
import { resolveModel } from "@pagurus/core/model/resolve";
import { outputOf } from "@pagurus/core/platform/start-program";
import type { Choice } from "./survey.ts";

const PROGRAM_MS = 10_000;
const SERVER_MS = 5_000;

type Env = Readonly<Record<string, string | undefined>>;

/** Whether anything of the choice can be tried. */
export function isTried({ kind, agent }: Choice): boolean {
  return agent !== undefined || kind === "key" || kind === "server" || kind === "paste";
}

/** One sentence with the cause and what to do; undefined where nothing speaks against the choice. Never throws. */
export async function problemOf(
  choice: Choice,
  config: PagurusConfig,
  env: Env,
): Promise<string | undefined> {
  const { ref, agent } = choice;
  if (agent) return programProblem(agent, env);
  if (ref === undefined || !isTried(choice)) return undefined;
  try {
    return await serverProblem(ref, config, env);
  } catch (error) {
    return errorText(error);
  }
}

async function programProblem(
  { id, label, file }: NonNullable<Choice["agent"]>,
  env: Env,
): Promise<string | undefined> {
  try {
    await outputOf(file, ["--version"], { env: { ...env }, timeout: PROGRAM_MS });
    return undefined;
  } catch (error) {
    const npm = Object.values(TRIED).find((each) => each.label === label)?.npm ?? id;
    const why = reasonOf(error);
    return `${label} does not start (${file}: ${why}); install it again with npm install -g ${npm}.`;
  }
}

/** The last line that the program wrote, else how it ended. */
function reasonOf(error: unknown): string {
  const { stderr, code, killed } = error as { stderr?: unknown; code?: unknown; killed?: unknown };
  if (killed === true) return `no answer within ${PROGRAM_MS / 1_000} s`;
  const written = typeof stderr === "string" ? stderr.trim().split("\n").at(-1)?.trim() : undefined;
  if (written) return oneLine(written, 200);
  return typeof code === "number" ? `exit code ${code}` : errorText(error);
}

async function serverProblem(ref: string, config: PagurusConfig, env: Env): Promise<string | undefined> {
  const model = resolveModel(ref, config, env);
  const { baseUrl, apiKey, info } = model;
  const { host } = new URL(baseUrl);
  let status: number;
  try {
    const response = await requestModels(model, { timeoutMs: SERVER_MS, redirect: "manual" });
    ({ status } = response);
    await response.body?.cancel();
  } catch (error) {
    const { cause } = error as { cause?: unknown };
    const why = errorText(cause ?? error);
    return `${host} does not answer (${why}); start its server or check the network, and try again.`;
  }
  // Other answers say nothing about the key: some servers list no models.
  if (status !== 401 && status !== 403) return undefined;
  return apiKey === undefined
    ? `${host} wants a key (HTTP ${status}); set models.providers.${info.provider}.apiKey.`
    : `${host} refuses the key (HTTP ${status}); make another one at the provider, or choose another way.`;
}
