/** Commands of plugins on a server: in a chat over it, as work of its inbox, and through its end. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { after, before, describe, it } from "node:test";
import { longTest } from "../../runner/long-tests.ts";
import { ServeProcess } from "../../server/serve-setting.ts";
import { startServer, type ModelServer } from "../../servers/server.ts";
import { makeSetting, modelConfig, start, type Setting } from "../../turn/setting.ts";

const PLUGIN = `import { appendFileSync, existsSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
export default function register(api) {
  const { folder } = api.pluginConfig;
  const command = (name, run, more = {}) =>
    api.registerCommand({ name, usage: "[text]", summary: "Does " + name + ".", run, ...more });
  command("say", async (args, { sessionKey, agentId }) => args + " in " + sessionKey + " of " + agentId, { aliases: ["tell"] });
  command("break", async () => { throw new Error("The dish is broken."); });
  command("cook", async (args, { signal }) => {
    appendFileSync(folder + "/cooked", args + "\\n");
    while (!existsSync(folder + "/" + args + ".ready")) await pause(10, undefined, { signal });
    return args + " is ready";
  });
}`;

describe("a plugin's command on a server", () => {
  let model: ModelServer;
  let setting: Setting;
  let server: ServeProcess;

  before(async () => {
    let release: () => void = () => undefined;
    model = await startServer({
      protocol: "openai-completions",
      script: async ({ text }) => {
        if (text.includes("wait")) await new Promise<void>((resolve) => (release = resolve));
        else release();
        return { text: "Done." };
      },
    });
    setting = makeSetting();
    const file = join(setting.root, "kitchen.js");
    writeFileSync(file, PLUGIN);
    const plugins = {
      load: { paths: [file] },
      entries: { kitchen: { config: { folder: setting.root } } },
    };
    const config = modelConfig("openai-completions", model.url, {}, { plugins });
    writeFileSync(join(setting.home, "pagurus.json"), JSON.stringify(config), { mode: 0o600 });
    server = await ServeProcess.start(setting);
  });
  after(async () => {
    await server.kill();
    await model.close();
    setting.remove();
  });

  const post = async (name: string, args: string, session = "kitchen"): Promise<string> => {
    const { status, body } = await server.call("POST", `/api/v1/sessions/${session}/commands`, {
      name,
      args,
    });
    assert.equal(status, 202, JSON.stringify(body));
    return String(body["id"]);
  };
  const cooked = (): string[] => {
    const file = join(setting.root, "cooked");
    return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
  };
  const begins = async (dish: string): Promise<void> => {
    while (!cooked().includes(dish)) await pause(10);
  };

  longTest(
    "has the same output in a chat as without the server, also its error, in /help and by its alias",
    async () => {
      const script = "/say hello\n/tell more\n/break\n/sya\n/help\n/exit\n";
      const outcome = async (...args: string[]): Promise<object> => {
        const { code, stdout, stderr } = await start(setting, [...args, "chat", "--session", "talk"], script)
          .finished;
        return { code, stdout, stderr };
      };
      const over = await outcome();
      assert.deepEqual(over, await outcome("--no-server"));
      const { stdout, stderr } = over as { stdout: string; stderr: string };
      assert.match(stdout, /^hello in talk of main\nmore in talk of main$/m);
      assert.match(stdout, /There is no command \/sya\. Did you mean \/say/);
      assert.match(stdout, /^\/say \[text\] +Does say\.$/m);
      assert.match(stderr, /The dish is broken/);
      const { body } = await server.call("GET", "/api/v1/sessions/talk/work");
      assert.deepEqual(
        (body["work"] as { kind: string; outcome: string }[]).map(
          ({ kind, outcome: end }) => `${kind} ${end}`,
        ),
        ["command failed", "command completed", "command completed"],
      );
    },
  );

  it("is work of its session in order, with its text as an event", async () => {
    const path = "/api/v1/sessions/order/turns";
    const turn = await server.call("POST", path, { prompt: "wait" });
    const said = await post("say", "after the turn", "order");
    const waiting = await server.call("GET", `/api/v1/work/${said}`);
    assert.deepEqual([waiting.body["state"], waiting.body["ahead"]], ["waiting", 1]);
    while (!model.requests.some(({ text }) => text.includes("wait"))) await pause(10);
    await server.ended(
      String((await server.call("POST", "/api/v1/sessions/x/turns", { prompt: "go" })).body["id"]),
    );
    const events = await server.events(`/api/v1/work/${said}/events`, ({ type }) => type === "work.ended");
    assert.deepEqual(
      events.map(({ type }) => type),
      ["work.accepted", "work.started", "command.output", "work.ended"],
    );
    assert.equal(events[2]?.data["text"], "after the turn in order of main");
    assert.equal((await server.ended(String(turn.body["id"])))["outcome"], "completed");
  });

  it("is refused by a name that no plugin has", async () => {
    const { status, body } = await server.call("POST", "/api/v1/sessions/a/commands", { name: "none" });
    assert.equal(status, 400);
    assert.match(JSON.stringify(body), /No plugin has a command \/none/);
  });

  it("is aborted when it is stopped", async () => {
    const id = await post("cook", "soup");
    await begins("soup");
    await server.call("POST", `/api/v1/work/${id}/stop`);
    assert.equal((await server.ended(id))["outcome"], "aborted");
  });

  longTest("that the end of the server cut off is not run again, and the next one is", async () => {
    const cake = await post("cook", "cake");
    const said = await post("say", "later");
    await begins("cake");
    await server.kill();
    writeFileSync(join(setting.root, "cake.ready"), "");
    await server.begin();
    const ended = await server.ended(cake);
    assert.equal(ended["outcome"], "interrupted");
    assert.match(JSON.stringify(ended["error"]), /command \/cook was cut off/);
    assert.equal((await server.ended(said))["outcome"], "completed");
    assert.deepEqual(
      cooked().filter((dish) => dish === "cake"),
      ["cake"],
    );
  });
});
