/**
 * Data of the images of work, apart from its request: a row of work is written again at each change of its state, and is read for lists. It is
 * removed with the work.
 */
import type { Database } from "@pagurus/core/data/sqlite";
import { LONG_BYTES } from "@pagurus/core/platform/pace";
import type { NewWork, TurnWork, Work } from "./work.ts";

export const WORK_IMAGES_SCHEMA = `
CREATE TABLE work_images (work TEXT NOT NULL, part INTEGER NOT NULL, data TEXT NOT NULL, PRIMARY KEY (work, part));
CREATE TRIGGER work_images_removed AFTER DELETE ON work BEGIN DELETE FROM work_images WHERE work = old.id; END;`;

/** Data of each image, with its index in the request's parts. */
export type WorkImages = readonly (readonly [part: number, data: string])[];

type Asked = Pick<NewWork, "kind" | "request">;

function partsOf({ kind, request }: Asked): NonNullable<TurnWork["parts"]> {
  return (kind === "turn" ? (request as TurnWork).parts : undefined) ?? [];
}

/** The request as its row has it: with images whose data is empty. */
export function withoutImages(work: Asked): NewWork["request"] {
  const parts = partsOf(work);
  if (!parts.some(({ type }) => type === "image")) return work.request;
  return {
    ...work.request,
    parts: parts.map((part) => (part.type === "image" ? { ...part, data: "" } : part)),
  };
}

export function imagesOf(work: Asked): WorkImages {
  return partsOf(work).flatMap((part, at) => (part.type === "image" ? [[at, part.data] as const] : []));
}

/** The work with the data of its images. */
export function withImages<W extends Asked>(work: W, images: WorkImages): W {
  if (images.length === 0) return work;
  const data = new Map(images);
  const parts = partsOf(work).map((part, at) =>
    part.type === "image" ? { ...part, data: data.get(at) ?? part.data } : part,
  );
  return { ...work, request: { ...work.request, parts } };
}

export function insertImages(db: Database, id: string, work: NewWork): void {
  for (const [part, data] of imagesOf(work))
    db.run("INSERT INTO work_images (work, part, data) VALUES (?, ?, ?)", id, part, data);
}

export function readImages(db: Database, { id }: Pick<Work, "id">): WorkImages {
  return db
    .all<{ part: number; data: string }>("SELECT part, data FROM work_images WHERE work = ?", id)
    .map(({ part, data }) => [part, data]);
}

function isLong(work: NewWork): boolean {
  const { prompt = "" } = work.kind === "turn" ? (work.request as TurnWork) : {};
  const data = partsOf(work).map((part) => (part.type === "image" ? part.data : part.text));
  return [prompt, ...data].some(({ length }) => length > LONG_BYTES);
}

/** Removes and returns the postings that are written together, which end with the first long one. */
export function takeTogether<P extends { work: NewWork }>(postings: P[]): P[] {
  const long = postings.findIndex(({ work }) => isLong(work));
  return postings.splice(0, long < 0 ? postings.length : long + 1);
}
