/**
 * An address in the form in which it is compared: case does not count, and nothing else is made equal. Lower case alone would turn other
 * letters into ASCII ones, such as the sign of Kelvin into a k, and another account into the owner's.
 */
export function addressKey(address: string): string {
  return address.replaceAll(/\p{Lu}/gu, (letter) => {
    const lower = letter.toLowerCase();
    return lower.toUpperCase() === letter ? lower : letter;
  });
}
