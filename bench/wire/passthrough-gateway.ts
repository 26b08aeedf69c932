/**
 * The gateway in its own process, in front of the endpoint that its argument names: a route for each of as many harnesses as
 * its second argument, with a pass-through governor.
 */
import { createModelGateway } from "../../packages/gateway/src/gateway.ts";
import { directAgents, directUpstream } from "../../packages/gateway/src/upstream/direct.ts";
import { WrapObserver } from "../../packages/gateway/src/wrap/observer.ts";
import { silentLogger } from "../../packages/core/src/platform/log.ts";
import { keepYoungGenerationSmall } from "../../packages/core/src/platform/heap-growth.ts";

const [, , endpoint = "", routes = "1"] = process.argv;
const upstream = directUpstream({ baseUrl: `${endpoint}/v1`, label: "bench", agents: directAgents() });
const gateway = createModelGateway({
  logger: silentLogger,
  resolve: () => {
    throw new Error("No model is asked for by name here.");
  },
});
const opened = await Promise.all(
  Array.from({ length: Number(routes) }, (_, index) =>
    gateway.openRoute({
      api: "openai-responses",
      governor: new WrapObserver(upstream),
      sessionKey: `session-${index}`,
      runtime: "bench",
    }),
  ),
);
// As in the command once the host is loaded.
keepYoungGenerationSmall();
process.send?.({ baseUrl: opened[0]?.baseUrl, headers: opened.map(({ headers }) => headers) });
process.on("disconnect", () => process.exit());
