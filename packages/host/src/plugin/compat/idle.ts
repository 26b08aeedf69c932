/** Registrations of OpenClaw's api that are accepted without effect here, and their names in reports. */
import { RecentMap } from "@pagurus/core/data/recent-map";
import { recordOf } from "@pagurus/core/data/record-fields";

/** Records a registration that nothing here uses. */
export type NoteIdle = (what: string) => void;

const REGISTRATION = /^register[A-Z]/;
/** Members that register something of another kind. */
const OTHERS = new Set(["onConversationBindingResolved", "enqueueNextTurnInjection"]);

/** A member that accepts any argument; undefined for a name that registers nothing. */
export function idleRegistration(name: string, note: NoteIdle): ((...given: unknown[]) => void) | undefined {
  if (!REGISTRATION.test(name) && !OTHERS.has(name)) return undefined;
  return (...given) => note(nameOf(name, given));
}

const REGISTRATION_WORDS: Readonly<Record<string, string>> = {
  registerHttpRoute: "HTTP route",
  registerHttpHandler: "HTTP handler",
  registerProvider: "model provider",
  registerCliBackend: "command line backend",
  onConversationBindingResolved: "listener for conversation bindings",
  enqueueNextTurnInjection: "injection into the next turn",
};

function nameOf(member: string, given: readonly unknown[]): string {
  const what = REGISTRATION_WORDS[member] ?? wordsOf(member.replace(/^register/, ""));
  const label = given.map(labelOf).find((found) => found !== undefined);
  return label === undefined ? what : `${what} ${label}`;
}

function wordsOf(camel: string): string {
  return camel
    .replaceAll(/([a-z\d])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .trim();
}

const MAX_LABEL = 80;

/** Label of the registration, from its author: short and on one line. */
function labelOf(value: unknown): string | undefined {
  if (typeof value === "string" && value !== "") return value.replaceAll(/\s+/g, " ").slice(0, MAX_LABEL);
  if (typeof value !== "object" || value === null) return undefined;
  const { id, name, path, command, plugin, provider } = recordOf(value);
  return [id, name, path, command].map(textOf).find(isText) ?? labelOf(plugin) ?? labelOf(provider);
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? labelOf(value) : undefined;
}

function isText(value: string | undefined): value is string {
  return value !== undefined;
}

type Members = Record<string, unknown>;

/** OpenClaw's grouped members, which are accepted without effect. */
export function idleGroups(note: NoteIdle): { session: Members; agent: Members } {
  const idle =
    (what: string, answer?: unknown) =>
    (...given: unknown[]): unknown => {
      const label = given.map(labelOf).find((found) => found !== undefined);
      note(label === undefined ? what : `${what} ${label}`);
      return answer;
    };
  const later = (what: string): unknown => idle(what, Promise.resolve(undefined));
  return {
    session: {
      state: { registerSessionExtension: idle("session extension") },
      workflow: {
        enqueueNextTurnInjection: later("injection into the next turn"),
        registerSessionSchedulerJob: idle("scheduled job"),
        sendSessionAttachment: later("session attachment"),
        scheduleSessionTurn: later("scheduled turn"),
        unscheduleSessionTurnsByTag: later("scheduled turn"),
      },
      controls: {
        registerSessionAction: idle("session action"),
        registerControlUiDescriptor: idle("control interface part"),
      },
    },
    agent: {
      events: {
        registerAgentEventSubscription: idle("agent event subscription"),
        emitAgentEvent: idle("agent event", { emitted: false }),
      },
    },
  };
}

interface RunData {
  runId: string;
  namespace: string;
  value?: unknown;
  unset?: boolean;
}

/** A plugin's data for a run, kept until it is cleared; the oldest runs are dropped first. */
export function runContexts(): Members {
  const kept = new RecentMap<string, Map<string, unknown>>(256);
  return {
    setRunContext: ({ runId, namespace, value, unset }: RunData): boolean => {
      const run = kept.get(runId) ?? new Map<string, unknown>();
      if (unset === true) run.delete(namespace);
      else run.set(namespace, structuredClone(value));
      kept.set(runId, run);
      return true;
    },
    getRunContext: ({ runId, namespace }: RunData): unknown => kept.get(runId)?.get(namespace),
    clearRunContext: ({ runId, namespace }: Partial<RunData> & { runId: string }): void => {
      if (namespace === undefined) kept.delete(runId);
      else kept.get(runId)?.delete(namespace);
    },
  };
}
