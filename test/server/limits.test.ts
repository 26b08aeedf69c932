import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { allowsScope, allowsSession, matches } from "../../packages/core/src/authority/authority.ts";
import { SCOPES } from "../../packages/contract/src/host/authority.ts";
import { originProblem } from "../../packages/server/src/access/request-origin.ts";
import { RateLimits } from "../../packages/server/src/access/rate-limits.ts";
import { openApiDocument } from "../../packages/server/src/api/openapi.ts";
import { eventRoutes } from "../../packages/server/src/api/event-routes.ts";
import type { IncomingMessage } from "node:http";

describe("a pattern of session keys", () => {
  it("matches like a regular expression in which * is .*", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "-", "*"), maxLength: 8 });
    fc.assert(
      fc.property(
        text,
        fc.string({ unit: fc.constantFrom("a", "b", "-"), maxLength: 10 }),
        (pattern, key) => {
          const expected = new RegExp(`^${pattern.replaceAll("*", ".*")}$`).test(key);
          assert.equal(allowsSession({ sessions: pattern }, key), expected);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

describe("a pattern of a caller", () => {
  it("allows another one where it matches all that the other matches", () => {
    const pattern = fc.string({ unit: fc.constantFrom("a", "b", "*"), maxLength: 6 });
    // A letter that is in no pattern shows what a * matches beside the letters of both.
    const parts = fc.array(fc.constantFrom("", "a", "b", "ab", "c"), { minLength: 6, maxLength: 6 });
    fc.assert(
      fc.property(pattern, pattern, parts, (own, asked, words) => {
        const key = asked.split("*").reduce((one, other, at) => `${one}${words[at] ?? ""}${other}`);
        if (matches(own, asked)) assert.ok(allowsSession({ sessions: own }, key));
        const other = asked.replaceAll("*", "c");
        assert.equal(matches(own, asked), allowsSession({ sessions: own }, other));
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("a scope", () => {
  it("includes itself and the ones before it", () => {
    for (const [have, scope] of SCOPES.entries())
      for (const [need, needed] of SCOPES.entries()) assert.equal(allowsScope(scope, needed), have >= need);
  });
});

describe("the limits of a token", () => {
  it("let a burst pass, then ask to wait, and count streams of each token alone", () => {
    const limits = new RateLimits({ perSecond: 0.001, burst: 3, openStreams: 1 });
    assert.deepEqual(
      [1, 2, 3].map(() => limits.take("a")),
      [0, 0, 0],
    );
    assert.ok(limits.take("a") > 0);
    assert.equal(limits.take("b"), 0);
    const end = limits.stream("a");
    assert.ok(end);
    assert.equal(limits.stream("a"), undefined);
    assert.ok(limits.stream("b"));
    end();
    end();
    assert.ok(limits.stream("a"));
    assert.equal(limits.stream("a"), undefined);
  });
});

describe("the Host and Origin of a request", () => {
  const problem = (headers: Record<string, string>, anyAddress = false): boolean =>
    originProblem({ headers } as unknown as IncomingMessage, {
      hosts: new Set(["pagurus.example"]),
      origins: new Set(["https://app.example"]),
      anyAddress,
    }) !== undefined;

  it("are the loopback's, the configured ones, or an address where the server listens on one", () => {
    assert.equal(problem({ host: "127.0.0.1:7117" }), false);
    assert.equal(problem({ host: "[::1]:7117" }), false);
    assert.equal(problem({ host: "Pagurus.example" }), false);
    assert.equal(problem({ host: "other.example" }), true);
    assert.equal(problem({}), true);
    assert.equal(problem({ host: "192.0.2.7:7117" }), true);
    assert.equal(problem({ host: "192.0.2.7:7117" }, true), false);
    assert.equal(problem({ host: "rebound.example" }, true), true);
    assert.equal(problem({ host: "127.0.0.1:7117", origin: "https://app.example" }), false);
    assert.equal(problem({ host: "127.0.0.1:7117", origin: "http://127.0.0.1:7117" }), false);
    assert.equal(problem({ host: "127.0.0.1:7117", origin: "http://127.0.0.1:8000" }), true);
  });
});

describe("the OpenAPI document", () => {
  it("has each parameter of a path, and marks what is optional", () => {
    const document = openApiDocument(eventRoutes, "1") as {
      paths: Record<string, { get: { parameters: { name: string; required: boolean }[] } }>;
    };
    const parameters = document.paths["/api/v1/sessions/{key}/events"]?.get.parameters ?? [];
    assert.deepEqual(
      parameters.map(({ name, required }) => [name, required]),
      [
        ["key", true],
        ["agent", false],
        ["after", false],
        ["until", false],
      ],
    );
  });
});
