/** Adopts more than its process may write to one file, and tells how far it came and why it ended. */
import type { PagurusError } from "../../../../src/contract/errors.ts";
import { openLosslessStore } from "../../../../src/engines/lossless/store/store.ts";
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
