// Formats and parses numbers.
import type { FieldDescriptor } from 'muster-client';

/** Returns the shortest text that parses as exactly this number. */
export function exact_text(value: number | bigint, is_float32: boolean): string {
  if (typeof value === 'bigint' || !is_float32) return String(value);
  for (let digits = 6; digits < 10; ++digits) {
    const text = value.toPrecision(digits);
    if (Math.fround(Number(text)) === value) return String(Number(text));
  }
  return String(value);
}

/** Formats a number for display, with at most four decimals. */
export function short_text(value: number | bigint): string {
  if (typeof value === 'bigint' || Number.isInteger(value)) return String(value);
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size >= 1e7 || size < 1e-4) return String(Number(value.toPrecision(4)));
  return String(Math.round(value * 1e4) / 1e4);
}

/** Formats a number for a narrow box, in at most `room` characters if possible. */
export function narrow_text(value: number | bigint, room: number): string {
  const text = short_text(value);
  const point = text.indexOf('.');
  if (text.length <= room || point < 0 || text.includes('e')) return text;
  return String(Number((value as number).toFixed(Math.max(0, room - point - 1))));
}

/** "12,345" */
export function counted(value: number | bigint): string {
  // Intl would first load its language tables, which takes a tenth of a second at startup.
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}
/** "1 entity", "12,345 entities" */
export function entities_text(count: number): string {
  return `${counted(count)} ${count === 1 ? 'entity' : 'entities'}`;
}

export function is_wide(field: FieldDescriptor): boolean {
  return field.element === 'int64' || field.element === 'uint64';
}
export function is_float(field: FieldDescriptor): boolean {
  return field.element === 'float32' || field.element === 'float64';
}

const integer_bits: Record<string, number> = {
  int8: 8,
  uint8: 8,
  int16: 16,
  uint16: 16,
  int32: 32,
  uint32: 32,
  int64: 64,
  uint64: 64,
};

/** Returns the smallest and the largest value that the field's type and range allow. */
export function limits_of(field: FieldDescriptor): { min: number; max: number } {
  const bits = integer_bits[field.element];
  let [min, max] = [-Infinity, Infinity];
  if (bits) [min, max] = field.element.startsWith('u') ? [0, 2 ** bits - 1] : [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1];
  return { min: Math.max(min, field.range?.min ?? min), max: Math.min(max, field.range?.max ?? max) };
}

/**
 * Parses a number or an arithmetic expression ("2*3+1"). Returns a sentence if it is invalid, or if
 * the field does not allow the value.
 */
export function parse_number(field: FieldDescriptor, text: string): number | bigint | { sentence: string } {
  const typed = text.trim();
  if (is_wide(field)) {
    const plain = is_grouped(typed.replace(/^[-+]/, '')) ? typed.replace(/,/g, '') : typed;
    if (!/^[-+]?\d+$|^0x[0-9a-f]+$/i.test(plain)) return { sentence: `'${typed}' is not a whole number` };
    const value = BigInt(plain.replace(/^\+/, ''));
    const signed = field.element === 'int64';
    const [min, max] = signed ? [-(2n ** 63n), 2n ** 63n - 1n] : [0n, 2n ** 64n - 1n];
    return value < min || value > max ? { sentence: `${value} is out of range: ${min} to ${max}` } : value;
  }
  const unclear = is_float(field) ? unclear_number(typed) : null;
  if (unclear) return unclear;
  const value = sum_of(typed);
  if (value === null || !Number.isFinite(value)) return { sentence: `'${typed}' is not a number` };
  return fitting(field, value);
}
function fitting(field: FieldDescriptor, value: number): number | { sentence: string } {
  if (!is_float(field) && !Number.isInteger(value)) return { sentence: `${value} is not a whole number` };
  const { min, max } = limits_of(field);
  if (value < min || value > max)
    return { sentence: `${value} is out of range: ${short_text(min)} to ${short_text(max)}` };
  if (field.element === 'float32' && !Number.isFinite(Math.fround(value)))
    return { sentence: `${value} does not fit a 32-bit float` };
  return value;
}

/**
 * Parses a change of values: "+=1", "-=1", "*=2", "/=2". The returned function computes the new
 * value. Returns null for other text.
 */
export function parse_change(
  field: FieldDescriptor,
  text: string,
): ((value: number) => number | { sentence: string }) | { sentence: string } | null {
  const [, operator, rest] = /^\s*([-+*/])=(.*)$/s.exec(text) ?? [];
  if (operator === undefined) return null;
  if (is_wide(field)) return { sentence: `'${text.trim()}': a 64-bit field takes only whole numbers` };
  const by = parse_number({ ...field, element: 'float64', range: null }, rest);
  if (typeof by === 'object') return by;
  return (value) => {
    const to = { '+': value + Number(by), '-': value - Number(by), '*': value * Number(by), '/': value / Number(by) }[
      operator
    ]!;
    return Number.isFinite(to) ? fitting(field, to) : { sentence: `${value} ${operator} ${by} is not a number` };
  };
}

/** Returns true for a number with thousands separators: "1,000". */
const is_grouped = (text: string): boolean => /^[1-9]\d{0,2}(,\d{3})+(\.\d+)?$/.test(text);

/** Refuses "1,250", which means 1.25 to some people and 1250 to others. */
function unclear_number(text: string): { sentence: string } | null {
  const found = (text.match(number_token) ?? []).find((each) => is_grouped(each) && /^\d+,\d+$/.test(each));
  if (found === undefined) return null;
  const [whole, rest] = found.split(',');
  const either = `${Number(`${whole}.${rest}`)} or ${whole}${rest}`;
  return { sentence: `'${found}' is ambiguous: write ${either}` };
}

const number_token = /0x[0-9a-f]+|(?:\d[\d,]*(?:\.\d*)?|[.,]\d+)(?:e[-+]?\d+)?/gi;
const any_token = new RegExp(`${number_token.source}|[-+*/()]`, 'gi');

/** Returns NaN if the token is not a number. */
function number_of(token: string): number {
  if (!token.includes(',')) return Number(token);
  if (is_grouped(token)) return Number(token.replace(/,/g, ''));
  return /^\d*,\d+(e[-+]?\d+)?$/i.test(token) ? Number(token.replace(',', '.')) : NaN;
}

/** Evaluates numbers, + - * / and parentheses. Returns null for other text. */
function sum_of(text: string): number | null {
  const tokens = text.match(any_token) ?? [];
  if (tokens.join('') !== text.replace(/\s+/g, '') || tokens.length === 0 || tokens.length > 100) return null;
  let at = 0;
  const factor = (): number => {
    const token = tokens[at++];
    if (token === '-') return -factor();
    if (token === '+') return factor();
    if (token === '(') {
      const value = terms();
      return tokens[at++] === ')' ? value : NaN;
    }
    return token === undefined || /[*/)]/.test(token) ? NaN : number_of(token);
  };
  const product = (): number => {
    let value = factor();
    while (tokens[at] === '*' || tokens[at] === '/') value = tokens[at++] === '*' ? value * factor() : value / factor();
    return value;
  };
  const terms = (): number => {
    let value = product();
    while (tokens[at] === '+' || tokens[at] === '-')
      value = tokens[at++] === '+' ? value + product() : value - product();
    return value;
  };
  const value = terms();
  return at === tokens.length && !Number.isNaN(value) ? value : null;
}
