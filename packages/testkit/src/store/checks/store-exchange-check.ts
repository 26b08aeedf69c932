/** Checks of export and import. */
import type { SessionStore } from "@pagurus/contract/session/store";
import { must } from "../../conformance-check.ts";
import type { StoreCheck } from "../store-check.ts";
import {
  assistant,
  collect,
  exported,
  mustEqual,
  mustRefuse,
  say,
  textsOf,
  toolResult,
  type StorePlace,
} from "../store-place.ts";

function fillSession(made: StorePlace, store: SessionStore, key: string): void {
  const writer = made.writer(store, key);
  const [one] = say(writer, "t1", "one \u2028 \ud83d\ude00");
  say(writer, "t2", "two");
  writer.rewind(one);
  writer.append({ type: "message", turnId: "t3", message: assistant("calls", ["c1"]) });
  writer.append({ type: "message", turnId: "t3", message: toolResult("c1", "a result") });
  writer.commitTurn({ turnId: "t3", outcome: "aborted" });
  writer.close();
}

export const exchangeChecks: readonly StoreCheck[] = [
  {
    id: "exchange.round-trip",
    title: "An export that is imported elsewhere is exported there with the same bytes, and continues.",
    async run({ place }) {
      const [made, elsewhere] = [await place(), await place()];
      const store = await made.store();
      fillSession(made, store, "main");
      const bytes = await exported(store, "main");
      must(bytes.equals(await exported(await made.store(), "main")), "Another opening exports other bytes.");
      const file = made.file("export.jsonl", bytes);
      const target = await elsewhere.store();
      const record = await target.import(file);
      mustEqual(record, { ...target.find("main") }, "The record is not the session's");
      must(bytes.equals(await exported(target, "main")), "The import has other bytes.");
      mustEqual(record.sessionId, store.find("main")?.sessionId, "The import has another id");
      const writer = elsewhere.writer(target);
      mustEqual(writer.notices, [], "The import opens with notices");
      const before = textsOf(made.reader(store));
      mustEqual(textsOf(writer), before, "The import has another context");
      say(writer, "t9", "later");
    },
  },
  {
    id: "exchange.key",
    title: "An import takes another key, and is refused where its id or key is in use.",
    async run({ place }) {
      const [made, elsewhere] = [await place(), await place()];
      const store = await made.store();
      fillSession(made, store, "main");
      const file = made.file("export.jsonl", await exported(store, "main"));
      await mustRefuse("session_exists", "An import of a session that is here", () => store.import(file));
      const target = await elsewhere.store();
      mustEqual((await target.import(file, { sessionKey: "other" })).sessionKey, "other", "The key differs");
      mustEqual((await elsewhere.store()).find("main"), undefined, "The session has its former key as well");
      fillSession(elsewhere, target, "used");
      await mustRefuse("session_exists", "An import to a key in use", () =>
        target.import(file, { sessionKey: "used" }),
      );
    },
  },
  {
    id: "exchange.corrupt",
    title: "An import with a corrupt line is refused and leaves nothing.",
    async run({ place }) {
      const [made, elsewhere] = [await place(), await place()];
      const store = await made.store();
      fillSession(made, store, "main");
      const lines = (await exported(store, "main")).toString("utf8").split("\n");
      const target = await elsewhere.store();
      const files = {
        "without a header": lines.slice(1),
        "with a broken line": lines.with(3, "{broken"),
        "with a line twice": lines.toSpliced(2, 0, lines[1] ?? ""),
        "without its last end of line": lines.slice(0, -1),
      };
      for (const [name, changed] of Object.entries(files)) {
        const file = made.file("bad.jsonl", changed.join("\n"));
        await mustRefuse("import_invalid", `A file ${name}`, () => target.import(file));
        mustEqual(target.list(), [], `A file ${name} has left a session`);
      }
    },
  },
  {
    id: "exchange.native",
    title: "The conversation of another program is imported as a session.",
    async run({ place }) {
      const made = await place();
      const store = await made.store();
      const messages = [
        { role: "user" as const, content: "from elsewhere" },
        assistant("an answer from elsewhere"),
      ];
      const history = { runtime: "codex", nativeId: "thread-1", cwd: "/project", messages };
      const record = await store.import(history, { sessionKey: "taken" });
      mustEqual(record.sessionKey, "taken", "The key differs");
      const texts = textsOf(made.reader(await made.store(), "taken"));
      mustEqual(texts, ["from elsewhere", "an answer from elsewhere"], "The messages differ");
    },
  },
  {
    id: "exchange.markdown",
    title: "The Markdown export has the path's words and not what was rewound.",
    async run({ place }) {
      const made = await place();
      const store = await made.store();
      fillSession(made, store, "main");
      const text = (await exported(store, "main", "markdown")).toString("utf8");
      for (const part of ["main", "one", "calls", "a result"])
        must(text.includes(part), `The export lacks ${JSON.stringify(part)}.`);
      must(!text.includes("two"), "The export has words that are off the path.");
      await mustRefuse("session_not_found", "An export of a missing session", () =>
        collect(store.export("none", "jsonl")),
      );
    },
  },
];
