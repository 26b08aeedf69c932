/** Rows of a conversation: messages, thinking, tool calls, marks. */
import { changesOfCall } from "@pagurus/host/command/file-changes";
import { useState } from "preact/hooks";
import { addressOf } from "../page-route.ts";
import { oneLine, time, visible } from "../plain-text.ts";
import { BranchSwitcher } from "./branch-switcher.tsx";
import type { Branches } from "./branches.ts";
import { CopyButton } from "./copy-button.tsx";
import { LineDiff } from "./line-diff.tsx";
import { Markdown } from "./markdown.tsx";
import { SubagentCard } from "./subagent-card.tsx";
import type {
  EndItem,
  MarkItem,
  PlanItem,
  TalkItem,
  ThinkingItem,
  ToolItem,
  UserItem,
} from "./talk-items.ts";
import type { TalkPlace } from "./talk-state.ts";

export interface RowActions {
  place: TalkPlace;
  /** Absent while a turn runs, and for a login that may not. */
  edit?: ((item: UserItem) => void) | undefined;
  again?: ((item: UserItem) => void) | undefined;
  /** Entry that a search led to. */
  found?: string | undefined;
  /** Other versions of messages; \`show\` is absent where \`edit\` is. */
  branches?: Branches | undefined;
  show?: ((leafId: string, inputEntryId: string) => void) | undefined;
  /** Turn whose inspector is open. */
  inside?: string | undefined;
}

export function TalkRow({ item, actions }: { item: TalkItem; actions: RowActions }) {
  switch (item.kind) {
    case "user":
      return <UserRow item={item} actions={actions} />;
    case "text":
      return (
        <article
          class="answer"
          aria-label="Answer"
          data-found={item.entryId !== undefined && item.entryId === actions.found}
        >
          <Markdown text={item.text} isLive={item.isLive} />
        </article>
      );
    case "thinking":
      return <Thinking item={item} />;
    case "tool":
      return <ToolCard item={item} />;
    case "plan":
      return <Plan item={item} />;
    case "mark":
      return <Mark item={item} />;
    case "subagent":
      return (
        <SubagentCard
          item={item}
          agent={actions.place.agent}
          row={(each, place) => <TalkRow key={each.key} item={each} actions={{ place }} />}
        />
      );
    case "end":
      return <End item={item} actions={actions} />;
  }
}

function UserRow({ item, actions }: { item: UserItem; actions: RowActions }) {
  const { edit } = actions;
  const versions = item.entryId === undefined ? undefined : actions.branches?.at.get(item.entryId);
  const isFound = item.entryId !== undefined && item.entryId === actions.found;
  return (
    <article class="from-user" aria-label="You" data-found={isFound}>
      {item.images.map((image, at) => (
        <Picture key={at} data={image.data} mimeType={image.mimeType} />
      ))}
      {item.attached.map(({ source, text }, at) => (
        <details class="attached" key={at}>
          <summary>{oneLine(source)}</summary>
          <pre dir="auto">{visible(text)}</pre>
        </details>
      ))}
      {item.text === "" ? null : (
        <div class="bubble" dir="auto">
          {visible(item.text)}
        </div>
      )}
      <div class="row-actions" data-kept={versions !== undefined}>
        {item.at === undefined ? null : <time dateTime={item.at}>{time(item.at)}</time>}
        <CopyButton text={item.text} label="Copy your message" />
        {edit && item.before !== undefined ? (
          <button type="button" class="quiet" onClick={() => edit(item)}>
            Edit
          </button>
        ) : null}
        {versions ? <BranchSwitcher versions={versions} onShow={actions.show} /> : null}
      </div>
    </article>
  );
}

/** Kinds of pictures that a browser draws and never runs. */
const PICTURES = /^image\/(?:png|jpeg|gif|webp|avif|bmp)$/;

function Picture({ data, mimeType }: { data: string; mimeType: string }) {
  if (!PICTURES.test(mimeType)) return <p class="talk-mark">A picture ({oneLine(mimeType)})</p>;
  return (
    <img class="picture" src={`data:${mimeType};base64,${data}`} alt="Attached picture" loading="lazy" />
  );
}

function Thinking({ item }: { item: ThinkingItem }) {
  return (
    <details class="thinking">
      <summary>{item.isLive ? "Thinking …" : "Thought"}</summary>
      <div class="thinking-words" dir="auto">
        {visible(item.text)}
      </div>
    </details>
  );
}

const STATE_WORDS = { running: "runs", done: "done", failed: "failed" } as const;
/** Characters of an output that are shown before the user asks for all of it. */
const FIRST_OUTPUT = 6_000;

/** The value that says most about a call, such as its command or its file. */
function subjectOf({ args }: ToolItem): string {
  for (const name of ["command", "cmd", "path", "file_path", "pattern", "query", "url", "task", "prompt"]) {
    const value = args[name];
    if (typeof value === "string" && value !== "") return value;
    if (Array.isArray(value) && value.length > 0) return value.join(" ");
  }
  const [first] = Object.values(args);
  return typeof first === "string" ? first : "";
}

function ToolCard({ item }: { item: ToolItem }) {
  const { name, args, output, state, images } = item;
  const changes = changesOfCall(name, args, output);
  const subject = subjectOf(item);
  const [isOpen, setOpen] = useState<boolean>();
  const isShown = isOpen ?? (state === "running" || changes.length > 0);
  return (
    <details
      class="tool"
      data-state={state}
      open={isShown}
      onToggle={({ currentTarget }) => {
        if (currentTarget.open !== isShown) setOpen(currentTarget.open);
      }}
    >
      <summary>
        <span class="tool-state" role="img" aria-label={STATE_WORDS[state]} />
        <span class="tool-name">{oneLine(name)}</span>
        <code class="tool-subject" dir="ltr">
          {oneLine(subject)}
        </code>
      </summary>
      {isShown ? (
        <div class="tool-body">
          {changes.length > 0 ? <LineDiff changes={changes} /> : <Arguments args={args} subject={subject} />}
          {changes.length > 0 && state === "done" ? null : <Output text={output} state={state} />}
          {images.map((image, at) => (
            <Picture key={at} data={image.data} mimeType={image.mimeType} />
          ))}
        </div>
      ) : null}
    </details>
  );
}

function Arguments({ args, subject }: { args: Record<string, unknown>; subject: string }) {
  const rest = Object.entries(args).filter(([, value]) => value !== subject);
  return (
    <>
      {subject.includes("\n") || subject.length > 60 ? (
        <pre class="tool-text" tabIndex={0} aria-label="Input" dir="ltr">
          {visible(subject)}
        </pre>
      ) : null}
      {rest.length === 0 ? null : (
        <dl class="tool-args">
          {rest.map(([name, value]) => (
            <div key={name}>
              <dt>{oneLine(name)}</dt>
              <dd dir="auto">{visible(typeof value === "string" ? value : JSON.stringify(value))}</dd>
            </div>
          ))}
        </dl>
      )}
    </>
  );
}

function Output({ text, state }: { text: string; state: ToolItem["state"] }) {
  const [isAll, setAll] = useState(false);
  if (text === "") return state === "running" ? <p class="tool-wait">No output yet</p> : null;
  // The end of what still grows, the beginning of what is complete.
  const cut = state === "running" ? text.slice(-FIRST_OUTPUT) : text.slice(0, FIRST_OUTPUT);
  return (
    <>
      <pre class="tool-text" tabIndex={0} aria-label="Output" dir="ltr" data-state={state}>
        {visible(isAll ? text : cut)}
      </pre>
      {cut.length < text.length && !isAll ? (
        <button type="button" class="quiet" onClick={() => setAll(true)}>
          Show all of it
        </button>
      ) : null}
    </>
  );
}

const STEP_WORDS: Readonly<Record<string, string>> = {
  completed: "done",
  inProgress: "now",
  pending: "later",
};

function Plan({ item }: { item: PlanItem }) {
  return (
    <ul class="plan" aria-label="Plan">
      {item.steps.map(({ step, status }, at) => (
        <li key={at} data-status={status} dir="auto">
          <span class="sr-only">{STEP_WORDS[status] ?? status}: </span>
          {visible(step)}
        </li>
      ))}
    </ul>
  );
}

function Mark({ item }: { item: MarkItem }) {
  const { tone, text, detail } = item;
  if (detail === undefined)
    return (
      <p class="talk-mark" data-tone={tone} role={tone === "error" ? "alert" : undefined} dir="auto">
        <span>{visible(text)}</span>
      </p>
    );
  return (
    <details class="talk-mark" data-tone={tone}>
      <summary>
        <span>{visible(text)}</span>
      </summary>
      <div class="mark-detail" dir="auto">
        {visible(detail)}
      </div>
    </details>
  );
}

function End({ item, actions }: { item: EndItem; actions: RowActions }) {
  const { input, answer, facts, turnId: turn } = item;
  const { place, again, inside } = actions;
  return (
    <div class="row-actions end">
      {answer === "" ? null : <CopyButton text={answer} label="Copy the answer" />}
      {again && input ? (
        <button type="button" class="quiet" onClick={() => again(input)}>
          Try again
        </button>
      ) : null}
      <a
        class="quiet"
        href={addressOf({ page: "talk", agent: place.agent, key: place.key, turn })}
        title="What was sent, what it cost, what was left out"
        aria-current={inside === turn ? "true" : undefined}
        data-turn={turn}
      >
        Inspect
      </a>
      <span class="facts-line">{oneLine(facts)}</span>
    </div>
  );
}
