/** Work that waits for the turn before it, each with a button that takes it back. */
import type { Work } from "@pagurus/api/types";
import { useAction } from "./action-state.ts";
import { focusMessage } from "./composer.tsx";
import { time, visible } from "./plain-text.ts";
import { server } from "./server-calls.ts";

const KINDS: Readonly<Record<Work["kind"], string>> = {
  turn: "A message",
  compaction: "A compaction",
  command: "A command",
};

export function WaitingWork({ waiting }: { waiting: readonly Work[] }) {
  const action = useAction();
  if (waiting.length === 0) return null;
  return (
    <ul class="waiting" aria-label="Waiting work">
      {waiting.map(({ id, kind, postedAt }) => (
        <li key={id}>
          {KINDS[kind]} of {time(postedAt)} waits.{" "}
          <button
            type="button"
            disabled={action.isBusy}
            onClick={() =>
              void action.run("", async () => {
                await server.withdraw(id);
                focusMessage();
                return "";
              })
            }
          >
            Take back
          </button>
        </li>
      ))}
      {action.text === "" ? null : <li role="status">{visible(action.text)}</li>}
    </ul>
  );
}
