/** Model endpoints that answer at once, in their own process, so that they share no event loop with what is measured. */
import { startServer } from "../../test/servers/server.ts";

const script = (): { text: string } => ({ text: "The tide is in." });

const [messages, responses] = await Promise.all([
  startServer({ protocol: "anthropic-messages", script, models: ["claude-opus-5-5"] }),
  startServer({ protocol: "openai-responses", script }),
]);
// Requests that only a test would read are not kept.
setInterval(() => {
  for (const { requests } of [messages, responses]) requests.length = 0;
}, 1_000).unref();
process.on("disconnect", () => process.exit());
process.send?.({ messages: messages.url, responses: responses.url });
