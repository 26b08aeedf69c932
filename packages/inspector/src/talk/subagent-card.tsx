/** A subagent's conversation inside of its parent's: a folded card, which opens to its messages in place. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { errorText } from "../loaded.ts";
import { addressOf } from "../page-route.ts";
import { oneLine } from "../plain-text.ts";
import { server } from "../server-calls.ts";
import { onEvent, startsOf } from "./live-events.ts";
import { itemsOf, type SubagentItem, type TalkItem } from "./talk-items.ts";
import type { TalkPlace } from "./talk-state.ts";

/** Entries of the child that are read, from its end, and rows of them that are shown at once. */
const MOST_ENTRIES = 200;
const FIRST_ROWS = 24;
/** Events of one moment are one look, ms. */
const TOGETHER_MS = 200;

const STATES = { running: "works", ended: "has ended" } as const;

interface NestedRows {
  agent: string;
  row(item: TalkItem, place: TalkPlace): ComponentChildren;
}

export function SubagentCard({ item, agent, row }: NestedRows & { item: SubagentItem }) {
  const { session, task, state, outcome } = item;
  const [isOpen, setOpen] = useState(false);
  const isBad = outcome !== undefined && outcome !== "completed";
  return (
    <details
      class="tool subagent"
      data-state={state === "running" ? "running" : isBad ? "failed" : "done"}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>
        <span class="tool-state" role="img" aria-label={STATES[state]} />
        <span class="tool-name">Subagent</span>
        <span class="tool-subject" dir="auto">
          {oneLine(task === "" ? session : task)}
        </span>
      </summary>
      {isOpen ? <Nested agent={agent} session={session} row={row} /> : null}
    </details>
  );
}

/** The rows of a session, read again when something happens in it. */
function useRows(agent: string, session: string): { items?: readonly TalkItem[]; error: string } {
  const [read, setRead] = useState<{ items?: readonly TalkItem[]; error: string }>({ error: "" });
  const begun = startsOf();
  useEffect(() => {
    const controller = new AbortController();
    let planned: number | undefined;
    const look = (): void => {
      planned = undefined;
      server.entries(session, { agent, limit: MOST_ENTRIES, signal: controller.signal }).then(
        (entries) => setRead({ items: itemsOf(entries), error: "" }),
        (error: unknown) => controller.signal.aborted || setRead({ error: errorText(error) }),
      );
    };
    look();
    const forget = onEvent((event) => {
      if (event.agent === agent && event.session === session && event.event.type !== "text.delta")
        planned ??= window.setTimeout(look, TOGETHER_MS);
    });
    return () => {
      forget();
      clearTimeout(planned);
      controller.abort();
    };
  }, [agent, session, begun]);
  return read;
}

function Nested({ agent, session, row }: NestedRows & { session: string }) {
  const { items, error } = useRows(agent, session);
  const [isAll, setAll] = useState(false);
  const shown = (items ?? []).slice(isAll ? 0 : -FIRST_ROWS);
  return (
    <div class="nested" role="group" aria-label="Conversation of the subagent">
      {error === "" ? null : <p class="talk-mark">{error}</p>}
      {items === undefined && error === "" ? <p class="talk-mark">Loading its messages …</p> : null}
      {items && shown.length < items.length ? (
        <button type="button" class="quiet" onClick={() => setAll(true)}>
          Show all {items.length} of its rows
        </button>
      ) : null}
      {shown.map((item) => row(item, { agent, key: session }))}
      <a class="quiet" href={addressOf({ page: "talk", agent, key: session })}>
        Open it as a conversation
      </a>
    </div>
  );
}
