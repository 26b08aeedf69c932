import { Transform } from "node:stream";

const NEWLINE = 0x0a;

/**
 * Transform that passes on whole lines, each in one piece: the library copies its whole buffer at each chunk, which takes
 * half a minute for a line of 40 MB. Fails at a line of more than `most` bytes.
 */
export function wholeLines(most: number): Transform {
  let parts: Buffer[] = [];
  let held = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const end = chunk.lastIndexOf(NEWLINE) + 1;
      if (end > 0) {
        this.push(Buffer.concat([...parts, chunk.subarray(0, end)]));
        parts = [];
        held = 0;
      }
      if (end < chunk.length) parts.push(chunk.subarray(end));
      held += chunk.length - end;
      done(held > most ? new Error(`a line has more than ${most} bytes`) : null);
    },
  });
}
