/** Redirects of a model's endpoint and of an MCP server, and TLS failures: no byte of a request reaches another origin. */
import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { toPagurusError } from "../../packages/contract/src/errors.ts";
import { Connection } from "../../packages/host/src/mcp/client/mcp-connection.ts";
import { discover } from "../../packages/core/src/model/discover.ts";
import { API, collect, KEY, modelAt, PROTOCOLS } from "./calling.ts";
import { CERTIFICATE, PRIVATE_KEY } from "../servers/certificate.ts";
import { FULL } from "../runner/short-form.ts";

const STATUSES = FULL ? [300, 301, 302, 303, 305, 307, 308] : [302, 307];
const SECRET = "custom-secret-0123456789";

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("a redirect of an endpoint", () => {
  /** Requests at the other origin. */
  const arrived: string[] = [];
  let asked = 0;
  let status = 307;
  let target = "";
  let endpoint = "";
  const other = createServer((request, response) => {
    arrived.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`);
    response.end();
  });
  const redirecting = createServer((request, response) => {
    asked += 1;
    request.resume();
    response.writeHead(status, { location: `${target}/elsewhere?token=abc` });
    response.end();
  });
  before(async () => {
    target = await listening(other);
    endpoint = await listening(redirecting);
  });
  after(() => {
    for (const server of [other, redirecting]) {
      server.close();
      server.closeAllConnections();
    }
  });

  for (const protocol of PROTOCOLS) {
    it(`${API[protocol]}: key, custom headers and body stay at the configured origin (finding F3)`, async () => {
      const headers = { "x-custom-token": SECRET, authorization: `Token ${SECRET}` };
      for (const provider of [{}, { headers }]) {
        for (status of STATUSES) {
          asked = 0;
          const call = collect(modelAt(endpoint, protocol, { provider }), { retry: { baseMs: 1 } });
          const error = toPagurusError(await call.catch((thrown: unknown) => thrown));
          assert.equal(error.code, "model_unavailable");
          assert.ok(error.message.includes(`redirects to ${target} (HTTP ${status})`), error.message);
          assert.match(error.message, /models\.providers\.local\.baseUrl/);
          assert.equal(error.details["redirect"], target);
          for (const secret of [KEY, SECRET, "token=abc"]) assert.ok(!error.message.includes(secret));
          assert.equal(asked, 1, "a redirect is no failure to retry");
        }
      }
      assert.deepEqual(arrived, []);
    });
  }

  it("is not followed by an MCP server's client, and the error names its target (finding F3)", async () => {
    for (const kind of ["http", "sse"] as const) {
      for (status of STATUSES) {
        const error = await connectTo(kind, `${endpoint}/mcp`).then(
          () => undefined,
          (thrown: unknown) => toPagurusError(thrown),
        );
        assert.ok(error, `${kind} ${status} was followed`);
        assert.ok(error.message.includes(`redirects to ${target}`), error.message);
      }
    }
    assert.deepEqual(arrived, []);
  });

  it("is not followed by the discovery of local servers (finding F3)", async () => {
    status = 307;
    const config = { models: { providers: { ollama: { baseUrl: endpoint } } } };
    await discover(config, { PATH: "" }, { probe: true, timeoutMs: 2_000 });
    assert.deepEqual(arrived, []);
  });
});

function connectTo(kind: "http" | "sse", url: string): Promise<unknown> {
  const oauth = { enabled: true, grant: "authorization_code" as const, algorithm: "ES256" };
  const transport = { kind, url: new URL(url), headers: { authorization: SECRET }, oauth };
  const settings = {
    transport,
    timeoutMs: 60_000,
    longestCallMs: 60_000,
    connectTimeoutMs: 60_000,
    secrets: [SECRET],
  };
  const asked = async (): Promise<{ action: "decline" }> => ({ action: "decline" });
  const events = { toolsChanged: () => undefined, lost: () => undefined, asked };
  return Connection.open(settings, events, new AbortController().signal);
}

describe("a failure of TLS", () => {
  it("is reported as such, once, with the setting to change (finding F3)", async () => {
    const secure = createTlsServer({ key: PRIVATE_KEY, cert: CERTIFICATE }, (_request, response) =>
      response.end(),
    );
    const plain = createServer((_request, response) => response.end());
    const secureUrl = (await listening(secure)).replace("http:", "https:");
    const plainUrl = (await listening(plain)).replace("http:", "https:");
    try {
      const cases: [string, RegExp][] = [
        [secureUrl, /has a certificate that is not trusted \(\w+\).*NODE_EXTRA_CA_CERTS/],
        [plainUrl, /does not speak TLS \(\w+\).*must begin with http:\/\//],
      ];
      for (const [url, words] of cases) {
        const call = collect(modelAt(url, "openai-completions"), { retry: { baseMs: 1 } });
        const error = toPagurusError(await call.catch((thrown: unknown) => thrown));
        assert.equal(error.code, "model_unavailable");
        assert.match(error.message, words);
      }
    } finally {
      for (const server of [secure, plain]) {
        server.close();
        server.closeAllConnections();
      }
    }
  });
});
