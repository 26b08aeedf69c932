/** Actions of a user on one entry: a new session that ends with it, and a pin that keeps it through compactions. */
import { useState } from "preact/hooks";
import { useAction } from "./action-state.ts";
import { useLoaded } from "./loaded.ts";
import { go } from "./page-route.ts";
import { visible } from "./plain-text.ts";
import { mayChat, type SessionPlace } from "./session-events.ts";
import { server } from "./server-calls.ts";
import { workReport } from "./work-report.ts";

interface EntryPlace extends SessionPlace {
  entryId: string;
  /** Id of the session that has it; only entries of the current one have actions. */
  generation?: string | undefined;
}

/** Longest key of a session. */
const MOST_CHARS = 200;

export function EntryActions(place: EntryPlace) {
  if (!mayChat()) return null;
  if (place.generation === undefined) return <Actions key={place.entryId} {...place} />;
  return <OfGeneration key={place.entryId} {...place} />;
}

function OfGeneration(place: EntryPlace) {
  const { agent, sessionKey, generation } = place;
  const { value } = useLoaded((signal) => server.session(sessionKey, { agent, signal }), [agent, sessionKey]);
  return value?.id === generation ? <Actions {...place} /> : null;
}

function Actions({ agent, sessionKey, entryId }: EntryPlace) {
  const action = useAction();
  const [newKey, setNewKey] = useState<string>();
  const { value: commands } = useLoaded((signal) => server.commands({ signal }), []);
  const pins = ["pin", "unpin"].filter((name) => commands?.some((each) => each.name === name) === true);
  const fork = (key: string): Promise<boolean> =>
    action.run("Forking …", async () => {
      await server.fork(sessionKey, { key, entryId }, { agent });
      go({ page: "session", agent, key });
      return "";
    });
  const command = (name: string): Promise<boolean> =>
    action.run("After the work before it …", async () =>
      workReport(await server.runCommand(sessionKey, { name, args: entryId }, { agent })),
    );
  return (
    <>
      <div class="bar">
        <button
          type="button"
          aria-expanded={newKey !== undefined}
          onClick={() => setNewKey(newKey === undefined ? keyFor(sessionKey, entryId) : undefined)}
        >
          Fork from here
        </button>
        {pins.map((name) => (
          <button key={name} type="button" disabled={action.isBusy} onClick={() => void command(name)}>
            {name === "pin" ? "Pin" : "Unpin"}
          </button>
        ))}
      </div>
      {newKey === undefined ? null : (
        <form
          class="bar"
          aria-label="Fork"
          onSubmit={(event) => {
            event.preventDefault();
            void fork(newKey.trim());
          }}
        >
          <label for="fork-key">Key of the new session</label>
          <input
            id="fork-key"
            type="text"
            value={newKey}
            ref={focusOnce}
            onInput={({ currentTarget }) => setNewKey(currentTarget.value)}
          />
          <button type="submit" disabled={action.isBusy || newKey.trim() === ""}>
            Fork
          </button>
        </form>
      )}
      <p class="facts" role="status">
        {visible(action.text)}
      </p>
    </>
  );
}

/** The field takes the focus when it appears. */
function focusOnce(field: HTMLInputElement | null): void {
  field?.focus();
}

function keyFor(sessionKey: string, entryId: string): string {
  const end = `-fork-${entryId.replaceAll(/[^\w-]/g, "").slice(-6)}`;
  return `${sessionKey.slice(0, MOST_CHARS - end.length)}${end}`;
}
