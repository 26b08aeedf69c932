/**
 * The first rows of a session's line of time, asked for before the page is rendered: the server reads them while the browser paints.
 * Imported first by the page.
 */
import { pageRoute } from "./page-route.ts";
import { server } from "./server-calls.ts";
import { login } from "./sign-in.ts";

type Answer = ReturnType<typeof server.inspect.timeline>;

/** A few screens: they are there before a long session is read. */
export const FIRST_ITEMS = 60;

let early: { agent: string; key: string; answer: Answer } | undefined;

const route = pageRoute.value;
if (route.page === "session" && login.value !== undefined) {
  const { agent, key } = route;
  const answer = server.inspect.timeline(key, { agent, limit: FIRST_ITEMS, atOnce: true });
  // Whoever takes it gets the error.
  answer.catch(() => undefined);
  early = { agent, key, answer };
}

/** The answer that was asked for early for this session, once; undefined for another session. */
export function takeEarly(agent: string, key: string): Answer | undefined {
  const found = early?.agent === agent && early.key === key ? early.answer : undefined;
  early = undefined;
  return found;
}
