/** Messages and other work that wait for the turn, with their words: each can be edited and taken back. */
import type { Work } from "@pagurus/api/types";
import { useAction } from "../action-state.ts";
import { oneLine, visible } from "../plain-text.ts";
import { server } from "../server-calls.ts";

const KINDS: Readonly<Record<Work["kind"], string>> = {
  turn: "A message",
  compaction: "A compaction",
  command: "A command",
};

export function WaitingMessages({ waiting, onEdit }: { waiting: readonly Work[]; onEdit(work: Work): void }) {
  const action = useAction();
  if (waiting.length === 0) return null;
  const takeBack = (work: Work, then: () => void): void =>
    void action.run("", async () => {
      await server.withdraw(work.id);
      then();
      return "";
    });
  return (
    <ul class="waiting-list" aria-label="Waiting messages">
      {waiting.map((work) => (
        <li key={work.id}>
          <span class="waiting-words" dir="auto">
            {oneLine(work.prompt ?? "") || KINDS[work.kind]}
          </span>
          {work.kind === "turn" && work.prompt !== undefined ? (
            <button
              type="button"
              class="quiet"
              disabled={action.isBusy}
              onClick={() => takeBack(work, () => onEdit(work))}
            >
              Edit
            </button>
          ) : null}
          <button
            type="button"
            class="quiet"
            disabled={action.isBusy}
            onClick={() => takeBack(work, () => document.getElementById("message")?.focus())}
          >
            Take back
          </button>
        </li>
      ))}
      {action.text === "" ? null : <li role="status">{visible(action.text)}</li>}
    </ul>
  );
}
