import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import {
  catalogKey,
  catalogOf,
  keptBytes,
  readCatalog,
  writeCatalog,
} from "../../../packages/host/src/mcp/client/mcp-catalog.ts";

const schema = { $schema: "x", type: "object", properties: { a: { type: "string" } }, required: ["a"] };

test("a catalog does not depend on the order in which a server names its tools", () => {
  const tools = ["b", "a", "c"].map((name) => ({ name, description: "", inputSchema: schema }));
  assert.deepEqual(catalogOf(tools, 1), catalogOf(tools.toReversed(), 1));
  assert.deepEqual(catalogOf(tools, 1).tools[0], {
    name: "a",
    description: "",
    parameters: { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
  });
  assert.deepEqual(catalogOf([{ name: "a", title: "Title", inputSchema: {} }], 1).tools, [
    { name: "a", description: "Title", parameters: { type: "object", properties: {} } },
  ]);
});

test("parts beyond the limits are left out and named", () => {
  const { tools, leftOut } = catalogOf(
    [
      { name: "" },
      { name: "long", inputSchema: {}, description: "x".repeat(10_000) },
      { name: "twice", inputSchema: {} },
      { name: "twice", inputSchema: {} },
      {
        name: "wide",
        inputSchema: { type: "object", properties: { a: { description: "x".repeat(30_000) } } },
      },
    ],
    1,
  );
  assert.deepEqual(
    tools.map(({ name }) => name),
    ["long", "twice"],
  );
  assert.equal(tools[0]?.description.length, 4_001);
  assert.deepEqual(leftOut, [
    'the tool "" has a name of 0 characters',
    'the tool "twice" is listed twice',
    'the schema of the tool "wide" has more than 20000 characters',
  ]);
  const many = catalogOf(
    Array.from({ length: 300 }, (_, index) => ({ name: `t${index}`, inputSchema: {} })),
    1,
  );
  assert.equal(many.tools.length, 200);
  assert.deepEqual(many.leftOut, ["it lists 300 tools; the limit is 200"]);
});

test("a cached list is read again, and a damaged one counts as none", (t) => {
  const home = mkdtempSync(join(tmpdir(), "pagurus-mcp-"));
  t.after(() => rmSync(home, { recursive: true }));
  assert.equal(readCatalog(home, "k"), undefined);
  const catalog = catalogOf([{ name: "a", inputSchema: schema }], 7);
  writeCatalog(home, "k", catalog);
  assert.deepEqual(readCatalog(home, "k"), catalog);
  writeFileSync(join(home, "cache/mcp/k.json"), '{"at": 1, "tools": [{"name": 1}, 2, {"name": "b"}]}');
  assert.deepEqual(readCatalog(home, "k")?.tools, []);
  writeFileSync(join(home, "cache/mcp/k.json"), "{");
  assert.equal(readCatalog(home, "k"), undefined);
});

test("another program has another list; selecting tools and disabling the server keep it", () => {
  const key = catalogKey("s", { command: "a" }, {});
  assert.notEqual(catalogKey("s", { command: "b" }, {}), key);
  assert.notEqual(catalogKey("t", { command: "a" }, {}), key);
  assert.equal(
    catalogKey("s", { command: "a", enabled: false, permission: "allow", tools: { deny: ["x"] } }, {}),
    key,
  );
});

test("a list cached by another version or another process gets the same limits as a new one", (t) => {
  const home = mkdtempSync(join(tmpdir(), "pagurus-mcp-"));
  t.after(() => rmSync(home, { recursive: true }));
  writeCatalog(home, "k", catalogOf([], 1));
  const tool = { name: "a", description: "", parameters: { type: "object" } };
  const kept = {
    at: 1,
    leftOut: ["something", 5],
    tools: [tool, tool, { ...tool, name: "b", parameters: { type: 7, required: 1 } }],
  };
  writeFileSync(join(home, "cache/mcp/k.json"), JSON.stringify(kept));
  const read = readCatalog(home, "k");
  assert.deepEqual(
    read?.tools.map(({ name, parameters }) => ({ name, parameters })),
    [{ name: "a", parameters: { type: "object", properties: {} } }],
  );
  assert.deepEqual(read?.leftOut, [
    "something",
    'the tool "a" is listed twice',
    'the schema of the tool "b" is not that of an object',
  ]);
});

test("reasons for omissions are kept in the cached list too", (t) => {
  const home = mkdtempSync(join(tmpdir(), "pagurus-mcp-"));
  t.after(() => rmSync(home, { recursive: true }));
  const catalog = catalogOf([{ name: "" }, { name: "a", inputSchema: {} }], 1, false);
  writeCatalog(home, "k", catalog);
  assert.deepEqual(readCatalog(home, "k"), catalog);
  assert.equal(catalog.leftOut.length, 2);
});

test("of two tools with one name the same one is kept, whatever their order", () => {
  const tools = ["one", "two"].map((description) => ({ name: "a", description, inputSchema: schema }));
  assert.deepEqual(catalogOf(tools, 1), catalogOf(tools.toReversed(), 1));
});

test("a tool that differs in key order alone keeps its bytes", () => {
  const listed = (properties: object): Parameters<typeof catalogOf>[0] => [
    { name: "a", inputSchema: { type: "object", properties } },
    { name: "b", inputSchema: { type: "object", properties: { only: {} } } },
  ];
  const before = catalogOf(listed({ x: { type: "string", title: "X" }, y: {} }), 1);
  const again = keptBytes(before, catalogOf(listed({ y: {}, x: { title: "X", type: "string" } }), 2));
  assert.equal(JSON.stringify(again.tools), JSON.stringify(before.tools));
  assert.equal(again.at, 2);
  const other = keptBytes(before, catalogOf(listed({ y: {}, x: { title: "Y", type: "string" } }), 2));
  assert.notEqual(JSON.stringify(other.tools[0]), JSON.stringify(before.tools[0]));
});

test("descriptions are cut between characters, and half characters are removed", () => {
  const [tool, half] = catalogOf(
    [
      { name: "a", inputSchema: {}, description: `${"x".repeat(3_999)}😀😀` },
      { name: "b", inputSchema: {}, description: "\ud83d" },
    ],
    1,
  ).tools;
  assert.ok(tool?.description.isWellFormed());
  assert.equal(tool?.description, `${"x".repeat(3_999)}…`);
  assert.equal(half?.description, "\ufffd");
});

test("an address or a program named by the environment is part of a list's key, a token is not", () => {
  const url = { url: "${BASE:-http://a}/mcp", headers: { Authorization: "Bearer ${TOKEN}" } };
  const key = catalogKey("s", url, { BASE: "http://a", TOKEN: "1" });
  assert.equal(catalogKey("s", url, { TOKEN: "2" }), key);
  assert.notEqual(catalogKey("s", url, { BASE: "http://b", TOKEN: "1" }), key);
  const program = { command: "node", args: ["${SERVER}"] };
  assert.notEqual(catalogKey("s", program, { SERVER: "x" }), catalogKey("s", program, { SERVER: "y" }));
  assert.equal(catalogKey("s", program, {}), catalogKey("s", program, {}));
});

test("a program inside the host's working directory has its own list for that folder", (t) => {
  const folders = ["a", "b"].map(() => mkdtempSync(join(tmpdir(), "pagurus-mcp-")));
  t.after(() => folders.forEach((folder) => rmSync(folder, { recursive: true })));
  for (const folder of folders) writeFileSync(join(folder, "server.js"), "");
  const keys = (args: string[], cwd?: string): string[] =>
    folders.map((folder) => {
      const before = t.mock.method(process, "cwd", () => folder);
      const key = catalogKey("s", { command: "node", args, ...(cwd === undefined ? {} : { cwd }) }, {});
      before.mock.restore();
      return key;
    });
  const [here, there] = keys(["server.js"]);
  assert.notEqual(here, there);
  assert.equal(new Set(keys(["-y", "some-package"])).size, 1);
  assert.equal(new Set(keys(["server.js"], "/srv")).size, 1);
});

test("a tool that its server declares read-only stays so in the cached list, so that its calls run in parallel (finding F1)", (t) => {
  const home = mkdtempSync(join(tmpdir(), "pagurus-mcp-"));
  t.after(() => rmSync(home, { recursive: true }));
  const listed = [
    { name: "look", inputSchema: {}, annotations: { readOnlyHint: true } },
    { name: "move", inputSchema: {}, annotations: { readOnlyHint: false } },
  ];
  writeCatalog(home, "k", catalogOf(listed, 1));
  const kept = readCatalog(home, "k")?.tools.map(({ name, onlyReads }) => [name, onlyReads]);
  assert.deepEqual(kept, [
    ["look", true],
    ["move", undefined],
  ]);
});

test("an element of the list that is no tool costs itself alone and is named", () => {
  const { tools, leftOut } = catalogOf(
    [
      { name: "echo", inputSchema: schema },
      { name: "none" },
      { name: "text", inputSchema: "x" },
      { name: "array", inputSchema: { type: "array" } },
      { name: "open", inputSchema: { anyOf: [{ properties: { b: {} } }] }, description: null, title: 5 },
    ],
    1,
  );
  assert.deepEqual(
    tools.map(({ name, description }) => [name, description]),
    [
      ["echo", "echo"],
      ["open", "open"],
    ],
  );
  assert.deepEqual(leftOut, [
    'the schema of the tool "array" is not that of an object',
    'the schema of the tool "none" is missing',
    'the schema of the tool "text" is no object',
  ]);
  const nameless = [{ description: "a thing", inputSchema: schema }, { name: 5 }, null, { name: {} }];
  assert.deepEqual(catalogOf([...nameless, { name: "echo", inputSchema: schema }], 1), {
    tools: [{ name: "echo", description: "echo", parameters: tools[0]?.parameters }],
    leftOut: [
      "a tool has no name",
      "a tool has the number 5 as its name",
      'a tool with the description "a thing" has no name',
      "an element of its list of tools is no object",
    ],
    at: 1,
  });
});
