/** Each direct surface of the model API, with each kind of caller: let through or refused, by the rows. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { SURFACE_ROWS } from "./field-rows.ts";
import { isRefused } from "./matrix-rule.ts";
import { CALLERS, MatrixServer } from "./matrix-setting.ts";

/** Sentences of refusals for want of authority. */
const REFUSAL = /may not use the session|needs a token of scope/;

describe("the matrix of direct surfaces and callers", () => {
  let matrix: MatrixServer;
  before(async () => {
    matrix = await MatrixServer.start();
  });
  after(() => matrix.close());

  for (const operation of Object.keys(SURFACE_ROWS))
    it(`lets through what a caller may name and refuses the rest: ${operation}`, async () => {
      const [method = "", path = ""] = operation.split(" ");
      for (const isWithin of [true, false])
        for (const caller of CALLERS) {
          const headers = { "x-pagurus-session": matrix.key(isWithin) };
          const body = { model: "test/model", input: "x", prompt: "x" };
          const { status, text } = await matrix.status(caller, { method, path, body, headers });
          const field = "header.X-Pagurus-Session";
          const refused = isRefused(caller, { operation, field, kind: "session", isWithin });
          const shown = `${caller.name}: ${operation} ${isWithin ? "within" : "beyond"}: ${status} ${text}`;
          // The model serves no surface: a request that is let through fails at that.
          assert.ok(status === 400 || status === 403 || status === 404, shown);
          assert.equal(REFUSAL.test(text), refused, shown);
        }
    });
});
