/** Closes what is opened; the key Escape presses it. */
export function CloseButton({ onClose }: { onClose(): void }) {
  return (
    <button type="button" data-close onClick={onClose}>
      Close
    </button>
  );
}
