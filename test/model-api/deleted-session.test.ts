import assert from "node:assert/strict";
import { test } from "node:test";
import { isPagurusError } from "../../packages/contract/src/errors.ts";
import { until } from "../runner/until.ts";
import { ApiBench } from "./setting.ts";

const NAMED = { "x-pagurus-session": "named" };

test("a session that was deleted is created again with its client's next request", async () => {
  const bench = await ApiBench.open("openai-completions", () => ({ text: "Yes." }));
  const isDeleted = async (): Promise<boolean> => {
    try {
      await bench.pagurus.deleteSession({ sessionKey: "named" });
      return true;
    } catch (error) {
      // The turn of the last request has not ended.
      if (isPagurusError(error) && error.code === "session_locked") return false;
      throw error;
    }
  };
  try {
    for (const words of ["first", "second", "third"]) {
      assert.equal(await bench.chat([words], "one", NAMED), "Yes.");
      assert.deepEqual(await bench.words("named"), [words, "Yes."]);
      await until(isDeleted);
    }
  } finally {
    await bench.end();
  }
});
