/** The palette: every conversation, command, action, setting and view by a few letters of its name; and the help for keys. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { allHits, allSessions } from "../every-agent.ts";
import { pageRoute } from "../page-route.ts";
import { visible } from "../plain-text.ts";
import { server } from "../server-calls.ts";
import {
  choiceEntries,
  commandEntries,
  hitEntries,
  generalEntries,
  placeEntries,
  sessionEntries,
  shownPlace,
} from "./entries.ts";
import { Keys } from "./keys.tsx";
import { matching, type Entry } from "./match.ts";
import type { Opened } from "./opened.ts";
import "./palette.css";

/** Rows at once. */
const MOST = 60;
const MOST_HITS = 8;
/** A search of messages begins with this many letters, and this long after the last key, ms. */
const LEAST_LETTERS = 3;
const TYPED_MS = 180;

export function Overlay({ what, onClose }: { what: Opened; onClose(): void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const chosen = useRef<Entry | undefined>(undefined);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog
      ref={dialog}
      class="palette"
      aria-label={what === "keys" ? "Keys" : "Go to anything, do anything"}
      onClose={() => {
        // The focus is back where it was, from where the entry may take it.
        onClose();
        chosen.current?.run();
      }}
      onClick={(event) => {
        // Beside it: the dialog's own box is its backdrop.
        if (event.target === event.currentTarget) dialog.current?.close();
      }}
      onKeyDown={(event) => {
        // It closes this, and does not stop the turn.
        if (event.key !== "Escape") return;
        event.stopPropagation();
        event.preventDefault();
        dialog.current?.close();
      }}
    >
      {what === "keys" ? (
        <div class="palette-body">
          <header class="panel-head">
            <h2>Keys</h2>
            <button type="button" onClick={() => dialog.current?.close()}>
              Close
            </button>
          </header>
          <Keys />
        </div>
      ) : (
        <Finder
          onChoose={(entry) => {
            chosen.current = entry;
            dialog.current?.close();
          }}
        />
      )}
    </dialog>
  );
}

/** Entries that the server knows, in the order in which they come. */
function useServerEntries(): readonly Entry[] {
  const [commands, setCommands] = useState<readonly Entry[]>([]);
  const [choices, setChoices] = useState<readonly Entry[]>([]);
  const [sessions, setSessions] = useState<readonly Entry[]>([]);
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    const place = shownPlace(pageRoute.value);
    const agent = place?.agent;
    // A part that fails is left out; the others are there.
    const ignore = (): void => undefined;
    allSessions(signal).then(({ items }) => setSessions(sessionEntries(items)), ignore);
    server.slashCommands({ agent, signal }).then((all) => setCommands(commandEntries(all)), ignore);
    server
      .choices({ agent, session: place?.key, signal })
      .then((all) => setChoices(choiceEntries(all)), ignore);
    return () => controller.abort();
  }, []);
  return useMemo(() => [...sessions, ...commands, ...choices], [sessions, commands, choices]);
}

/** Messages with the typed words. */
function useHits(typed: string): readonly Entry[] {
  const [hits, setHits] = useState<readonly Entry[]>([]);
  const words = typed.trim();
  useEffect(() => {
    setHits([]);
    if (words.length < LEAST_LETTERS) return undefined;
    const controller = new AbortController();
    const timer = setTimeout(() => {
      allHits(words, controller.signal).then(
        ({ items }) => setHits(hitEntries(items.slice(0, MOST_HITS))),
        () => undefined,
      );
    }, TYPED_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [words]);
  return hits;
}

function Finder({ onChoose }: { onChoose(entry: Entry): void }) {
  const [typed, setTyped] = useState("");
  const [active, setActive] = useState(0);
  const here = useMemo(() => placeEntries(pageRoute.value), []);
  const general = useMemo(generalEntries, []);
  const known = useServerEntries();
  const hits = useHits(typed);
  const found = useMemo(
    () => [...matching([...here, ...known, ...general], typed, MOST), ...hits],
    [here, known, general, typed, hits],
  );
  const at = Math.min(active, found.length - 1);
  const run = (entry: Entry | undefined): void => {
    if (entry) onChoose(entry);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.isComposing || found.length === 0) return;
    if (event.key === "ArrowDown") setActive((at + 1) % found.length);
    else if (event.key === "ArrowUp") setActive((at + found.length - 1) % found.length);
    else if (event.key === "Enter") run(found[at]);
    else return;
    event.preventDefault();
  };
  return (
    <div class="palette-body">
      <input
        type="text"
        class="palette-input"
        role="combobox"
        aria-label="Go to anything, do anything"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found.length === 0 ? undefined : `palette-${at}`}
        autocomplete="off"
        placeholder="A conversation, a command, a setting, a view"
        value={typed}
        dir="auto"
        autoFocus
        onInput={({ currentTarget }) => {
          setTyped(currentTarget.value);
          setActive(0);
        }}
        onKeyDown={onKeyDown}
      />
      {found.length === 0 ? (
        <p class="palette-none" role="status">
          Nothing has these words.
        </p>
      ) : (
        <ul class="palette-list" id="palette-list" role="listbox" aria-label="Found">
          {found.map((entry, index) => (
            <Row
              key={entry.id}
              entry={entry}
              index={index}
              isActive={index === at}
              onRun={() => run(entry)}
            />
          ))}
        </ul>
      )}
    </div>
  );
}

interface RowProps {
  entry: Entry;
  index: number;
  isActive: boolean;
  onRun(): void;
}

function Row({ entry: { group, label, hint }, index, isActive, onRun }: RowProps) {
  const row = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isActive) row.current?.scrollIntoView({ block: "nearest" });
  }, [isActive]);
  return (
    <li ref={row} id={`palette-${index}`} role="option" aria-selected={isActive} onClick={onRun}>
      <span class="palette-group">{group}</span>
      <span class="palette-label" dir="auto">
        {visible(label)}
      </span>
      {hint === undefined ? null : <span class="palette-hint">{visible(hint)}</span>}
    </li>
  );
}
