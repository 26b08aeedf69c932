/** The head of a conversation: its name, and the ways from it. */
import { useEffect, useRef } from "preact/hooks";
import type { Session } from "@pagurus/api/types";
import { useLoaded } from "../loaded.ts";
import { addressOf, go } from "../page-route.ts";
import { oneLine } from "../plain-text.ts";
import { server } from "../server-calls.ts";
import { titleOf } from "./conversation-groups.ts";
import { freshWork } from "./fresh-talks.ts";
import type { TalkPlace } from "./talk-state.ts";

/** `version`: the name is read again when it changes. */
export function TalkHead({ place, version }: { place: TalkPlace; version: string }) {
  const title = useTitle(place, version);
  return (
    <header class="talk-head">
      <h1 title={title} dir="auto">
        {title}
      </h1>
      <a class="quiet" href={addressOf({ page: "session", agent: place.agent, key: place.key })}>
        Line of time
      </a>
      <Parent place={place} />
    </header>
  );
}

function useTitle({ agent, key }: TalkPlace, version: string): string {
  const { value } = useLoaded(
    async (signal): Promise<Session | undefined> =>
      freshWork({ agent, key }) === undefined
        ? server.session(key, { agent, signal }).catch(() => undefined)
        : undefined,
    [agent, key, version],
  );
  const known = useRef(oneLine(key));
  if (value) known.current = titleOf(value);
  useEffect(() => {
    document.title = `${known.current} · Pagurus`;
  }, [known.current]);
  return known.current;
}

/** The way from a subagent's conversation to the one that began it. */
function Parent({ place: { agent, key } }: { place: TalkPlace }) {
  const [, parent] = /^(.+)\/sub-\d+$/.exec(key) ?? [];
  if (parent === undefined) return null;
  return (
    <button type="button" class="quiet" onClick={() => go({ page: "talk", agent, key: parent })}>
      To its parent
    </button>
  );
}
