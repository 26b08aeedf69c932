/** The entries of the palette at a place of the page: actions, views, settings, commands, conversations. */
import type { Choices, Command, Session } from "@pagurus/api/types";
import type { Hit } from "../every-agent.ts";
import { go, pageRoute, type PageRoute } from "../page-route.ts";
import { oneLine } from "../plain-text.ts";
import { server } from "../server-calls.ts";
import { mayChat } from "../session-events.ts";
import { motion, setMotion, setTheme, theme } from "../settings/appearance.ts";
import { signOut } from "../sign-in.ts";
import { titleOf } from "../talk/conversation-groups.ts";
import { forComposer, type ForComposer } from "../talk/to-composer.ts";
import type { Entry } from "./match.ts";
import { opened } from "./opened.ts";

/** The session that the page shows, in a conversation or in the inspector. */
interface ShownPlace {
  agent: string;
  key: string;
}

export function shownPlace(route: PageRoute): ShownPlace | undefined {
  return "key" in route ? { agent: route.agent, key: route.key } : undefined;
}

function entry(group: string, label: string, run: () => void, hint?: string): Entry {
  return { id: `${group} ${label}`, group, label, hint, run };
}

/** Puts words or a choice into the input; without an open conversation it begins one. */
function toInput(what: ForComposer): void {
  const route = pageRoute.value;
  if (route.page !== "talk" && route.page !== "home") go({ page: "home" });
  forComposer.value = what;
}

function actionsAt(place: ShownPlace): Entry[] {
  const { agent, key } = place;
  const talk = { page: "talk", ...place } as const;
  const own = mayChat()
    ? [
        entry("Action", "Stop the turn", () => void server.stop(key, { agent }), "Esc"),
        entry("Action", "Compact this conversation", () => void server.compact(key, {}, { agent })),
      ]
    : [];
  return [
    ...own,
    entry("Action", "Look inside the last turn", () => void lookInside(place)),
    entry("View", "Conversation", () => go(talk)),
    entry("View", "Line of time of this conversation", () => go({ page: "session", ...place })),
    entry("View", "Compactions of this conversation", () => go({ page: "compactions", ...place })),
    entry("View", "What would be sent next", () => go({ page: "preview", ...place })),
  ];
}

async function lookInside({ agent, key }: ShownPlace): Promise<void> {
  const { requests } = await server.inspect.requests(key, { agent, limit: 200 });
  const turn = requests.findLast(
    ({ purpose, turnId }) => purpose === undefined && turnId !== undefined,
  )?.turnId;
  if (turn !== undefined) go({ page: "talk", agent, key, turn });
}

function settings(): Entry[] {
  const themes = (["system", "light", "dark"] as const).map((id) =>
    entry(
      "Setting",
      `Theme: ${id === "system" ? "as the system" : id}`,
      () => setTheme(id),
      mark(theme.value === id),
    ),
  );
  const isOff = motion.value === "off";
  return [
    ...themes,
    entry("Setting", isOff ? "Motion: as the system" : "Motion: off", () =>
      setMotion(isOff ? "system" : "off"),
    ),
  ];
}

function mark(isNow: boolean): string | undefined {
  return isNow ? "now" : undefined;
}

/** Actions and views at a place. */
export function placeEntries(route: PageRoute): Entry[] {
  const place = shownPlace(route);
  return [
    entry("Action", "New conversation", () => go({ page: "home" }), "Ctrl+Shift+O"),
    ...(place ? actionsAt(place) : []),
    entry("View", "Board", () => go({ page: "board" })),
    entry("View", "Sessions and search", () => go({ page: "sessions", query: "" }), "inspector"),
  ];
}

/** The entries that are the same at every place. */
export function generalEntries(): Entry[] {
  return [
    entry("Help", "Keys of this page", () => (opened.value = "keys"), "?"),
    ...settings(),
    entry("Action", "Sign out", () => void signOut()),
  ];
}

export function commandEntries(commands: readonly Command[]): Entry[] {
  if (!mayChat()) return [];
  return commands.map(({ name, usage, summary }) => ({
    ...entry("Command", `/${name} ${usage}`.trim(), () => toInput({ text: `/${name} ` }), summary),
    id: `command ${name}`,
  }));
}

/** Choices for the next turns of the conversation that is shown. */
export function choiceEntries({ models, runtimes, modes, thinking }: Choices): Entry[] {
  if (!mayChat()) return [];
  return [
    ...models.map((model) => entry("Setting", `Model: ${model}`, () => toInput({ choose: { model } }))),
    ...runtimes.map(({ id, label }) =>
      entry("Setting", `Agent program: ${label}`, () => toInput({ choose: { runtime: id } })),
    ),
    ...modes.map(({ id, name, says }) =>
      entry("Setting", `Permission: ${name}`, () => toInput({ choose: { permission: id } }), says),
    ),
    ...thinking.map((id) =>
      entry("Setting", `Thinking: ${id}`, () => toInput({ choose: { thinking: id as "off" } })),
    ),
  ];
}

export function sessionEntries(sessions: readonly Session[]): Entry[] {
  return sessions.map(({ agent, key, folder, cwd, ...rest }) => ({
    ...entry(
      "Conversation",
      titleOf({ key, ...rest }),
      () => go({ page: "talk", agent, key }),
      folder ?? cwd,
    ),
    id: `session ${agent} ${key}`,
  }));
}

export function hitEntries(hits: readonly Hit[]): Entry[] {
  return hits.map(({ agent, sessionKey: key, entryId, snippet }) => ({
    ...entry("Message", oneLine(snippet), () => go({ page: "talk", agent, key, entry: entryId })),
    id: `hit ${agent} ${entryId}`,
  }));
}
