/** What the model API keeps of conversations ends with their sessions. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import { openSqlite } from "../../packages/core/src/data/sqlite.ts";
import { ApiBench } from "./setting.ts";
import { until } from "../runner/until.ts";

describe("the prefixes of a session that is deleted", () => {
  let bench: ApiBench;
  afterEach(() => bench.end());

  /** Keys of the sessions that have rows, in both tables. */
  function known(): string[] {
    const db = openSqlite(join(bench.setting.home, "model-api.sqlite"), { readOnly: true });
    const [heads, prefixes] = ["heads", "prefixes"].map((table) =>
      db.all<{ session: string }>(`SELECT DISTINCT session FROM ${table} ORDER BY session`),
    );
    db.close();
    assert.deepEqual(heads, prefixes);
    return (heads ?? []).map(({ session }) => session);
  }

  async function becomes(keys: readonly string[]): Promise<void> {
    const wanted = keys.toSorted().join(" ");
    await until(() => known().join(" ") === wanted);
  }

  it("are removed, and those of the others stay; the same words begin a new one then", async () => {
    bench = await ApiBench.open("openai-completions", () => ({ text: "Yes." }));
    await bench.chat(["first"]);
    await bench.chat(["second"], "two");
    const messages = [{ role: "user", content: "third" }];
    await bench.post("/chat/completions", { model: "agent/main", messages });
    const keys = known();
    assert.equal(keys.length, 3);
    assert.deepEqual(keys, bench.sessionKeys().toSorted());
    // A client's session is open until the server ends.
    await bench.stop();
    await bench.start();
    const first = keys.find((key) => key.startsWith("api/one/")) ?? "";
    await bench.pagurus.deleteSession({ sessionKey: first });
    bench.api.forget(first);
    const rest = keys.filter((key) => key !== first);
    await becomes(rest);
    const [second = ""] = rest.filter((key) => key.startsWith("api/two/"));
    const third = rest.find((key) => key !== second) ?? "";
    await bench.pagurus.deleteSession({ sessionKey: third });
    bench.api.forget(second);
    bench.api.forget();
    await becomes([second]);
    assert.equal(await bench.chat(["first", "Yes.", "again"]), "Yes.");
    assert.equal(known().length, 2);
    assert.equal(known().includes(first), false);
  });
});
