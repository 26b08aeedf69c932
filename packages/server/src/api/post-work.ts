/** Posting into the inbox: what the routes of turns, compactions and commands share. */
import { PagurusError } from "@pagurus/contract/errors";
import type { Work } from "@pagurus/api/types";
import type { NewWork, TurnWork } from "@pagurus/inbox/work";
import { nextSlice } from "@pagurus/core/platform/pace";
import type { CallerParts } from "../caller/caller-parts.ts";
import { presentWork } from "./present.ts";
import type { ApiAnswer } from "./route.ts";

const LONGEST_KEY = 200;
/** Characters of the images of one input: one of the largest size that providers take, or several smaller ones. */
const MOST_IMAGES = 8 * 2 ** 20;

/** Throws `idempotency_conflict`, `attachment_invalid` and `live_turn_too_large` before anything is stored, `store_write_failed`, and `config_invalid` for an unknown agent, whose work would only fail. */
export async function postWork(
  parts: CallerParts,
  work: Omit<NewWork, "authority">,
): Promise<ApiAnswer<Work>> {
  const { inbox, pagurus } = parts;
  pagurus.sessions(work.agentId);
  if (work.kind === "turn") {
    const turn = work.request as TurnWork;
    checkImages(turn);
    await pagurus.checkInput({ ...turn, agentId: work.agentId });
    // The digest of an image takes as long as its check, and so does its write.
    if ((turn.parts ?? []).length > 0) await nextSlice();
  }
  const { work: accepted, isNew } = await inbox.post(work);
  const now = await inbox.get(accepted.id);
  return { status: isNew ? 202 : 200, body: await presentWork(inbox, now), workId: now.id };
}

/** Throws `attachment_invalid` for more data of images than one input may have. */
function checkImages({ parts = [] }: TurnWork): void {
  const length = parts.reduce((sum, part) => sum + (part.type === "image" ? part.data.length : 0), 0);
  if (length <= MOST_IMAGES) return;
  throw new PagurusError(
    "attachment_invalid",
    `The images of the input have ${length} characters of base64, and ${MOST_IMAGES} are the most; send fewer or smaller ones.`,
  );
}

/** The header `Idempotency-Key`. Throws `usage_invalid`. */
export function idempotencyKey(header: string | undefined): string | undefined {
  if (header === undefined || (header !== "" && header.length <= LONGEST_KEY)) return header;
  throw new PagurusError(
    "usage_invalid",
    `The header Idempotency-Key has ${header.length} characters; give it 1 to ${LONGEST_KEY}.`,
  );
}
