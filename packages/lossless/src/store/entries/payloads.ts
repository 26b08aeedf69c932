import type { Database } from "@pagurus/core/data/sqlite";
import { references } from "./template.ts";
import { entryAt } from "./entry-tree.ts";
import type { PayloadStub } from "../store-types.ts";
import { findEntry } from "./path-walk.ts";

/** Payloads of an entry, which are stored separately: hash, size and type of each. */
export function payloadStubs(db: Database, entryId: string, sessionId: string | undefined): PayloadStub[] {
  const place = findEntry(db, entryId, sessionId);
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
