/** Errors of the API: a code of the catalogue, one sentence, and the HTTP status that fits. */
import type { z } from "zod";
import { PagurusError, toPagurusError, type ErrorCode } from "@pagurus/contract/errors";

const STATUS: Partial<Record<ErrorCode, number>> = {
  usage_invalid: 400,
  config_invalid: 400,
  session_key_invalid: 400,
  import_invalid: 400,
  attachment_invalid: 400,
  model_unknown: 400,
  runtime_unknown: 400,
  token_invalid: 403,
  session_not_found: 404,
  token_not_found: 404,
  entry_not_found: 404,
  work_not_found: 404,
  job_not_found: 404,
  session_exists: 409,
  session_locked: 409,
  turn_not_running: 409,
  turn_exists: 409,
  idempotency_conflict: 409,
  body_too_long: 413,
  live_turn_too_large: 413,
  nothing_to_compact: 409,
  credential_missing: 424,
  model_auth: 424,
  server_busy: 503,
  store_unreachable: 503,
  store_write_failed: 507,
  store_full: 507,
};

export interface ApiFault {
  status: number;
  body: { error: { code: string; message: string } };
}

export function faultOf(error: unknown): ApiFault {
  const { code, message } = toPagurusError(error);
  return { status: STATUS[code] ?? 500, body: { error: { code, message } } };
}

/** The sentence for a request that does not fit its schema: its first problem, with the place of it. */
export function schemaFault(what: string, error: z.ZodError): PagurusError {
  const [issue] = error.issues;
  const at = issue && issue.path.length > 0 ? ` at ${issue.path.map(String).join(".")}` : "";
  const problem = issue?.message ?? "it does not fit";
  return new PagurusError(
    "usage_invalid",
    `The ${what} is not valid${at}: ${problem}. The document /api/v1/openapi.json has its schema.`,
  );
}
