import type { Db } from "./db.ts";
import { references } from "./template.ts";
import { entryAt } from "./tree.ts";
import type { PayloadStub } from "./types.ts";
import { find } from "./walk.ts";

/** What is kept out of line of an entry: hash, size and type of each. */
export function payloadStubs(db: Db, entryId: string, sessionId: string | undefined): PayloadStub[] {
  const place = find(db, entryId, sessionId);
  const row = place === undefined ? undefined : entryAt(db, place);
  if (!row) return [];
  return references(row.body).flatMap(({ form, num }) => {
    if (form === "t" || form === "j") return [];
    const stub = db.get<{ hash: string; size: number; mime: string }>(
      "SELECT hash, size, mime FROM payloads WHERE num = ?",
      num,
    );
    return stub ? [{ ...stub }] : [];
  });
}
