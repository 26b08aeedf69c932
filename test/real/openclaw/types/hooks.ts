/** Hooks, in both directions: the events and contexts that a plugin gets, and the answers of it that the host reads. */
import type { ForeignAnswers } from "../../../../packages/host/src/plugin/compat/foreign-answers.ts";
import type {
  ForeignContext,
  ForeignEvent,
  ForeignHookName,
} from "../../../../packages/host/src/plugin/compat/foreign-events.ts";
import type { NotCalled, OfAnswers, OfContexts, OfEvents } from "./declared-hooks.ts";
import type { Drift, None, Undeclared } from "./drift.ts";
import type { TheirHandler, TheirHookName } from "./openclaw.ts";

type Called = Extract<TheirHookName, ForeignHookName>;
type TheirEvent<K extends TheirHookName> = Parameters<TheirHandler<K>>[0];
type TheirContext<K extends TheirHookName> = Parameters<TheirHandler<K>>[1];
type TheirAnswer<K extends TheirHookName> = Exclude<Awaited<ReturnType<TheirHandler<K>>>, void>;
type OurAnswer<K> = K extends keyof ForeignAnswers ? ForeignAnswers[K] : never;

/** The fields of messages are compared with the engine contract's. */
type Events = {
  [K in Called]: Drift<ForeignEvent<K>, TheirEvent<K>, `${K}()`, "given", "messages" | "metadata">;
}[Called];
type Contexts = {
  [K in Called]: Drift<ForeignContext<K>, TheirContext<K>, `${K}(,)`, "given">;
}[Called];
type Answers = {
  [K in Called]: [TheirAnswer<K>] extends [never]
    ? never
    : [OurAnswer<K>] extends [never]
      ? `${K} =>: not read`
      : Drift<TheirAnswer<K>, OurAnswer<K>, `${K} =>`, "answered">;
}[Called];

export type HookNames = None<Undeclared<Exclude<TheirHookName, Called>, NotCalled>>;
export type OwnHookNames = None<Undeclared<Exclude<ForeignHookName, Called>, never>>;
export type HookEvents = None<Undeclared<Events, OfEvents>>;
export type HookContexts = None<Undeclared<Contexts, OfContexts>>;
export type HookAnswers = None<Undeclared<Answers, OfAnswers>>;
