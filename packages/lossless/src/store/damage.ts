/** Detection of database damage: SQLite's own error codes, and rows that differ from what was stored. */
import { isPagurusError } from "@pagurus/contract/errors";

/** A text or payload whose bytes differ from their stored hash. */
export interface DamagedPart {
  table: "texts" | "payloads";
  num: number;
}

/** Content that SQLite read without an error but that differs from what was stored. */
export class StoreDamage extends Error {
  override readonly name = "StoreDamage";
  /** Set when a transcript can restore the bytes (`repair.ts`). */
  readonly part: DamagedPart | undefined;

  constructor(message: string, part?: DamagedPart) {
    super(message);
    this.part = part;
  }
}

/**
 * SQLite's result codes of a damaged file. A failed constraint and an unknown name are damage too: the statements are
 * fixed, and each works on an intact database.
 */
const ERROR = 1;
const CORRUPT = 11;
const CONSTRAINT = 19;
const MISMATCH = 20;
const NOT_A_DATABASE = 26;
const DAMAGE_CODES: readonly number[] = [CORRUPT, CONSTRAINT, MISMATCH, NOT_A_DATABASE];
const NAMES = /no such (?:table|column|index|module)|has no column|malformed|already exists|duplicate column/;

export function isDamage(error: unknown): boolean {
  if (error instanceof StoreDamage) return true;
  if (isPagurusError(error)) return error.details["damaged"] === true;
  const { errcode, code } = (error ?? {}) as { errcode?: unknown; code?: unknown };
  // A row has a number beyond the safe integers.
  if (code === "ERR_OUT_OF_RANGE") return true;
  if (typeof errcode !== "number") return false;
  if ((errcode & 0xff) === ERROR) return NAMES.test(String((error as { message?: unknown }).message));
  return DAMAGE_CODES.includes(errcode & 0xff);
}

/** The part that a transcript may repair; undefined when the whole file has to be rebuilt. */
export function damagedPart(error: unknown): DamagedPart | undefined {
  if (error instanceof StoreDamage) return error.part;
  return isPagurusError(error) && error.cause instanceof StoreDamage ? error.cause.part : undefined;
}
