/** The file of the cooldowns under many writers, and its times. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { silentLogger } from "../../../packages/core/src/platform/log.ts";
import { ModelCooldowns } from "../../../packages/host/src/stores/files/model-cooldowns.ts";
import { longTest } from "../../runner/long-tests.ts";

const MODULE = new URL("../../../packages/host/src/stores/files/model-cooldowns.ts", import.meta.url).href;
const LOG = new URL("../../../packages/core/src/platform/log.ts", import.meta.url).href;
const MINUTE = 60_000;

describe("the cooldowns of models", () => {
  let root: string;
  before(() => {
    root = mkdtempSync(join(tmpdir(), "pagurus-cooldowns-"));
  });
  after(() => rmSync(root, { recursive: true, force: true }));

  function clocked(name: string): { cooldowns: ModelCooldowns; clock: { now: number } } {
    const clock = { now: 1_000_000 * MINUTE };
    const home = join(root, name);
    const cooldowns = new ModelCooldowns({ home, logger: silentLogger, now: () => clock.now });
    return { cooldowns, clock };
  }

  const minutesLeft = (until: string | undefined, now: number): number =>
    (Date.parse(until ?? "") - now) / MINUTE;

  longTest("keep what every process of a home notes at the same time", async () => {
    const home = join(root, "many");
    const code = (process: number): string =>
      `const { ModelCooldowns } = await import(${JSON.stringify(MODULE)});
       const { silentLogger: logger } = await import(${JSON.stringify(LOG)});
       const cooldowns = new ModelCooldowns({ home: ${JSON.stringify(home)}, logger });
       for (let index = 0; index < 20; index++) cooldowns.failed("p${process}/m" + index, "overloaded", undefined);`;
    const ends = [1, 2, 3, 4].map((each) => {
      const child = spawn(process.execPath, ["--input-type=module", "-e", code(each)], { stdio: "inherit" });
      return once(child, "exit");
    });
    assert.deepEqual(
      (await Promise.all(ends)).map(([exit]) => exit as number),
      [0, 0, 0, 0],
    );
    assert.equal(new ModelCooldowns({ home, logger: silentLogger }).list().length, 80);
    assert.equal(statSync(join(home, "cooldowns", "models.json")).mode & 0o777, 0o600);
  });

  it("grow with failures after they ended, not with failures within, and are forgotten after a day", () => {
    const { cooldowns, clock } = clocked("grow");
    const one = { ref: "p/one", provider: "p" };
    const fail = (): number => {
      cooldowns.failed("p/one", "overloaded", undefined);
      return minutesLeft(cooldowns.of(one)?.until, clock.now);
    };
    assert.equal(fail(), 1);
    clock.now += MINUTE / 2;
    assert.equal(fail(), 0.5);
    assert.equal(cooldowns.of(one)?.failures, 1);
    clock.now += MINUTE;
    assert.equal(cooldowns.of(one), undefined);
    assert.equal(fail(), 5);
    clock.now += 24 * 60 * MINUTE;
    assert.equal(fail(), 1);
  });

  it("last as long as the provider asks, also when that is longer or shorter than their own time", () => {
    const { cooldowns, clock } = clocked("asked");
    for (const minutes of [0.25, 300]) {
      cooldowns.failed("p", "rate_limit", minutes * MINUTE);
      assert.equal(minutesLeft(cooldowns.of({ ref: "p/any", provider: "p" })?.until, clock.now), minutes);
    }
  });

  it("of a provider concern its models, and a success of one ends them", () => {
    const { cooldowns } = clocked("provider");
    cooldowns.failed("p", "auth", undefined);
    cooldowns.failed("p/two", "overloaded", undefined);
    assert.equal(cooldowns.of({ ref: "p/one", provider: "p" })?.target, "p");
    cooldowns.succeeded({ ref: "p/one", provider: "p" });
    assert.equal(cooldowns.of({ ref: "p/one", provider: "p" }), undefined);
    assert.deepEqual(
      cooldowns.list().map(({ target }) => target),
      ["p/two"],
    );
  });

  it("are none where the file holds something else or cannot be written, without an error", () => {
    const { cooldowns } = clocked("damaged");
    cooldowns.failed("p", "auth", undefined);
    const file = join(root, "damaged", "cooldowns", "models.json");
    for (const text of [
      "",
      "[]",
      '{"cooldowns":{"p":{"reason":1}}}',
      '{"cooldowns":{"p":{"until":1e300}}}',
    ]) {
      writeFileSync(file, text);
      assert.deepEqual(cooldowns.list(), [], text);
    }
    writeFileSync(join(root, "a-file"), "");
    const unwritable = new ModelCooldowns({ home: join(root, "a-file"), logger: silentLogger });
    unwritable.failed("p", "auth", undefined);
    assert.deepEqual(unwritable.list(), []);
  });
});
