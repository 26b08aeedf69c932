/** A resident host that is killed, stopped, old, idle or cannot start: commands run, and nothing of a conversation is lost. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { afterEach, describe, it } from "node:test";
import { thinEntry } from "../../../packages/cli/src/resident/thin-entry.ts";
import { LAUNCHER } from "../../runner/program.ts";
import { until } from "../../runner/until.ts";
import { Resident } from "./resident-setting.ts";

/** A command as the thin entry sends it. */
function requestTo({ setting, files }: Resident, argv: readonly string[]): object {
  return {
    argv,
    cwd: setting.workspace,
    env: setting.env,
    tty: [false, false, false],
    place: thinEntry().place(),
    key: readFileSync(files.key, "utf8"),
    entry: join(dirname(LAUNCHER), "thin.js"),
  };
}

describe("a resident host that fails", () => {
  let place: Resident;
  const made = async (...options: Parameters<typeof Resident.make>): Promise<Resident> =>
    (place = await Resident.make(...options));
  afterEach(() => place.close());

  it("is killed during a command: one sentence, exit code 1, and the session continues", async () => {
    const pid = await (await made()).warm();
    const running = place.begin(["run", "--session", "work", "please wait"]);
    await until(() => place.model.requests.length > 0);
    process.kill(pid, "SIGKILL");
    const ended = await running.finished;
    assert.equal(ended.code, 1);
    assert.match(
      ended.stderr,
      /^pagurus: The resident host ended during this command; .*\[server_failed\]\n$/,
    );
    const json = await place.command("run", "--json", "--session", "work", "next question");
    assert.equal(json.last?.type, "turn.completed");
    const sent = place.model.requests.at(-1)?.text ?? "";
    assert.match(sent, /please wait[^]*next question/);
  });

  it("is killed during `run --json`: the last line is turn.failed", async () => {
    const pid = await (await made()).warm();
    const running = place.begin(["run", "--json", "please wait"]);
    await until(() => place.model.requests.length > 0);
    process.kill(pid, "SIGKILL");
    assert.equal((await running.finished).last?.type, "turn.failed");
  });

  it("has left its socket after a kill: the command runs by itself, and a host starts again", async () => {
    const pid = await (await made()).warm();
    process.kill(pid, "SIGKILL");
    await until(() => place.pid === undefined);
    assert.ok(existsSync(place.files.socket));
    assert.equal((await place.command("run", "hello")).stdout, "You said: hello\n");
    await until(() => place.pid !== undefined && place.pid !== pid);
    assert.equal((await place.command("run", "hello again")).stdout, "You said: hello again\n");
  });

  it("does not answer: the command runs by itself after a second", async () => {
    const pid = await (await made()).warm();
    process.kill(pid, "SIGSTOP");
    assert.equal((await place.command("run", "hello")).stdout, "You said: hello\n");
    process.kill(pid, "SIGCONT");
    await until(async () => (await place.command("status")).code === 0);
    assert.equal(place.model.requests.length, 1);
  });

  it("takes no command of another installation, place, environment or key", async () => {
    await (await made()).warm();
    const { frame, readFrames } = thinEntry();
    const right = requestTo(place, ["status"]);
    const answerTo = (request: unknown): Promise<string> =>
      new Promise((resolve, reject) => {
        const socket = connect(place.files.socket);
        socket.on("error", reject);
        readFrames(socket, (letter, payload) => {
          socket.destroy();
          resolve(`${letter} ${payload.toString()}`);
        });
        socket.write(frame("H", JSON.stringify(request)));
      });
    assert.equal(await answerTo({ ...right, key: "another" }), 'N {"why":"its key is another one"}');
    assert.match(await answerTo({ ...right, place: "a container" }), /^N .*another place/);
    assert.match(await answerTo({ ...right, entry: "/elsewhere/bin/thin.js" }), /^N .*another installation/);
    const env = { ...place.setting.env, TZ: "Pacific/Auckland" };
    assert.match(await answerTo({ ...right, env }), /^N .*environment/);
    assert.match(await answerTo("no request"), /^N .*no request/);
  });

  it("reports once that the output of a command failed, and keeps the connection until a slow client has read it", async () => {
    await (await made()).warm();
    await place.command("run", "hello");
    const { frame, readFrames } = thinEntry();
    const socket = connect({ path: place.files.socket, allowHalfOpen: true });
    const got: string[] = [];
    readFrames(socket, (letter, payload) => {
      got.push(`${letter} ${payload.toString()}`);
      if (letter === "R") socket.write(frame("G"));
      if (letter === "O") socket.write(frame("L", JSON.stringify({ fd: 1, code: "ENOSPC", errno: -28 })));
    });
    socket.write(frame("H", JSON.stringify(requestTo(place, ["sessions", "list"]))));
    const ends = (): boolean => got.some((each) => each.startsWith("X"));
    await until(ends);
    // Meanwhile the host has finished the first command.
    await place.command("status");
    await new Promise<void>((resolve, reject) => {
      socket.once("error", reject).write(frame("F"), (error) => (error ? reject(error) : resolve()));
    });
    socket.end();
    assert.equal(got.at(-1), 'X {"code":1}');
    assert.deepEqual(
      got.flatMap((each) => (each.startsWith("A") ? [/no space left/.test(each)] : [])),
      [true],
    );
  });

  it("ends when it was idle for the configured time, and leaves no socket", async () => {
    const pid = await (await made({ residentIdleSeconds: 1 })).warm();
    await until(() => !existsSync(place.files.socket) && place.pid === undefined);
    await until(() => /resident host ended.*idle|idle.*resident host ended/.test(place.log()));
    assert.ok(pid > 0);
  });

  it("ends when the configuration asks for none any more, and the command runs by itself", async () => {
    await (await made()).warm();
    await place.command("config", "set", "server.resident", "false");
    assert.equal((await place.command("run", "hello")).stdout, "You said: hello\n");
    await until(() => place.pid === undefined);
    assert.match(place.log(), /the configuration asks for none/);
  });

  it("follows the configuration: each command has the one that is there when it starts", async () => {
    const pid = await (await made()).warm();
    await place.command("config", "set", "agents.defaults.model", "test/other");
    assert.match((await place.command("status")).stdout, /Model: +test\/other/);
    assert.equal(place.pid, pid);
  });

  it("runs no command of a home with plugins of its user", async () => {
    await (await made({}, { plugins: { load: { paths: ["./plugin.mjs"] } } })).command("status");
    writeFileSync(
      join(place.setting.home, "plugin.mjs"),
      `export default { id: "shown", register() { process.stderr.write("plugin in " + process.pid + "\\n"); } };`,
    );
    const pid = await place.warm();
    const { stderr } = await place.command("run", "hello");
    assert.doesNotMatch(stderr, new RegExp(`plugin in ${pid}\\b`));
  });

  it("cannot have its folder: commands run by themselves, without a word about it", async () => {
    await made();
    writeFileSync(join(place.setting.home, "resident"), "a file where the folder would be");
    const first = await place.command("run", "hello");
    assert.deepEqual([first.stdout, first.stderr, first.code], ["You said: hello\n", "", 0]);
    rmSync(join(place.setting.home, "resident"));
    mkdirSync(join(place.setting.root, "elsewhere"));
    symlinkSync(join(place.setting.root, "elsewhere"), join(place.setting.home, "resident"));
    assert.equal((await place.command("run", "hello")).stdout, "You said: hello\n");
    assert.equal(place.pid, undefined);
  });
});
