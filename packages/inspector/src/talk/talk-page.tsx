/** A conversation, or a new one where no place is given. */
export function TalkPage({ place }: { place?: { agent: string; key: string }; entry?: string | undefined }) {
  return <main class="talk">{place?.key ?? "New conversation"}</main>;
}
