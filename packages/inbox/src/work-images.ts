/**
 * Data of the images of work, in rows of their own: a row of work is written again at each change of its state, and is read for lists. It is
 * removed with the work.
 */
import type { Database } from "@pagurus/core/data/sqlite";
import type { NewWork, TurnWork, Work } from "./work.ts";

export const WORK_IMAGES_SCHEMA = `
CREATE TABLE IF NOT EXISTS work_images (work TEXT NOT NULL, part INTEGER NOT NULL, data TEXT NOT NULL, PRIMARY KEY (work, part));
CREATE TRIGGER IF NOT EXISTS work_images_removed AFTER DELETE ON work BEGIN DELETE FROM work_images WHERE work = old.id; END;`;

/** The request as its row has it: with images whose data is empty. */
export function withoutImages({ kind, request }: Pick<NewWork, "kind" | "request">): NewWork["request"] {
  const { parts } = request as TurnWork;
  if (kind !== "turn" || !parts?.some(({ type }) => type === "image")) return request;
  return { ...request, parts: parts.map((part) => (part.type === "image" ? { ...part, data: "" } : part)) };
}

export function insertImages(db: Database, id: string, { kind, request }: NewWork): void {
  const { parts = [] } = kind === "turn" ? (request as TurnWork) : {};
  for (const [at, part] of parts.entries())
    if (part.type === "image")
      db.run("INSERT INTO work_images (work, part, data) VALUES (?, ?, ?)", id, at, part.data);
}

/** The work with the data of its images. Work of an earlier version has it in its row. */
export function withImages(db: Database, work: Work): Work {
  const { parts } = work.request as TurnWork;
  if (work.kind !== "turn" || !parts?.some((part) => part.type === "image" && part.data === "")) return work;
  const rows = db.all<{ part: number; data: string }>(
    "SELECT part, data FROM work_images WHERE work = ?",
    work.id,
  );
  const images = new Map(rows.map(({ part, data }) => [part, data]));
  const whole = parts.map((part, at) =>
    part.type === "image" ? { ...part, data: images.get(at) ?? part.data } : part,
  );
  return { ...work, request: { ...work.request, parts: whole } };
}
