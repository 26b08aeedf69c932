import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterEach, describe, it } from "node:test";
import { startServer, type ModelServer } from "../servers/server.ts";
import { storedTranscripts } from "../stores/stored-transcripts.ts";
import { makeSetting, modelConfig, run, start, type Finished, type Setting } from "./setting.ts";
import { outline, readBody } from "./wire-bodies.ts";
import { longTest } from "../runner/long-tests.ts";

const ENGINE = resolve(import.meta.dirname, "engines/failing.js");

describe("a transcript that cannot be written", () => {
  let server: ModelServer | undefined;
  let setting: Setting | undefined;
  let mounted: string | undefined;

  afterEach(async () => {
    await server?.close();
    if (mounted) spawnSync("umount", [mounted]);
    mounted = undefined;
    setting?.remove();
  });

  function prepare(config: (place: Setting) => unknown): Setting {
    const place = makeSetting();
    setting = place;
    mkdirSync(join(place.home, "agents"), { mode: 0o700 });
    // Without mounting, the limit on file sizes in `limited` stops writes at about the same place.
    const disk = join(place.home, "agents");
    if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=1m", "none", disk]).status === 0) mounted = disk;
    writeFileSync(join(place.home, "pagurus.json"), JSON.stringify(config(place)));
    return place;
  }

  function limited(place: Setting, prompt: string): Promise<Finished> {
    return mounted
      ? run(place, prompt)
      : start(place, ["run", "--json", prompt], "", "trap '' XFSZ; ulimit -f 1900").finished;
  }

  longTest(
    "stops the turn in the middle, reports to the engine what happened, and loses nothing that was committed",
    async () => {
      const made = await startServer({
        protocol: "openai-completions",
        script: (request) => {
          const wire = readBody("openai-completions", request);
          const prompt = wire.messages.findLast((message) => message.role === "user")?.text ?? "";
          const rounds = wire.messages.filter((message) => message.calls.length > 0).length;
          if (prompt.endsWith("Small.")) return { text: "A small reply." };
          return {
            text: `Round ${rounds}.`,
            toolCalls: [
              {
                id: `c${rounds}`,
                name: "shell",
                arguments: { command: `echo ${rounds} >> rounds.txt; head -c 24000 /dev/zero | tr '\\0' x` },
              },
            ],
          };
        },
      });
      server = made;
      const place = prepare(({ root }) =>
        modelConfig(
          "openai-completions",
          made.url,
          { contextWindow: 900_000 },
          {
            agents: { defaults: { maxSteps: 120 } },
            plugins: {
              slots: { contextEngine: "failing" },
              load: { paths: [ENGINE] },
              entries: {
                failing: { config: { stage: "none", how: "throw", log: join(root, "calls.jsonl") } },
              },
            },
          },
        ),
      );
      assert.equal((await limited(place, "Small.")).code, 0);
      const big = await limited(place, "Fill the disk.");
      assert.equal(big.code, 1, big.stderr);
      const { last } = big;
      assert.ok(
        last?.type === "turn.failed" && last.error.code === "store_write_failed",
        JSON.stringify(last),
      );
      assert.ok(last.degraded.some(({ stage }) => stage === "transcript"));
      const rounds = readFileSync(join(place.workspace, "rounds.txt"), "utf8").trim().split("\n").length;
      assert.ok(rounds > 3 && rounds < 119, `the turn stopped after ${rounds} rounds, not at its last step`);

      const log = readFileSync(join(place.root, "calls.jsonl"), "utf8").trim().split("\n");
      const calls = log.map((line) => JSON.parse(line) as { name: string; texts: string[]; before?: number });
      const settled = calls.filter((call) => call.name === "afterTurn").at(-1);
      assert.deepEqual(
        settled?.texts.slice(0, 3),
        ["Small.", "A small reply.", "Fill the disk."],
        "finalized with the fallback snapshot",
      );
      assert.ok((settled?.texts.length ?? 0) > rounds * 2 - 2);
      assert.ok(!calls.slice(calls.lastIndexOf(settled as never)).some((call) => call.name === "maintain"));

      // Space again: the user frees some.
      if (mounted) spawnSync("mount", ["-o", "remount,size=64m", mounted]);
      assert.equal(storedTranscripts(place.home).size, 1);
      const after = await run(place, "Small.");
      assert.equal(after.code, 0, after.stderr);
      assert.ok(after.events.some((event) => event.type === "notice" && event.kind === "interrupted_turn"));
      const request = made.requests.at(-1);
      assert.ok(request);
      const lines = outline(readBody("openai-completions", request));
      assert.deepEqual(lines.slice(0, 3), ["user:Small.", "assistant:A small reply.", "user:Fill the disk."]);
      assert.equal(lines.at(-1), "user:Small.");
    },
  );

  it("refuses a turn whose input cannot be written, before anything is sent", async () => {
    const made = await startServer({ protocol: "openai-completions", script: [{ text: "Reply." }] });
    server = made;
    const place = prepare(() => modelConfig("openai-completions", made.url));
    assert.equal((await run(place, "One")).code, 0);
    const file = join(place.home, "agents", "main");
    if (mounted) spawnSync("mount", ["-o", "remount,ro", mounted]);
    else {
      rmSync(join(file, "sessions.db"), { force: true });
      spawnSync("chattr", ["+i", join(file, "sessions")]);
    }
    const { code, last } = await run(place, "Two");
    if (!mounted) spawnSync("chattr", ["-i", join(file, "sessions")]);
    assert.equal(code, 1);
    assert.ok(last?.type === "turn.failed" && last.error.code === "store_write_failed", JSON.stringify(last));
    assert.equal(made.requests.length, 1);
  });
});
