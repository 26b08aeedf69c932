/** Tokens of programs and people: what each may do, when it was used, a new one, and its end. */
import { useState } from "preact/hooks";
import type { Scope, Token } from "@pagurus/api/types";
import { useAction } from "../action-state.ts";
import { oneLine, since, visible } from "../plain-text.ts";
import { server } from "../server-calls.ts";
import { Card, Choices, Rows } from "./card.tsx";
import { usePolled } from "./polled.ts";

const EVERY_MS = 10_000;

const SCOPES: Readonly<Record<Scope, string>> = {
  read: "reads",
  chat: "reads and talks",
  admin: "may do everything",
};

export function TokensCard() {
  const { value, error, again } = usePolled((signal) => server.tokens({ signal }), EVERY_MS);
  const valid = value?.filter(
    ({ revokedAt, expiresAt }) =>
      revokedAt === undefined && (expiresAt === undefined || expiresAt > Date.now()),
  );
  return (
    <Card title="Tokens" fact={valid && `${valid.length} valid`} error={error}>
      <Rows
        items={valid}
        keyOf={({ id }) => id}
        none="There is no token: only this machine may call."
        row={(token) => <TokenRow token={token} again={again} />}
      />
      <NewToken after={again} />
    </Card>
  );
}

function at(ms: number): string {
  return since(new Date(ms).toISOString());
}

function TokenRow({ token, again }: { token: Token; again(): void }) {
  const { id, name, scope, sessions, usedAt, createdAt } = token;
  return (
    <div class="entry">
      <div class="entry-words">
        <strong>{oneLine(name)}</strong>
        <span class="quiet">
          {SCOPES[scope]}
          {sessions === "*" ? "" : ` in ${oneLine(sessions)}`} ·{" "}
          {usedAt === undefined ? `never used, made ${at(createdAt)}` : `used ${at(usedAt)}`}
        </span>
      </div>
      <Choices
        of={[
          {
            label: "Revoke",
            name: `Revoke ${name}`,
            isFinal: true,
            tone: "bad",
            run: () => server.revokeToken(id),
          },
        ]}
        after={again}
      />
    </div>
  );
}

function NewToken({ after }: { after(): void }) {
  const [secret, setSecret] = useState("");
  const action = useAction();
  const make = (name: string, scope: Scope): void =>
    void action
      .run("Making …", async () => {
        const made = await server.createToken({ name, scope });
        setSecret(made.secret);
        return "";
      })
      .then(after);
  return (
    <>
      <form
        class="line"
        aria-label="New token"
        onSubmit={(event) => {
          event.preventDefault();
          const fields = new FormData(event.currentTarget);
          const [name, scope] = [fields.get("name"), fields.get("scope")];
          if (typeof name !== "string" || name.trim() === "") return;
          make(name.trim(), scope === "read" || scope === "admin" ? scope : "chat");
          event.currentTarget.reset();
        }}
      >
        <input
          type="text"
          name="name"
          aria-label="Name of the new token"
          placeholder="Name, such as phone"
          maxLength={100}
        />
        <select name="scope" aria-label="What it may do">
          {(["chat", "read", "admin"] as const).map((scope) => (
            <option key={scope} value={scope}>
              {SCOPES[scope]}
            </option>
          ))}
        </select>
        <button type="submit" disabled={action.isBusy}>
          Make a token
        </button>
      </form>
      {secret === "" ? null : (
        <p class="note" data-tone="warn" role="status">
          Shown once: <code class="secret">{secret}</code>{" "}
          <button type="button" class="link" onClick={() => setSecret("")}>
            Hide
          </button>
        </p>
      )}
      {action.text === "" ? null : (
        <p class="note" data-tone="bad" role="status">
          {visible(action.text)}
        </p>
      )}
    </>
  );
}
