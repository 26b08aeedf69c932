/** `wire` and the suite of strange servers: the program gets the bytes as they came, and the record is the right result. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import type { WireAnswer } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { createModelGateway } from "../../../packages/gateway/src/gateway.ts";
import { directUpstream } from "../../../packages/gateway/src/upstream/direct.ts";
import { strangeAnswers } from "../../../packages/testkit/src/index.ts";
import {
  STRANGE_PROTOCOLS,
  type StrangeAnswer,
} from "../../../packages/testkit/src/strange-servers/strange-answer.ts";
import { mustBeRight } from "../../../packages/testkit/src/strange-servers/strange-suite.ts";
import { LogSink } from "../../gateway/passthrough-setting.ts";
import { TURNS } from "../../gateway/passthrough-traffic.ts";
import { everyNth } from "../../runner/short-form.ts";
import { until } from "../../runner/until.ts";
import { apiOf, isComparable, wireResultOf } from "./reading.ts";

for (const protocol of STRANGE_PROTOCOLS)
  describe(`wire in front of a strange server of ${protocol}`, () => {
    const answers = strangeAnswers().filter((answer) => answer.protocol === protocol && isComparable(answer));

    it("passes each answer byte for byte, and records its right result", async () => {
      const api = apiOf(protocol);
      let current: StrangeAnswer | undefined;
      const server = createServer((request, response) => {
        request.resume().once("end", () => {
          response.writeHead(current?.status ?? 500, current?.headers).end(current?.body);
        });
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const { port } = server.address() as AddressInfo;
      const seen: WireAnswer[] = [];
      const gateway = createModelGateway({
        logger: new LogSink().logger(),
        resolve: () => assert.fail("no model is asked for by name"),
        capture: undefined,
      });
      const upstream = directUpstream({ baseUrl: `http://127.0.0.1:${port}`, label: "strange" });
      const route = await gateway.openRoute({
        api,
        sessionKey: "main",
        runtime: "test",
        governor: {
          main: async () => undefined,
          compaction: async () => undefined,
          upstream: () => upstream,
          sent: () => undefined,
          answered: (_request, answer) => void seen.push(answer),
        },
      });
      const { path, body } = TURNS[api];
      const bare = path.replace(/^\/v1(?:beta)?(?=\/)/, "");
      const problems: string[] = [];
      try {
        for (const answer of everyNth(answers, 3)) {
          current = answer;
          seen.length = 0;
          const response = await fetch(`${route.baseUrl}${bare}`, {
            method: "POST",
            headers: { "content-type": "application/json", ...route.headers },
            body: new Uint8Array(body),
          });
          const got = await response.text();
          assert.equal(response.status, answer.status, answer.id);
          assert.equal(got, answer.body.replace(/^\uFEFF/, ""), answer.id);
          await until(() => seen.length > 0);
          try {
            mustBeRight(answer.right, wireResultOf(seen[0] ?? assert.fail()));
          } catch (error) {
            problems.push(`${answer.id}: ${String(error)}`);
          }
        }
        assert.deepEqual(problems, []);
      } finally {
        await gateway.close();
        server.closeAllConnections();
        server.close();
      }
    });
  });
