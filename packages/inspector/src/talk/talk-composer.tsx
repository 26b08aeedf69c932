/** The input of a conversation: words, files, choices for the turn, what waits, and the button that sends or stops. */
import type { Ref } from "preact";
import { useEffect, useImperativeHandle, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useAction, type Action } from "../action-state.ts";
import { visible } from "../plain-text.ts";
import { server } from "../server-calls.ts";
import { attachmentOf, type Attachment, type Part } from "./attachments.ts";
import { CommandText } from "./command-text.tsx";
import { ComposerBar, type Policy } from "./composer-bar.tsx";
import { draftOf, keepDraft } from "./drafts.ts";
import { MessageField } from "./message-field.tsx";
import { placeIdOf, type Outgoing } from "./send-message.ts";
import { sending } from "./sending.ts";
import type { UserItem } from "./talk-items.ts";
import type { TalkView } from "./talk-state.ts";
import { forComposer } from "./to-composer.ts";
import { useChoices, useChosen } from "./turn-choices.tsx";
import { WaitingMessages } from "./waiting-messages.tsx";

export interface ComposerHandle {
  /** Puts an earlier message into the input; sending it continues from before that message. */
  edit(item: UserItem): void;
  send(text: string, parts: readonly Part[]): void;
}

/** One line, as high as the empty input is. */
function hint(): string {
  const isNarrow = matchMedia("(max-width: 520px)").matches;
  return `Ask, or say what to do.${isNarrow ? "" : " @ names a file, / a command."}`;
}

interface ComposerProps {
  place: { agent: string; key: string | undefined };
  view?: TalkView;
  handle?: Ref<ComposerHandle>;
  /** The conversation has another end. */
  onRewound?(): Promise<void>;
}

/** The input, what is attached to it, and the earlier message that it replaces. */
function useMessage(id: string, action: Action) {
  const [text, setText] = useState(() => draftOf(id));
  const [files, setFiles] = useState<readonly Attachment[]>([]);
  const [edited, setEdited] = useState<UserItem>();
  const write = (next: string): void => {
    setText(next);
    keepDraft(id, next);
  };
  const takeFiles = (list: Iterable<File>): void =>
    void action.run("", async () => {
      const made: Attachment[] = [];
      for (const file of list) made.push(await attachmentOf(file));
      setFiles((known) => [...known, ...made]);
      return "";
    });
  return { text, write, files, setFiles, takeFiles, edited, setEdited };
}

/** Escape stops the turn wherever the focus is, unless something there takes it. */
function useStop({ agent, key }: ComposerProps["place"], isRunning: boolean, action: Action): () => void {
  const stop = (): void => {
    if (key === undefined || !isRunning) return;
    void action.run("Stopping …", async () => {
      await server.stop(key, { agent });
      return "";
    });
  };
  useEffect(() => {
    const onEscape = (event: KeyboardEvent): void => {
      if (event.key !== "Escape" || event.defaultPrevented || !isRunning) return;
      event.preventDefault();
      stop();
    };
    addEventListener("keydown", onEscape);
    return () => removeEventListener("keydown", onEscape);
  }, [isRunning, key]);
  return stop;
}

function useComposer({ place, view, handle, onRewound }: ComposerProps) {
  const { agent, key } = place;
  const id = placeIdOf(agent, key);
  const runs = view?.runs ?? "no";
  const field = useRef<HTMLTextAreaElement>(null);
  const action = useAction();
  const message = useMessage(id, action);
  const [cwd, setCwd] = useState<string>();
  const [policy, setPolicy] = useState<Policy>("queue");
  const [said, say] = useState("");
  const [chosen, choose] = useChosen(id);
  const choices = useChoices(agent, key, cwd);
  const stop = useStop(place, runs !== "no", action);
  const { text, write, files, setFiles, edited, setEdited } = message;
  const outgoing = (words: string, parts: readonly Part[]): Outgoing => {
    const sent = runs === "no" ? "queue" : policy;
    return { agent, key, cwd, text: words, parts, chosen, policy: sent, runs };
  };
  const send = sending({ action, outgoing, choose, write, say, onRewound });
  const submit = async (): Promise<void> => {
    const words = text.trim();
    if ((words === "" && files.length === 0) || action.isBusy) return;
    write("");
    setFiles([]);
    setEdited(undefined);
    const parts = files.map(({ part }) => part);
    if (await send(words, parts, edited)) return;
    // What was not sent is still there.
    write(words);
    setFiles(files);
    setEdited(edited);
  };
  useEffect(() => {
    if (runs === "no") setPolicy("queue");
  }, [runs]);
  // Before the first paint: a key that is pressed as soon as the input is seen reaches it.
  useLayoutEffect(() => field.current?.focus({ preventScroll: true }), []);
  const edit = (item: UserItem): void => {
    setEdited(item);
    write(item.text);
    field.current?.focus();
  };
  useEffect(() => {
    const wanted = forComposer.value;
    if (!wanted) return;
    forComposer.value = undefined;
    if ("text" in wanted) write(wanted.text);
    else choose(wanted.choose);
    field.current?.focus();
  }, [forComposer.value]);
  useImperativeHandle(
    handle ?? { current: null },
    () => ({ edit, send: (words, parts) => void send(words, parts) }),
    [runs, chosen, policy],
  );
  return {
    ...message,
    field,
    action,
    cwd,
    setCwd,
    policy,
    setPolicy,
    said,
    say,
    chosen,
    choose,
    choices,
    stop,
    submit,
    runs,
  };
}

export function TalkComposer(props: ComposerProps) {
  const composer = useComposer(props);
  const { text, write, files, edited, setEdited, takeFiles, field, action, choices, runs } = composer;
  const { agent, key } = props.place;
  const folder = composer.cwd ?? choices?.folder;
  const onEscape = (): boolean => {
    if (!edited) return false;
    setEdited(undefined);
    write("");
    return true;
  };
  return (
    <form
      class="talk-composer column"
      aria-label="Message"
      onSubmit={(event) => {
        event.preventDefault();
        void composer.submit();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        takeFiles(event.dataTransfer?.files ?? []);
      }}
    >
      <CommandText text={composer.said} onClose={() => composer.say("")} />
      <WaitingMessages
        waiting={props.view?.waiting ?? []}
        onEdit={(work) => {
          write(work.prompt ?? "");
          field.current?.focus();
        }}
      />
      {choices?.problems.map((problem) => (
        <p class="talk-mark" data-tone="warn" key={problem}>
          {visible(problem)}
        </p>
      ))}
      <div class="input-box">
        {edited ? <Editing onKeep={onEscape} /> : null}
        <AttachedFiles files={files} onChange={composer.setFiles} />
        <MessageField
          field={field}
          text={text}
          placeholder={runs === "no" ? hint() : "Add to it, or wait."}
          where={{ agent, cwd: folder }}
          onWrite={write}
          onSubmit={() => void composer.submit()}
          onEscape={onEscape}
          onFiles={takeFiles}
        />
        <ComposerBar
          choices={choices}
          chosen={composer.chosen}
          onChoose={composer.choose}
          folder={
            key === undefined && choices ? { path: folder ?? "", onChange: composer.setCwd } : undefined
          }
          policy={composer.policy}
          onPolicy={composer.setPolicy}
          isRunning={runs !== "no"}
          isEmpty={text.trim() === "" && files.length === 0}
          isBusy={action.isBusy}
          onFiles={takeFiles}
          onStop={composer.stop}
        />
      </div>
      <p class="facts-line" role="status">
        {visible(action.text)}
      </p>
    </form>
  );
}

function Editing({ onKeep }: { onKeep(): void }) {
  return (
    <p class="editing">
      You edit an earlier message; what came after it leaves the conversation.{" "}
      <button type="button" class="quiet" onClick={onKeep}>
        Keep it
      </button>
    </p>
  );
}

function AttachedFiles({
  files,
  onChange,
}: {
  files: readonly Attachment[];
  onChange(files: readonly Attachment[]): void;
}) {
  if (files.length === 0) return null;
  return (
    <ul class="files" aria-label="Attached files">
      {files.map(({ id, name }) => (
        <li key={id}>
          <span>{visible(name)}</span>
          <button
            type="button"
            class="quiet"
            aria-label={`Remove ${name}`}
            onClick={() => onChange(files.filter((each) => each.id !== id))}
          >
            ×
          </button>
        </li>
      ))}
    </ul>
  );
}
