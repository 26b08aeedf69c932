/** Which models Codex can run here, and which it runs when no configuration names a runtime. Starts no program. */
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { ModelInfo } from "@pagurus/contract/model";
import type { ClaimResult, RuntimeTraits, SupportResult } from "@pagurus/contract/harness/runtimes";
import { remembered } from "../thread/thread-harness.ts";
import { findCodex, type FoundCodex } from "./find-codex.ts";
import type { CodexOptions } from "./codex-options.ts";

/** The provider whose models are meant for Codex. Source: agent runtimes, "Runtime selection". */
const OWN_PROVIDER = "openai";
/** In Codex's own configuration: a login or an endpoint that is in no other file. */
const OTHER_ACCESS = /^\s*(?:cli_auth_credentials_store|model_provider)\s*=/m;

type ClaimOptions = Pick<CodexOptions, "env" | "command" | "endpoint" | "seam" | "gateway">;

/** Whether Codex has access of its own; only the existence of its files is checked, a login is never read. */
function ownAccess(env: ClaimOptions["env"]): boolean {
  const folder = env["CODEX_HOME"] || join(env["HOME"] || homedir(), ".codex");
  if (existsSync(join(folder, "auth.json"))) return true;
  try {
    return OTHER_ACCESS.test(readFileSync(join(folder, "config.toml"), "utf8"));
  } catch {
    // No configuration of Codex, or an unreadable one.
    return false;
  }
}

/** `supports` and `claims` of the harness. */
export function codexClaims(options: ClaimOptions): Required<Pick<RuntimeTraits, "supports" | "claims">> {
  const find = remembered((): FoundCodex | { reason: string } => findCodex(options));
  const access = remembered(() => ownAccess(options.env));
  const supports = (model: ModelInfo): SupportResult => {
    const { api, ref } = model;
    // The gateway translates to the model's protocol.
    if (api !== "openai-responses" && !(options.seam === "wire" && options.gateway)) {
      const reason = `Codex speaks the Responses API and ${ref} is served over ${api}.`;
      return { supported: false, reason };
    }
    const found = find();
    if ("reason" in found) return { supported: false, reason: found.reason };
    if (servedByHost(options, model)) return { supported: true };
    if (access()) return { supported: true, login: "own" };
    const reason = `The host has no key for ${ref} and Codex is not logged in; set OPENAI_API_KEY, or run codex login.`;
    return { supported: false, reason };
  };
  const claims = (model: ModelInfo): ClaimResult => {
    if (model.provider !== OWN_PROVIDER) return { claims: false };
    const support = supports(model);
    return support.supported ? { claims: true } : { claims: false, reason: support.reason };
  };
  return { supports, claims };
}

/** False when Codex's own login would be used. A failure of the host's own access is reported by the host. */
function servedByHost({ endpoint }: ClaimOptions, model: ModelInfo): boolean {
  try {
    return endpoint(model) !== undefined;
  } catch {
    return true;
  }
}
