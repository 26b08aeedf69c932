import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { addressKind, hostKind } from "../../packages/host/src/tool/web/address.ts";
import { httpGet } from "../../packages/host/src/tool/web/http-get.ts";
import { htmlText } from "../../packages/host/src/tool/web/html-text.ts";
import { fixture, textOf } from "./fixture.ts";

async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("addresses are classified in every notation", () => {
  const table: Record<string, string[]> = {
    forbidden: [
      "169.254.169.254",
      "[fe80::1]",
      "[::ffff:169.254.169.254]",
      "[64:ff9b::a9fe:a9fe]",
      "[fd00:ec2::254]",
      "255.255.255.255",
      "metadata.google.internal",
    ],
    local: [
      "127.0.0.1",
      "localhost",
      "x.localhost.",
      "0.0.0.0",
      "[::1]",
      "[::]",
      "[::ffff:7f00:1]",
      "10.1.2.3",
      "192.168.0.1",
      "172.31.255.255",
      "[fd12::1]",
      "2130706433",
      "0x7f.1",
    ],
    public: ["example.com", "8.8.8.8", "172.32.0.1", "[2606:4700::1]", "localhost.example.com"],
  };
  for (const [kind, hosts] of Object.entries(table)) {
    for (const host of hosts) assert.equal(hostKind(new URL(`http://${host}/`).hostname), kind, host);
  }
  assert.equal(addressKind("::ffff:10.0.0.1"), "local");
});

test("an IPv6 address with an IPv4 address inside has its kind, and only global unicast is public (finding 8.7)", () => {
  const hex = (ipv4: string): string => {
    const bytes = ipv4.split(".").map((byte) => Number(byte).toString(16).padStart(2, "0"));
    return `${bytes[0]}${bytes[1]}:${bytes[2]}${bytes[3]}`;
  };
  const forms: ((ipv4: string) => string)[] = [
    (ipv4) => `::${ipv4}`,
    (ipv4) => `::ffff:${ipv4}`,
    (ipv4) => `::ffff:0:${ipv4}`,
    (ipv4) => `0:0:0:0:ffff:0:${hex(ipv4)}`,
    (ipv4) => `64:ff9b::${ipv4}`,
    (ipv4) => `2002:${hex(ipv4)}::1`,
  ];
  const kinds = {
    "10.0.0.1": "local",
    "127.0.0.1": "local",
    "169.254.169.254": "forbidden",
    "8.8.8.8": "public",
  };
  for (const form of forms)
    for (const [ipv4, kind] of Object.entries(kinds)) assert.equal(addressKind(form(ipv4)), kind, form(ipv4));
  for (const machine of ["2600:1::5efe:10.0.0.1", "2600:1::200:5efe:192.168.1.1"])
    assert.equal(addressKind(machine), "local", machine);
  const others =
    "64:ff9b:1::a00:1 64:ff9b:1:ffff::808:808 2001:0:1::f5ff:fffe 2001:db8::1 3fff::1 fd00::5efe:8.8.8.8 100::1 4000::1 fec0::1 0:1::1".split(
      " ",
    );
  for (const address of others) assert.equal(addressKind(address), "local", address);
  for (const address of ["2606:4700::1", "2a00:1450::8", "2600:1::5efe:8.8.8.8"])
    assert.equal(addressKind(address), "public", address);
});

test("schemes other than http, credentials and metadata addresses are refused in every mode", async (t) => {
  const { call } = fixture(t);
  for (const [url, message] of [
    ["file:///etc/passwd", /Only http and https/],
    ["ftp://a.example/", /Only http and https/],
    ["javascript:alert(1)", /Only http and https/],
    ["no url", /not an absolute URL/],
    ["http://user:pass@a.example/", /user name or password/],
    ["http://169.254.169.254/latest/meta-data", /metadata address/],
  ] as const) {
    const outcome = await call("web_fetch", { url });
    assert.equal(outcome.isError, true);
    assert.match(textOf(outcome), message);
  }
});

test("loopback needs permission", async (t) => {
  let requests = 0;
  const base = await serve(t, (_request, response) => {
    requests += 1;
    response.end("hello");
  });
  const denied = fixture(t, { permission: { mode: "deny", allow: [{ tool: "web_fetch" }] } });
  assert.match(textOf(await denied.call("web_fetch", { url: base })), /Permission denied/);
  assert.equal(requests, 0);
  const allowed = fixture(t, { permission: { mode: "deny", allow: [{ tool: "web_fetch", match: base }] } });
  assert.equal(textOf(await allowed.call("web_fetch", { url: base })), "hello");
});

test("a name that resolves to this machine is refused at the connection", async (t) => {
  const base = await serve(t, (_request, response) => response.end("secret"));
  const url = new URL(base.replace("127.0.0.1", "localhost"));
  const signal = new AbortController().signal;
  await assert.rejects(
    httpGet({ url, local: false, mostBytes: 100, signal }),
    /private or link-local network/,
  );
});

test("pages become text; encodings and charsets are undone; errors carry the status", async (t) => {
  const base = await serve(t, (request, response) => {
    const html = "<html><body><h1>Title</h1><p>Gr\u00fc\u00dfe</p></body></html>";
    if (request.url === "/gzip") {
      response.writeHead(200, { "content-type": "text/html; charset=utf-8", "content-encoding": "gzip" });
      response.end(gzipSync(html));
    } else if (request.url === "/br") {
      response.writeHead(200, { "content-type": "text/html", "content-encoding": "br" });
      response.end(brotliCompressSync(html));
    } else if (request.url === "/latin1") {
      response.writeHead(200, { "content-type": "text/plain; charset=iso-8859-1" });
      response.end(Buffer.from("Gr\u00fc\u00dfe", "latin1"));
    } else if (request.url === "/image") {
      response.writeHead(200, { "content-type": "image/png" });
      response.end("x");
    } else if (request.url === "/broken") {
      response.writeHead(200, { "content-type": "text/html", "content-encoding": "gzip" });
      response.end("this is not gzip");
    } else {
      response.writeHead(404, { "content-type": "text/plain" });
      response.end("nothing here");
    }
  });
  const { call } = fixture(t);
  const get = async (path: string) => textOf(await call("web_fetch", { url: base + path }));
  assert.equal(await get("/gzip"), "# Title\n\nGr\u00fc\u00dfe");
  assert.equal(await get("/br"), "# Title\n\nGr\u00fc\u00dfe");
  assert.equal(await get("/latin1"), "Gr\u00fc\u00dfe");
  assert.match(await get("/image"), /is image\/png; only text/);
  assert.match(await get("/broken"), /cannot be fetched/);
  assert.match(await get("/none"), /status 404\.\nnothing here/);
});

test("redirects stay on the host; another host is named instead of followed", async (t) => {
  const base = await serve(t, (request, response) => {
    const to: Record<string, string> = {
      "/a": "/b",
      "/loop": "/loop",
      "/out": "http://other.example/x",
      "/meta": "http://169.254.169.254/",
      "/file": "file:///etc/passwd",
    };
    const location = to[request.url ?? ""];
    if (location === undefined) response.end("arrived");
    else response.writeHead(302, { location }).end();
  });
  const { call } = fixture(t);
  const get = async (path: string) => textOf(await call("web_fetch", { url: base + path }));
  assert.equal(await get("/a"), "arrived");
  assert.match(await get("/loop"), /redirects more than 5 times/);
  assert.match(
    await get("/out"),
    /redirects to another host: call web_fetch with http:\/\/other\.example\/x/,
  );
  assert.match(await get("/meta"), /metadata address/);
  assert.match(await get("/file"), /Only http and https/);
});

test("a long page is returned in parts and an endless one is cut", async (t) => {
  const base = await serve(t, (request, response) => {
    response.writeHead(200, { "content-type": "text/plain" });
    if (request.url === "/long") {
      response.end("0123456789".repeat(5_000));
      return;
    }
    const more = (): void => {
      while (!response.destroyed && response.write("x".repeat(64 * 1024)));
    };
    response.on("drain", more);
    more();
  });
  const { call } = fixture(t);
  const first = textOf(await call("web_fetch", { url: `${base}/long` }));
  assert.match(first, /\[characters 0-40000 of 50000; continue with offset 40000\]$/);
  assert.equal(textOf(await call("web_fetch", { url: `${base}/long`, offset: 49_990 })), "0123456789");
  assert.match(textOf(await call("web_fetch", { url: `${base}/endless` })), /longer than 1048576 bytes/);
});

test("an abort ends a fetch that hangs", async (t) => {
  const controller = new AbortController();
  const base = await serve(t, () => controller.abort());
  const { call } = fixture(t);
  assert.match(textOf(await call("web_fetch", { url: base }, controller.signal)), /Aborted/);
});

test("html keeps headings, lists, links and code, and drops scripts and styles", () => {
  const html = `<!doctype html><head><title>T &amp; U</title><style>p{}</style><script>if (a < b) x("</p>")</script></head>
    <body><!-- no --><h2>Head</h2><p>One <b>two</b>&nbsp;three<br>four</p>
    <ul><li>first</li><li><a href="/x?a=1&amp;b=2">second</a></li></ul>
    <pre>a &lt; b
  c</pre><table><tr><td>1</td><td>2</td></tr></table><a href="#top">up</a> 3 < 4 &unknown; &#x41;&#66;</body>`;
  const text = htmlText(html, new URL("https://a.example/dir/"));
  assert.equal(
    text,
    [
      "T & U",
      "## Head",
      "One two three\nfour",
      "- first\n- [second](https://a.example/x?a=1&b=2)",
      "```\na < b\n  c\n```",
      "| 1 | 2",
      "up 3 < 4 &unknown; AB",
    ].join("\n\n"),
  );
});

test("malicious html takes linear time and does not throw", () => {
  const base = new URL("https://a.example/");
  for (const piece of ['<a href="', "<script>", "<!--", "</", "<", "&#9999999;", "<pre>", "<a href=x>"]) {
    assert.equal(typeof htmlText(piece.repeat(100_000), base), "string");
  }
});
