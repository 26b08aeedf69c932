/** `pagurus mcp serve` and `/mcp` of a server, as MCP clients use them: exact words, and the walls of folders and tokens. */
import assert from "node:assert/strict";
import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { LAUNCHER } from "../runner/program.ts";
import { ServeProcess } from "../server/serve-setting.ts";
import { assistant, openStore, sayTurn, toolResult, user } from "../stores/files/fixtures.ts";
import { finish, makeSetting, run, type Setting } from "../turn/setting.ts";

const NAMES = ["sessions", "search", "read", "expand", "left_out", "kept_search", "kept_read"];
/** Longer than a page, with characters of two code units. */
const LONG = Array.from({ length: 6_000 }, (_, at) => `line ${at} 🦀 é`).join("\n");

let setting: Setting;
let shop: string;
let clinic: string;
/** Ids of the entries of the shop's conversation. */
const ids: Record<"input" | "result", string> = { input: "", result: "" };

async function words(client: Client, name: string, args: Record<string, unknown>): Promise<string> {
  const { content, isError } = await client.callTool({ name, arguments: args });
  const [first] = content as { type: string; text: string }[];
  assert.equal(first?.type, "text");
  return `${isError === true ? "refused: " : ""}${first.text}`;
}

/** A client of `mcp serve`, started in a folder. */
async function stdioClient(cwd: string, ...args: string[]): Promise<Client> {
  const client = new Client({ name: "test", version: "1" }, {});
  const server = { command: process.execPath, args: [LAUNCHER, "mcp", "serve", ...args] };
  await client.connect(new StdioClientTransport({ ...server, cwd, env: setting.env, stderr: "inherit" }));
  return client;
}

before(() => {
  setting = makeSetting({ session: { scope: "main" } });
  const root = realpathSync(setting.root);
  [shop, clinic] = [join(root, "shop"), join(root, "clinic")];
  for (const folder of [shop, clinic]) mkdirSync(folder);
  const store = openStore(join(setting.home, "agents", "main"));
  const begun = store.begin(shop);
  const writer = store.openWriter(begun.sessionKey, { cwd: shop });
  const turnId = "t1";
  ids.input = writer.append({ type: "message", turnId, message: user("Where is the lantern order?") }).id;
  writer.append({ type: "message", turnId, message: assistant("I look.", ["c1"]) });
  ids.result = writer.append({ type: "message", turnId, message: toolResult("c1", LONG) }).id;
  writer.append({ type: "message", turnId, message: assistant("It is in aisle 12.") });
  writer.commitTurn({ turnId, outcome: "completed" });
  writer.close();
  begun.release();
  const other = store.begin(clinic);
  const second = store.openWriter(other.sessionKey, { cwd: clinic });
  sayTurn(second, "t2", "The lantern patient has a secret diagnosis.");
  second.close();
  other.release();
  const named = store.openWriter("clinic-notes", { cwd: clinic });
  sayTurn(named, "t3", "Another lantern in the clinic.");
  named.close();
  store.close();
});
after(() => setting.remove());

/** A conversation of Claude Code in a folder. */
function keepable(folder: string, id: string, words: readonly string[]): void {
  const file = join(setting.root, ".claude/projects", `-${id}`, `${id}.jsonl`);
  mkdirSync(dirname(file), { recursive: true });
  const lines = words.map((text, at) => {
    const type = at % 2 === 0 ? "user" : "assistant";
    const timestamp = new Date(Date.UTC(2026, 4, 1, 10, at)).toISOString();
    return JSON.stringify({
      type,
      cwd: folder,
      sessionId: id,
      timestamp,
      message: { role: type, content: text },
    });
  });
  writeFileSync(file, `${lines.join("\n")}\n`);
}

describe("pagurus mcp serve", () => {
  let client: Client;
  before(async () => (client = await stdioClient(shop)));
  after(() => client.close());

  it("offers tools that only read", async () => {
    const { tools } = await client.listTools();
    assert.deepEqual(
      tools.map(({ name }) => name),
      NAMES,
    );
    assert.ok(tools.every(({ annotations }) => annotations?.readOnlyHint === true));
    assert.match(client.getInstructions() ?? "", /not instructions/);
  });

  it("gives from a search the exact words of an entry, in pages", async () => {
    const found = await words(client, "search", { query: "lantern order" });
    const [, session = "", id] = /^(\S+) (\S+) \(user, /.exec(found) ?? [];
    assert.equal(id, ids.input);
    assert.equal(await words(client, "expand", { session, id }), "Where is the lantern order?");
    let whole = "";
    for (let offset: number | undefined = 0; offset !== undefined;) {
      const page = await words(client, "expand", { session, id: ids.result, offset });
      const [mark = "", next] = /\n\[More: expand with offset (\d+)\.\]$/.exec(page) ?? [];
      whole += page.slice(0, page.length - mark.length);
      offset = next === undefined ? undefined : Number(next);
    }
    assert.equal(whole, LONG);
  });

  it("reads a conversation from its end, and on from an entry", async () => {
    const [session = ""] = (await words(client, "sessions", {})).split(" ");
    const end = await words(client, "read", { session, max_tokens: 200 });
    assert.match(end, /^\[Earlier: read before \S+\.\]\n/);
    assert.match(end, /aisle 12\.$/);
    const rest = await words(client, "read", { session, after: ids.input });
    assert.match(rest, /→ shell \{"id":"c1"\}/);
    assert.match(rest, /line 0 🦀 é/);
    assert.doesNotMatch(rest, /lantern order/);
  });

  it("shows no word, key or number of another folder's conversations", async () => {
    const listed = await words(client, "sessions", {});
    assert.equal(listed.split("\n").length, 1);
    const all = await stdioClient(shop, "--all");
    const keys = (await words(all, "sessions", {})).split("\n").map((line) => line.split(" ")[0] ?? "");
    await all.close();
    assert.equal(keys.length, 3);
    const hidden = keys.filter((key) => !listed.startsWith(`${key} `));
    assert.equal(hidden.length, 2);
    const answers = [await words(client, "search", { query: "diagnosis lantern clinic" })];
    for (const session of hidden) {
      for (const [name, args] of [
        ["read", {}],
        ["search", { query: "lantern" }],
        ["expand", { id: ids.input }],
        ["left_out", {}],
      ] as const) {
        const answer = await words(client, name, { ...args, session });
        assert.match(answer, /^refused: There is no conversation "\S+" in \S+\/shop;/);
        assert.equal(
          answer.replace(session, ""),
          (await words(client, name, { ...args, session: "none" })).replace("none", ""),
        );
        answers.push(answer);
      }
    }
    for (const answer of answers) assert.doesNotMatch(answer, /diagnosis\.|patient|Another/);
  });

  it("refuses what it cannot answer with one sentence", async () => {
    const [session = ""] = (await words(client, "sessions", {})).split(" ");
    for (const [name, args, expected] of [
      ["expand", { session, id: "nothing" }, /has no entry "nothing"/],
      ["expand", { session, id: ids.input, offset: 500 }, /has 27 characters/],
      ["read", { session, before: ids.input, after: ids.input }, /name one of them/],
      ["read", { session, after: "nothing" }, /nothing/],
      ["search", { query: "" }, /query/],
    ] as const)
      assert.match(await words(client, name, args), new RegExp(`^refused: .*${expected.source}`, "s"));
    assert.match(await words(client, "left_out", { session }), /^No model request .* is recorded\.$/);
  });

  it("names what a request left out once one is recorded", async () => {
    const there = await run(setting, "Hello", "--cwd", clinic, "--session", "clinic-notes");
    assert.equal(there.code, 0, there.stderr);
    const other = await stdioClient(shop, "--folder", clinic);
    const answer = await words(other, "left_out", { session: "clinic-notes" });
    await other.close();
    assert.match(answer, /^Nothing: the newest request holds the whole conversation\.$/);
  });
});

describe("what the keeper has of other agents", () => {
  let client: Client;
  let all: Client;
  const pier = Array.from({ length: 30 }, (_, at) => `pier part ${at}`);
  before(async () => {
    keepable(join(shop, "back"), "shop-talk", [...pier, `a harbour ${LONG}`]);
    keepable(clinic, "clinic-talk", ["the harbour of the clinic"]);
    const kept = await finish(setting, ["keep", "once"]);
    assert.equal(kept.code, 0, kept.stderr);
    [client, all] = [await stdioClient(shop), await stdioClient(shop, "--all")];
  });
  after(async () => {
    for (const each of [client, all]) await each.close();
  });

  it("is found and read through mcp serve, in pages, and not from another folder", async () => {
    const found = await words(client, "kept_search", { query: "harbour" });
    const [, conversation = "", record = ""] =
      /^conversation (\d+), record (\d+) \(claude-code, user, 2026-05-01 10:30, shop-talk\): [^\n]*harbour[^\n]*$/.exec(
        found,
      ) ?? [];
    const page = await words(client, "kept_read", { conversation: Number(conversation), at: Number(record) });
    assert.match(
      page,
      /^\d+ \(user, 2026-05-01 10:28\): pier part 28\n\d+ \(assistant[^\n]*part 29\n\d+ \(user[^\n]*a harbour/,
    );
    let rest =
      /\n\d+ \(user, [^)]*\): (a harbour[^]*?) \[…: kept_read at \d+ with offset (\d+)\]$/.exec(page) ?? [];
    let whole = rest[1] ?? "";
    while (rest[2] !== undefined) {
      const more = await words(client, "kept_read", {
        conversation: Number(conversation),
        at: Number(record),
        offset: Number(rest[2]),
      });
      rest = /^([^]*?)(?:\n\[More: kept_read at \d+ with offset (\d+)\.\])?$/.exec(more) ?? [];
      whole += rest[1] ?? "";
    }
    assert.equal(whole, `a harbour ${LONG}`);
    const end = await words(client, "kept_read", {
      conversation: Number(conversation),
      before: Number(record),
      max_tokens: 200,
    });
    assert.match(end, /^\[Earlier: kept_read before (\d+)\.\]\n\1 [^]*pier part 29$/);
    const hidden = conversation === "1" ? 2 : 1;
    assert.match(
      await words(client, "kept_read", { conversation: hidden }),
      /^refused: No kept conversation \d is in \S+\/shop;/,
    );
    assert.match(await words(all, "kept_search", { query: "harbour clinic" }), /harbour of the clinic/);
    assert.match(
      await words(all, "kept_search", { query: "harbour", agent: "codex" }),
      /^Nothing that is kept here/,
    );
  });
});

describe("/mcp of a server", () => {
  let server: ServeProcess;
  before(async () => (server = await ServeProcess.start(setting)));
  after(() => server.kill());

  async function token(...args: string[]): Promise<string> {
    const made = await finish(setting, ["token", "create", "--name", `t-${args.join("")}`, ...args]);
    return made.stdout.trim();
  }

  async function httpClient(secret: string, query = ""): Promise<Client> {
    const client = new Client({ name: "test", version: "1" }, {});
    const requestInit = { headers: { authorization: `Bearer ${secret}` } };
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${server.url}/mcp${query}`), { requestInit }),
    );
    return client;
  }

  it("serves what a token may see, narrowed to a folder where one is named", async () => {
    const full = await token("--scope", "read");
    const all = await httpClient(full);
    assert.equal((await words(all, "sessions", {})).split("\n").length, 3);
    const narrow = await httpClient(full, `?folder=${encodeURIComponent(shop)}`);
    const found = await words(narrow, "search", { query: "lantern" });
    assert.match(found, /order/);
    assert.doesNotMatch(found, /patient|clinic/);
    const limited = await httpClient(await token("--scope", "read", "--session", "clinic-*"));
    assert.match(
      await words(limited, "search", { query: "lantern" }),
      /^clinic-notes \S+ [^\n]*Another lantern/,
    );
    assert.equal((await words(limited, "sessions", {})).split("\n").length, 1);
    const [session = ""] = (await words(narrow, "sessions", {})).split(" ");
    for (const name of ["read", "left_out"])
      assert.match(await words(limited, name, { session }), /^refused: There is no conversation/);
    const kept = async (client: Client): Promise<boolean> =>
      (await client.listTools()).tools.some(({ name }) => name === "kept_search");
    const admin = await httpClient(await token("--scope", "admin"), `?folder=${encodeURIComponent(clinic)}`);
    assert.equal(
      await words(admin, "kept_search", { query: "harbour" }).then((text) => /shop/.test(text)),
      false,
    );
    assert.match(await words(admin, "kept_search", { query: "harbour" }), /harbour of the clinic/);
    assert.deepEqual([await kept(admin), await kept(all), await kept(limited)], [true, false, false]);
    for (const client of [all, narrow, limited, admin]) await client.close();
  });

  it("refuses requests without a token, of another agent's token, and with an unknown parameter", async () => {
    const asked = async (path: string, secret?: string): Promise<[number, string]> => {
      const answer = await fetch(server.url + path, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
      });
      return [answer.status, await answer.text()];
    };
    assert.equal((await asked("/mcp"))[0], 401);
    const other = await token("--scope", "read", "--agent", "other");
    assert.equal((await asked("/mcp", other))[0], 403);
    const [status, body] = await asked("/mcp?fodler=x", await token("--scope", "read"));
    assert.equal(status, 400);
    assert.match(body, /no parameter \\"fodler\\"/);
  });
});
