/** The menu of a conversation in the list: rename, export, delete. */
import { useRef } from "preact/hooks";

export function RowMenu({
  title,
  onRename,
  onSave,
  onDelete,
}: {
  title: string;
  onRename(): void;
  onSave(): void;
  onDelete: (() => void) | undefined;
}) {
  const menu = useRef<HTMLDetailsElement>(null);
  const chosen = (act: () => void) => (): void => {
    if (menu.current) menu.current.open = false;
    act();
  };
  return (
    <details
      class="menu"
      ref={menu}
      onToggle={({ currentTarget }) => {
        if (!currentTarget.open) return;
        // One open menu at a time.
        for (const other of document.querySelectorAll<HTMLDetailsElement>("details.menu[open]"))
          if (other !== currentTarget) other.open = false;
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || menu.current?.open !== true) return;
        menu.current.open = false;
        event.preventDefault();
      }}
    >
      <summary aria-label={`Actions for ${title}`}>⋯</summary>
      <div class="menu-list">
        <button type="button" onClick={chosen(onRename)}>
          Rename
        </button>
        <button type="button" title="One HTML file, with secrets masked" onClick={chosen(onSave)}>
          Export
        </button>
        {onDelete ? (
          <button type="button" class="danger" onClick={chosen(onDelete)}>
            Delete
          </button>
        ) : null}
      </div>
    </details>
  );
}
