// Converts linear colors to the sRGB values that screens use.
export function to_screen(linear: number): number {
  const value = Math.min(1, Math.max(0, linear));
  return value <= 0.0031308 ? 12.92 * value : 1.055 * value ** (1 / 2.4) - 0.055;
}
export function to_linear(screen: number): number {
  return screen <= 0.04045 ? screen / 12.92 : ((screen + 0.055) / 1.055) ** 2.4;
}
/** Returns "#rrggbb" for sRGB channels from 0 to 1. */
export function hex_of(r: number, g: number, b: number): string {
  return (
    '#' +
    [r, g, b]
      .map((each) =>
        Math.round(Math.min(1, Math.max(0, each)) * 255)
          .toString(16)
          .padStart(2, '0'),
      )
      .join('')
  );
}
/** Also accepts "#abc" and "aabbcc". Returns null if the text is not a color. */
export function parse_hex(text: string): [number, number, number] | null {
  const digits = text.trim().replace(/^#/, '');
  const long = digits.length === 3 ? [...digits].map((each) => each + each).join('') : digits;
  if (!/^[0-9a-f]{6}$/i.test(long)) return null;
  return [0, 2, 4].map((at) => parseInt(long.slice(at, at + 2), 16) / 255) as [number, number, number];
}
