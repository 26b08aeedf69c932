/** The keys of the page. */

const KEYS: readonly (readonly [title: string, rows: readonly (readonly [keys: string, does: string])[]])[] =
  [
    [
      "Everywhere",
      [
        ["Ctrl+K", "Go to anything, do anything"],
        ["Ctrl+Shift+O", "New conversation"],
        ["?", "These keys"],
        ["Esc", "Close what was opened last, else stop the turn, else go up"],
      ],
    ],
    [
      "In the input",
      [
        ["Enter", "Send"],
        ["Shift+Enter", "New line"],
        ["@", "Name a file"],
        ["/", "Choose a command"],
        ["↑ ↓", "Choose an offer; Tab or Enter takes it"],
        ["Esc", "Close the offers, leave an edit, stop the turn"],
      ],
    ],
    [
      "In lists and the inspector",
      [
        ["↑ ↓", "Move"],
        ["Home End", "First and last"],
        ["Enter", "Open"],
        ["/", "Search messages"],
        ["Tab", "Next pane"],
      ],
    ],
  ];

export function Keys() {
  return (
    <div class="keys" role="group" aria-label="Keys and what they do" tabIndex={0}>
      {KEYS.map(([title, rows]) => (
        <section key={title} aria-label={title}>
          <h3>{title}</h3>
          <dl>
            {rows.map(([keys, does]) => (
              <div key={keys}>
                <dt>
                  {keys.split(" ").map((key) => (
                    <kbd key={key}>{key}</kbd>
                  ))}
                </dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </div>
  );
}
