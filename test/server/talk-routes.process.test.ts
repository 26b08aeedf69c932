/** What a page to talk in asks a server for besides conversations: choices, slash commands, files, and the name of a session. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createClient, type PagurusClient } from "../../packages/client/src/index.ts";
import { startServer, type ModelServer } from "../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { ServeProcess } from "./serve-setting.ts";

const LONGEST_NAME = 200;

describe("the routes of a page to talk in", () => {
  let model: ModelServer;
  let setting: Setting;
  let server: ServeProcess;
  let owner: PagurusClient;
  let outside: string;
  /** A token that uses the sessions `fam-*` of the agent main, and reads only. */
  let limited: string;
  let reader: string;

  before(async () => {
    model = await startServer({ protocol: "openai-completions", script: () => ({ text: "Answer." }) });
    setting = makeSetting(
      modelConfig(
        "openai-completions",
        model.url,
        {},
        {
          agents: { list: [{ id: "helper" }], defaults: { permission: { mode: "ask", sandbox: "off" } } },
        },
      ),
    );
    outside = mkdtempSync(join(tmpdir(), "pagurus-outside-"));
    writeFileSync(join(outside, "zebrafinch.txt"), "not yours");
    const { workspace } = setting;
    mkdirSync(join(workspace, "src"), { recursive: true });
    mkdirSync(join(workspace, ".pagurus", "commands"), { recursive: true });
    for (const name of ["src/Alpha.ts", "src/beta.ts", "notes.md", "left-out.log"])
      writeFileSync(join(workspace, name), name);
    writeFileSync(join(workspace, ".gitignore"), "*.log\n");
    symlinkSync(outside, join(workspace, "src", "way-out"));
    server = await ServeProcess.start(setting);
    owner = createClient({ url: server.url, token: server.key });
    for (const key of ["fam-one", "priv-one"])
      await server.ended((await owner.postTurn(key, { prompt: `Hello ${key}` })).id);
    limited = (
      await owner.createToken({
        name: "limited",
        scope: "chat",
        sessions: "fam-*",
        agents: "main",
        mode: "read-only",
      })
    ).secret;
    reader = (await owner.createToken({ name: "reader", scope: "read" })).secret;
  });
  after(async () => {
    await server.kill();
    await model.close();
    setting.remove();
    rmSync(outside, { recursive: true, force: true });
  });

  const as = (secret: string): Record<string, string> => ({ authorization: `Bearer ${secret}` });

  async function refused(method: string, path: string, body?: unknown, secret?: string): Promise<string> {
    const answer = await server.call(method, path, body, secret === undefined ? {} : as(secret));
    const { code, message } = answer.body["error"] as { code: string; message: string };
    assert.ok(message.endsWith("."), message);
    return `${answer.status} ${code}`;
  }

  async function fieldOf(path: string, name: string, secret?: string): Promise<unknown> {
    const answer = await server.call("GET", path, undefined, secret === undefined ? {} : as(secret));
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body[name];
  }

  describe("choices", () => {
    it("are the models, runtimes, modes and thinking of an agent, or of a session's next turn", async () => {
      for (const query of ["", "?session=fam-one", "?session=not-begun", "?agent=helper"]) {
        const { body } = await server.call("GET", `/api/v1/choices${query}`);
        assert.equal(body["model"], "test/model");
        assert.ok((body["models"] as string[]).includes("test/model"));
        assert.equal(body["mode"], "ask");
        assert.ok((body["runtimes"] as { id: string }[]).some(({ id }) => id === "embedded"));
        assert.deepEqual(body["thinking"], ["off", "low", "medium", "high"]);
        assert.equal(body["folder"], setting.workspace);
      }
    });

    it("have no mode that a token may not use", async () => {
      const modes = (await fieldOf("/api/v1/choices?session=fam-one", "modes", limited)) as { id: string }[];
      assert.ok(modes.every(({ id }) => id === "read-only" || id === "deny"));
      assert.ok(modes.length > 0);
    });

    it("are refused for sessions, agents and folders of others, and for a query that is none", async () => {
      assert.match(await refused("GET", "/api/v1/choices?session=priv-one", undefined, limited), /^40[34] /);
      assert.match(
        await refused("GET", "/api/v1/choices?agent=helper&session=fam-one", undefined, limited),
        /^40[34] /,
      );
      const away = `/api/v1/choices?session=fam-new&cwd=${encodeURIComponent(outside)}`;
      assert.match(await refused("GET", away, undefined, limited), /^40[34] /);
      assert.match(await refused("GET", "/api/v1/choices?session="), /^400 /);
      assert.match(await refused("GET", "/api/v1/choices?agent=nobody-knows"), /^40[04] /);
    });
  });

  describe("slash commands", () => {
    it("are those that a page runs, each once", async () => {
      const commands = (await fieldOf("/api/v1/slash-commands", "commands")) as { name: string }[];
      const names = commands.map(({ name }) => name);
      assert.equal(new Set(names).size, names.length);
      assert.ok(
        ["status", "model", "rewind"].every((name) => names.includes(name)),
        names.join(),
      );
      assert.ok(!["export", "resume", "output", "exit"].some((name) => names.includes(name)));
    });

    it("of a folder outside are refused", async () => {
      const path = `/api/v1/slash-commands?cwd=${encodeURIComponent(outside)}`;
      assert.match(await refused("GET", path, undefined, limited), /^40[34] /);
    });

    it("run, and answer with their text and what the client does besides", async () => {
      const { text } = await owner.slash("fam-one", "/status");
      assert.match(text, /test\/model/);
      const { effects } = await owner.slash("fam-one", "/model test/model");
      assert.deepEqual(effects, [{ type: "model", model: "test/model" }]);
    });

    it("refuse what is no command, what the page has otherwise, readers, and sessions of others", async () => {
      const at = "/api/v1/sessions/fam-one/slash";
      for (const line of ["no command", "/export", "/exit now", "/"])
        assert.match(await refused("POST", at, { line }), /^400 /, line);
      assert.match(await refused("POST", at, {}), /^400 /);
      assert.match(await refused("POST", at, { line: "/status", more: 1 }), /^400 /);
      assert.match(await refused("POST", at, { line: "/status" }, reader), /^403 /);
      const others = "/api/v1/sessions/priv-one/slash";
      assert.match(await refused("POST", others, { line: "/status" }, limited), /^40[34] /);
    });
  });

  describe("files", () => {
    const paths = (query: string, secret?: string): Promise<unknown> =>
      fieldOf(`/api/v1/files${query}`, "paths", secret);

    it("are those of the folder with the typed text, without what .gitignore names", async () => {
      const all = (await paths("")) as string[];
      assert.ok(
        ["notes.md", "src/Alpha.ts", "src/beta.ts"].every((path) => all.includes(path)),
        all.join(),
      );
      assert.ok(!all.some((path) => path.endsWith(".log")));
      assert.deepEqual(await paths("?q=ALPHA"), ["src/Alpha.ts"]);
      assert.deepEqual(await paths("?q=nothing-has-this"), []);
      assert.equal(((await paths("?limit=1")) as string[]).length, 1);
    });

    it("do not lead out of the folder, by a link or by the query", async () => {
      assert.deepEqual(await paths("?q=zebrafinch"), []);
      assert.deepEqual(await paths("?q=../"), []);
      const away = `/api/v1/files?cwd=${encodeURIComponent(outside)}`;
      assert.match(await refused("GET", away, undefined, limited), /^40[34] /);
    });

    it("have a limit that is a number in its range", async () => {
      for (const limit of ["0", "-1", "many", "1000000"])
        assert.match(await refused("GET", `/api/v1/files?limit=${limit}`), /^400 /, limit);
    });
  });

  describe("a session's name", () => {
    const at = "/api/v1/sessions/fam-one/name";

    it("is the one that was set last, without spaces around it", async () => {
      assert.equal((await owner.rename("fam-one", "  Berths of June ")).name, "Berths of June");
      await owner.rename("fam-one", "Berths of July");
      assert.equal((await owner.session("fam-one")).name, "Berths of July");
      await owner.rename("fam-one", "x".repeat(LONGEST_NAME));
    });

    it("is refused when it is empty, too long or no text, for readers, and for sessions of others", async () => {
      for (const name of ["", "   ", "x".repeat(LONGEST_NAME + 1), 7, null])
        assert.match(await refused("POST", at, { name }), /^400 /);
      assert.match(await refused("POST", at, { name: "a", key: "b" }), /^400 /);
      assert.match(await refused("POST", at, { name: "mine" }, reader), /^403 /);
      const others = "/api/v1/sessions/priv-one/name";
      assert.match(await refused("POST", others, { name: "mine" }, limited), /^40[34] /);
      assert.match(await refused("POST", "/api/v1/sessions/not-begun/name", { name: "a" }), /^404 /);
      assert.equal((await owner.session("priv-one")).name, undefined);
    });
  });

  it("refuse each call without a token", async () => {
    for (const path of ["choices", "slash-commands", "files"])
      assert.match(await refused("GET", `/api/v1/${path}`, undefined, "pgr_unknown"), /^401 /);
    for (const path of ["name", "slash"])
      assert.match(
        await refused(
          "POST",
          `/api/v1/sessions/fam-one/${path}`,
          { name: "a", line: "/status" },
          "pgr_unknown",
        ),
        /^401 /,
      );
  });
});
