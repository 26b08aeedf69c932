/**
 * The same function of a text, which keeps its answers to the texts that were used last: for texts that most requests repeat, as a system
 * prompt. `most`: how many texts are kept.
 */
export function keepingRecent<T>(make: (text: string) => T, most: number): (text: string) => T {
  const made = new Map<string, T>();
  return (text) => {
    const answer = made.get(text) ?? make(text);
    // The one that was used last is the last key.
    made.delete(text);
    made.set(text, answer);
    const [oldest] = made.keys();
    if (made.size > most && oldest !== undefined) made.delete(oldest);
    return answer;
  };
}
