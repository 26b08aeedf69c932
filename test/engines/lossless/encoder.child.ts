/** A search with an encoder whose packages are missing; prints what is reported and what is found. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EncoderThread } from "../../../packages/lossless/src/encoder/encoder-thread.ts";
import { openLosslessStore } from "../../../packages/lossless/src/store/lossless-store.ts";
import { chain } from "./store/fixtures.ts";

const folder = mkdtempSync(join(tmpdir(), "lossless-encoder-child-"));
const encoder = new EncoderThread();
const store = openLosslessStore(folder, encoder);
store.ingestTurn("s", chain(["The heron sleeps by the lake.", "Bread is on the table."]));
const [first] = await store.passages({ query: "Where does the heron sleep?", sessions: ["s"] });
await assert.rejects(store.encoded());
console.log(JSON.stringify({ message: encoder.failure?.message ?? null, found: first?.id ?? null }));
await store.close();
await encoder.close();
rmSync(folder, { recursive: true, force: true });
