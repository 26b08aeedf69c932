/** Words that are not sent yet, kept in this browser over a reload. */

const KEY = "pagurus-draft";

export function draftOf(id: string): string {
  return localStorage.getItem(`${KEY} ${id}`) ?? "";
}

export function keepDraft(id: string, text: string): void {
  if (text === "") localStorage.removeItem(`${KEY} ${id}`);
  else localStorage.setItem(`${KEY} ${id}`, text);
}
