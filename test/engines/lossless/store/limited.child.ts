/** Adopts more than its process may write to one file, and reports the progress and the error. */
import type { PagurusError } from "../../../../packages/contract/src/errors.ts";
import { openLosslessStore } from "../../../../packages/lossless/src/store/lossless-store.ts";
import { cursorOver } from "./fixtures.ts";
import { limitedPath } from "./limited.ts";

const store = openLosslessStore(process.argv[2] ?? "");
let stored = 0;
try {
  await store.adopt("s", cursorOver(limitedPath()), {
    onProgress: (progress) => {
      stored = progress.stored;
    },
  });
  process.stdout.write(JSON.stringify({ stored }));
} catch (error) {
  const { code, message } = error as PagurusError;
  process.stdout.write(JSON.stringify({ stored, code, message }));
} finally {
  await store.close();
}
