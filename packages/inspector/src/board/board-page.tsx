/** The board: what the server does, in one place. */
import { Notice } from "../notice.tsx";

export function BoardPage() {
  return <Notice text="The board has nothing to show yet." />;
}
