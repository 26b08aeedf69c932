/** Writes a JSON object so that other requests are served meanwhile: its lists item by item, with pauses. */
import { nextSlice } from "../pace.ts";

/** Characters that are written without a pause: a few milliseconds of work. */
const SLICE = 2 ** 20;

/** Bytes of an object's JSON, as `JSON.stringify` makes it. A short one is written without a pause. */
export async function longJson(value: Readonly<Record<string, unknown>>): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let text = "{";
  let isPaused = false;
  const add = async (more: string): Promise<void> => {
    text += more;
    if (text.length < SLICE) return;
    pieces.push(Buffer.from(text));
    text = "";
    isPaused = true;
    await nextSlice();
  };
  let isFirst = true;
  for (const [name, member] of Object.entries(value)) {
    const key = `${isFirst ? "" : ","}${JSON.stringify(name)}:`;
    if (!Array.isArray(member)) {
      const written = JSON.stringify(member) as string | undefined;
      if (written === undefined) continue;
      await add(key + written);
    } else {
      await add(`${key}[`);
      for (const [at, item] of member.entries())
        await add(`${at === 0 ? "" : ","}${JSON.stringify(item) ?? "null"}`);
      text += "]";
    }
    isFirst = false;
  }
  pieces.push(Buffer.from(`${text}}`));
  if (isPaused) await nextSlice();
  return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
}
