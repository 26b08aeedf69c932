/** Posting into the inbox: what the routes of turns, compactions and commands share. */
import { PagurusError } from "../../contract/errors.ts";
import type { NewWork, TurnWork } from "../../inbox/work.ts";
import type { CallerParts } from "../caller/caller-parts.ts";
import { presentWork } from "./present.ts";
import type { ApiAnswer } from "./route.ts";

const LONGEST_KEY = 200;

/** Throws `idempotency_conflict`, `live_turn_too_large` before anything is stored, `store_write_failed`, and `config_invalid` for an unknown agent, whose work would only fail. */
export async function postWork(parts: CallerParts, work: Omit<NewWork, "authority">): Promise<ApiAnswer> {
  const { inbox, pagurus } = parts;
  pagurus.sessions(work.agentId);
  if (work.kind === "turn")
    await pagurus.checkInput({ ...(work.request as TurnWork), agentId: work.agentId });
  const { work: accepted, isNew } = await inbox.post(work);
  const now = await inbox.get(accepted.id);
  return { status: isNew ? 202 : 200, body: await presentWork(inbox, now), workId: now.id };
}

/** The header `Idempotency-Key`. Throws `usage_invalid`. */
export function idempotencyKey(header: string | undefined): string | undefined {
  if (header === undefined || (header !== "" && header.length <= LONGEST_KEY)) return header;
  throw new PagurusError(
    "usage_invalid",
    `The header Idempotency-Key has ${header.length} characters; give it 1 to ${LONGEST_KEY}.`,
  );
}
