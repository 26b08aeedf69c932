/** Actions of a user at the rows of a conversation: another try, an edit, another version. */
import type { RefObject } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { useAction, type Action } from "../action-state.ts";
import { server } from "../server-calls.ts";
import { mayChat } from "../session-events.ts";
import type { Part } from "./attachments.ts";
import type { ComposerHandle } from "./talk-composer.tsx";
import type { UserItem } from "./talk-items.ts";
import type { RowActions } from "./talk-rows.tsx";
import type { Talk, TalkView } from "./talk-state.ts";

interface RowActionsOf {
  talk: Talk;
  view: TalkView;
  entry: string | undefined;
  turn: string | undefined;
  composer: RefObject<ComposerHandle | null>;
}

function partsOf({ attached, images }: UserItem): Part[] {
  return [...attached.map(({ source, text }) => ({ type: "text" as const, text, source })), ...images];
}

export function useRowActions({ talk, view, entry, turn, composer }: RowActionsOf): {
  actions: RowActions;
  action: Action;
  /** Message of a version that was chosen; it comes into view. */
  chosen: string | undefined;
} {
  const { runs, branches } = view;
  const { place } = talk;
  const [chosen, setChosen] = useState<string>();
  const action = useAction();
  useEffect(() => {
    if (runs !== "no") setChosen(undefined);
  }, [runs]);
  const isFree = mayChat() && runs === "no";
  const actions = useMemo((): RowActions => {
    const known = { place, found: entry, inside: turn, branches };
    if (!isFree) return known;
    const again = (item: UserItem): void =>
      void action.run("Going back …", async () => {
        await server.rewind(place.key, item.before ?? null, { agent: place.agent });
        await talk.refresh();
        composer.current?.send(item.text, partsOf(item));
        return "";
      });
    const edit = (item: UserItem): void => composer.current?.edit(item);
    const show = (leafId: string, inputEntryId: string): void =>
      void action.run("Going to that version …", async () => {
        await server.rewind(place.key, leafId, { agent: place.agent });
        await talk.refresh();
        setChosen(inputEntryId);
        return "";
      });
    return { ...known, again, edit, show };
  }, [place, entry, turn, isFree, branches]);
  return { actions, action, chosen };
}
