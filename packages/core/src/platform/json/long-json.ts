/** Writes a JSON object so that other requests are served meanwhile: its lists item by item and its long texts in pieces, with pauses. */
import { nextSlice } from "../pace.ts";

/** Characters that are written without a pause: a few milliseconds of work. */
const SLICE = 2 ** 20;

/** Bytes of an object's JSON, as `JSON.stringify` makes it. A short one is written without a pause. */
export async function longJson(value: Readonly<Record<string, unknown>>): Promise<Buffer<ArrayBuffer>> {
  const pieces: Buffer<ArrayBuffer>[] = [];
  let text = "";
  let isPaused = false;
  for (const piece of objectPieces(value, true)) {
    text += piece;
    if (text.length < SLICE) continue;
    pieces.push(Buffer.from(text));
    text = "";
    isPaused = true;
    await nextSlice();
  }
  pieces.push(Buffer.from(text));
  if (isPaused) await nextSlice();
  return pieces.length === 1 ? (pieces[0] as Buffer<ArrayBuffer>) : Buffer.concat(pieces);
}

function hasLongText(value: unknown): boolean {
  if (typeof value === "string") return value.length > SLICE;
  return typeof value === "object" && value !== null && Object.values(value).some(hasLongText);
}

/** The JSON of a value in pieces; what has no long text is one piece. */
function* piecesOf(value: unknown): Generator<string> {
  if (!hasLongText(value)) yield JSON.stringify(value) ?? "null";
  else if (typeof value === "string") yield* textPieces(value);
  else if (Array.isArray(value)) yield* listPieces(value);
  else yield* objectPieces(value as Readonly<Record<string, unknown>>, false);
}

/** `splitsLists`: lists are written item by item, also without a long text. */
function* objectPieces(value: Readonly<Record<string, unknown>>, splitsLists: boolean): Generator<string> {
  let before = "{";
  for (const [name, member] of Object.entries(value)) {
    const isList = splitsLists && Array.isArray(member);
    const isShort = !isList && !hasLongText(member);
    const written = isShort ? (JSON.stringify(member) as string | undefined) : "";
    // As `JSON.stringify` leaves it out.
    if (written === undefined) continue;
    yield `${before}${JSON.stringify(name)}:${written}`;
    before = ",";
    if (isList) yield* listPieces(member);
    else if (!isShort) yield* piecesOf(member);
  }
  yield before === "{" ? "{}" : "}";
}

function* listPieces(list: readonly unknown[]): Generator<string> {
  yield "[";
  for (const [at, item] of list.entries()) {
    if (at > 0) yield ",";
    yield* piecesOf(item);
  }
  yield "]";
}

function* textPieces(text: string): Generator<string> {
  yield '"';
  for (let at = 0, end: number; at < text.length; at = end) {
    end = at + SLICE;
    // The halves of a pair stay together: alone each would be escaped.
    if (isFirstHalf(text.charCodeAt(end - 1))) end -= 1;
    yield JSON.stringify(text.slice(at, end)).slice(1, -1);
  }
  yield '"';
}

function isFirstHalf(code: number): boolean {
  return code >= 0xd800 && code < 0xdc00;
}
