/** The page without a login: how to sign in, also for another device and after the server has begun again. */
import { useState } from "preact/hooks";

const CODE = /sign-in\/([\w-]+)/;

/** Signs in at the place that the page has. */
export function SignedOut() {
  const [address, setAddress] = useState("");
  const [, code] = CODE.exec(address) ?? [];
  return (
    <main class="signed-out">
      <h1>This page is signed out.</h1>
      <p>
        Run <code>pagurus open</code> on the machine of the server, or <code>pagurus inspect</code> to read
        alone. A login ends after 12 hours and with its server; conversations and drafts are kept.
      </p>
      <form
        aria-label="Sign in"
        onSubmit={(event) => {
          event.preventDefault();
          if (code === undefined) return;
          // The page is loaded with the code, and is then at this place again.
          location.hash = `#/sign-in/${code}${location.hash.replace(/^#/, "")}`;
        }}
      >
        <label>
          Or paste what <code>pagurus open --print</code> prints
          <input
            type="text"
            autocomplete="off"
            value={address}
            onInput={({ currentTarget }) => setAddress(currentTarget.value)}
          />
        </label>
        <button type="submit" disabled={code === undefined}>
          Sign in
        </button>
      </form>
    </main>
  );
}
