// Numbers and rotations as the page shows them and as they are typed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { euler_of, quat_of, same_rotation, TypedAngles } from '../../../../client/editor/src/model/euler.js';
import type { Quat, Vec3 } from '../../../../client/editor/src/model/euler.js';
import { counted, entities_text, exact_text, limits_of, narrow_text, parse_change, parse_number, short_text } from '../../../../client/editor/src/model/numbers.js';

const field = (element: string, range: { min: number; max: number } | null = null) => ({ element, range }) as never;

test('a number is shown exactly as short as it can be read back', () => {
  assert.equal(exact_text(Math.fround(0.1), true), '0.1');
  assert.equal(exact_text(Math.fround(0.1), false), '0.10000000149011612');
  assert.equal(exact_text(Math.fround(16777217), true), '16777216');
  assert.equal(exact_text(Math.fround(1.00000012), true), '1.0000001');
  assert.equal(exact_text(0.1, false), '0.1');
  assert.equal(exact_text(2n ** 64n - 1n, true), '18446744073709551615');
  assert.equal(exact_text(NaN, true), 'NaN');
});

test('a number to look at has four decimals at most, and few figures where it is very large or small', () => {
  const cases: [number | bigint, string][] = [
    [1.23456, '1.2346'],
    [1.5, '1.5'],
    [-0.00005, '-0.00005'],
    [0.0001, '0.0001'],
    [0.00009999, '0.00009999'],
    [9999999.5, '9999999.5'],
    [10000000.5, '10000000'],
    [12345678, '12345678'],
    [1e21, '1e+21'],
    [Infinity, 'Infinity'],
    [5n, '5'],
  ];
  for (const [value, text] of cases) assert.equal(short_text(value), text);
});

test('in a narrow box decimals are left out until it fits, and nothing else', () => {
  assert.equal(narrow_text(1.2345, 6), '1.2345');
  assert.equal(narrow_text(1.2345, 5), '1.234');
  assert.equal(narrow_text(1.2345, 3), '1.2');
  assert.equal(narrow_text(1.2345, 1), '1');
  assert.equal(narrow_text(123456.75, 7), '123457');
  assert.equal(narrow_text(123456, 3), '123456');
  assert.equal(narrow_text(1.25e-7, 4), '1.25e-7');
});

test('thousands are set apart, and one is one entity', () => {
  assert.deepEqual([0, 999, 1000, 1234567, 10n ** 9n].map(counted), ['0', '999', '1,000', '1,234,567', '1,000,000,000']);
  assert.deepEqual([0, 1, 2, 12345].map(entities_text), ['0 entities', '1 entity', '2 entities', '12,345 entities']);
});

test('a field takes what its type and its range have in common', () => {
  const limits = (element: string, range: { min: number; max: number } | null = null) => Object.values(limits_of(field(element, range)));
  assert.deepEqual(limits('int8'), [-128, 127]);
  assert.deepEqual(limits('uint8'), [0, 255]);
  assert.deepEqual(limits('int16'), [-32768, 32767]);
  assert.deepEqual(limits('uint16'), [0, 65535]);
  assert.deepEqual(limits('int32'), [-2147483648, 2147483647]);
  assert.deepEqual(limits('uint32'), [0, 4294967295]);
  assert.deepEqual(limits('float32'), [-Infinity, Infinity]);
  assert.deepEqual(limits('uint8', { min: -5, max: 100 }), [0, 100]);
  assert.deepEqual(limits('int8', { min: 5, max: 1000 }), [5, 127]);
  assert.deepEqual(limits('float64', { min: 0, max: 1 }), [0, 1]);
});

test('what is typed is a number or a sum, or a sentence says why not', () => {
  const real = (text: string) => parse_number(field('float64'), text);
  const sums: [string, number][] = [
    ['1', 1],
    [' 1.5 ', 1.5],
    ['.5', 0.5],
    ['5.', 5],
    ['1e3', 1000],
    ['2E-2', 0.02],
    ['2*3+1', 7],
    ['1+2*3', 7],
    ['(1+2)*3', 9],
    ['8/4/2', 1],
    ['5-3-1', 1],
    ['-2*-3', 6],
    ['--2', 2],
    ['+3', 3],
    ['1,000,000 + 1', 1000001],
    ['1,234.5', 1234.5],
    ['1,5', 1.5],
    ['0,125', 0.125],
    ['-0,125', -0.125],
    ['1,00', 1],
    ['1234,567', 1234.567],
    [',5', 0.5],
    ['2*1,5+0,25', 3.25],
    ['1,5e3', 1500],
    ['0x10', 16],
    ['0xfF + 1', 256],
    ['-0x10', -16],
    ['2 * ( 3 + 4 ) - 1', 13],
  ];
  for (const [text, value] of sums) assert.equal(real(text), value, text);
  for (const text of ['', 'x', '1+', '*2', '2**3', '(1', '1)', '()', '1 2x', '1/0', '0/0', '1,2,3', '1,0000,000', '01,000,000', '1,5,', '1.5,5', '1,000.', '0x', '0xg', '1' + '+1'.repeat(50)])
    assert.deepEqual(real(text), { sentence: `'${text}' is not a number` }, text);
  assert.equal(real('1' + '+1'.repeat(49)), 50);
  // Which of two numbers is meant is not guessed.
  for (const text of ['1,000', '-12,125', '2*(1,250)'])
    assert.match((real(text) as { sentence: string }).sentence, /^'[\d,]+' is ambiguous: write [\d.]+ or \d+$/);
  assert.deepEqual(real('1,250+1'), { sentence: "'1,250' is ambiguous: write 1.25 or 1250" });
  const small = (text: string) => parse_number(field('uint8', { min: 1, max: 200 }), text);
  assert.deepEqual([small('1'), small('200')], [1, 200]);
  assert.deepEqual(small('0'), { sentence: '0 is out of range: 1 to 200' });
  assert.deepEqual(small('100*2+1'), { sentence: '201 is out of range: 1 to 200' });
  const single = (text: string) => parse_number(field('float32'), text);
  assert.deepEqual(single('1e40'), { sentence: '1e+40 does not fit a 32-bit float' });
  assert.deepEqual(single('-1e40'), { sentence: '-1e+40 does not fit a 32-bit float' });
  assert.deepEqual(single('2e38*2'), { sentence: '4e+38 does not fit a 32-bit float' });
  assert.equal(single('3.4e38'), 3.4e38);
  assert.equal(parse_number(field('float64'), '1e40'), 1e40);
  assert.deepEqual(small('1.5'), { sentence: '1.5 is not a whole number' });
  assert.deepEqual(small('1,5'), { sentence: '1.5 is not a whole number' });
  assert.equal(parse_number(field('int32'), '1,000 + 1'), 1001);
});

test('a number of 64 bits is typed as figures, to the last of them', () => {
  const wide = (element: string, text: string) => parse_number(field(element), text);
  assert.equal(wide('uint64', '18446744073709551615'), 2n ** 64n - 1n);
  assert.equal(wide('uint64', '0xFFffFFffFFffFFff'), 2n ** 64n - 1n);
  assert.equal(wide('int64', '-9223372036854775808'), -(2n ** 63n));
  assert.equal(wide('int64', ' +1,000 '), 1000n);
  assert.deepEqual(wide('uint64', '18446744073709551616'), { sentence: '18446744073709551616 is out of range: 0 to 18446744073709551615' });
  assert.deepEqual(wide('uint64', '-1'), { sentence: '-1 is out of range: 0 to 18446744073709551615' });
  assert.deepEqual(wide('int64', '9223372036854775808'), { sentence: '9223372036854775808 is out of range: -9223372036854775808 to 9223372036854775807' });
  for (const text of ['1+1', '1.5', '', '0x', 'x', '1,5', '0,125', '1,0000']) assert.deepEqual(wide('int64', text), { sentence: `'${text}' is not a whole number` });
});

const half = Math.SQRT1_2;

test('a rotation is turned into degrees about Y, then X, then Z, and back', () => {
  const cases: [Vec3, Quat][] = [
    [{ x: 90, y: 0, z: 0 }, { x: half, y: 0, z: 0, w: half }],
    [{ x: 0, y: 90, z: 0 }, { x: 0, y: half, z: 0, w: half }],
    [{ x: 0, y: 0, z: 90 }, { x: 0, y: 0, z: half, w: half }],
    [{ x: 0, y: 0, z: 0 }, { x: 0, y: 0, z: 0, w: 1 }],
  ];
  for (const [euler, quat] of cases) {
    for (const part of ['x', 'y', 'z', 'w'] as const) assert.ok(Math.abs(quat_of(euler)[part] - quat[part]) < 1e-12, part);
    assert.deepEqual(euler_of(quat), euler);
    assert.deepEqual(euler_of({ x: 3 * quat.x, y: 3 * quat.y, z: 3 * quat.z, w: 3 * quat.w }), euler); // of any length
  }
  for (const euler of [{ x: 10, y: 20, z: 30 }, { x: -89, y: 179, z: -179 }, { x: 45, y: -90, z: 120 }]) assert.deepEqual(euler_of(quat_of(euler)), euler);
  // About Y first: a quarter turn about Y, then X tips the new X.
  const tipped = quat_of({ x: 90, y: 90, z: 0 });
  for (const [part, value] of [['x', 0.5], ['y', 0.5], ['z', -0.5], ['w', 0.5]] as const) assert.ok(Math.abs(tipped[part] - value) < 1e-12, part);
  // Straight up roll is told as yaw.
  assert.deepEqual(euler_of(quat_of({ x: 90, y: 0, z: 30 })), { x: 90, y: -30, z: 0 });
  assert.deepEqual(euler_of(quat_of({ x: -90, y: 10, z: 30 })), { x: -90, y: 40, z: 0 });
  assert.deepEqual(euler_of({ x: 0, y: 0, z: 0, w: 0 }), { x: 0, y: 0, z: 0 });
});

test('values are changed by what stands behind an operator and an equals sign', () => {
  const changed = (text: string, value: number, element = 'float32') => {
    const change = parse_change(field(element, element === 'uint8' ? { min: 0, max: 100 } : null), text);
    return typeof change === 'function' ? change(value) : change;
  };
  assert.deepEqual([changed('+=1', 5), changed(' -= 2*3', 5), changed('*=1,5', 4), changed('/=4', 2)], [6, -1, 6, 0.5]);
  for (const text of ['1', '+1', '-1', '=1', '']) assert.equal(changed(text, 5), null, text);
  assert.deepEqual(changed('+=x', 5), { sentence: "'x' is not a number" });
  assert.deepEqual(changed('/=0', 5), { sentence: '5 / 0 is not a number' });
  assert.deepEqual(changed('/=2', 5, 'uint8'), { sentence: '2.5 is not a whole number' });
  assert.deepEqual(changed('+=96', 5, 'uint8'), { sentence: '101 is out of range: 0 to 100' });
  assert.match((changed('+=1', 5, 'int64') as { sentence: string }).sentence, /64-bit/);
});

const as_32_bits = ({ x, y, z, w }: Quat): Quat => ({ x: Math.fround(x), y: Math.fround(y), z: Math.fround(z), w: Math.fround(w) });

test('degrees stay as they were typed as long as they are this rotation, whatever was shown in between', () => {
  const angles = new TypedAngles();
  const shown = (owner: string, euler: Vec3): Vec3 => angles.shown(owner, as_32_bits(quat_of(euler)));
  const typed = { x: 0, y: 270, z: 0 };
  assert.deepEqual(shown('a', typed), { x: 0, y: -90, z: 0 });
  angles.typed('a', typed);
  assert.equal(shown('a', typed), typed);
  const back = quat_of(typed);
  assert.equal(angles.shown('a', { x: -back.x, y: -back.y, z: -back.z, w: -back.w }), typed); // the signs say nothing
  assert.deepEqual(shown('a', { x: 0, y: 10, z: 0 }), { x: 0, y: 10, z: 0 });
  assert.deepEqual(shown('b', typed), { x: 0, y: -90, z: 0 });
  // Typed axis by axis, looked at again, and taken back step by step.
  const steps = [{ x: 120, y: 0, z: 0 }, { x: 120, y: 30, z: 0 }, { x: 120, y: 30, z: 200 }];
  for (const each of steps) {
    angles.typed('b', each);
    assert.equal(shown('b', each), each);
  }
  assert.deepEqual(shown('nobody', steps[1]), { x: 60, y: -150, z: 180 });
  for (const each of [...steps].reverse()) assert.equal(shown('b', each), each);
  // Others' turns are shown as the triple that is nearer to what was typed, however small they are.
  const near = shown('b', { x: 121, y: 30, z: 0 });
  for (const [axis, value] of [['x', 121], ['y', 30], ['z', 0]] as const) assert.ok(Math.abs(near[axis] - value) < 1e-3, JSON.stringify(near));
  angles.typed('c', { x: 0, y: 0, z: 0 });
  assert.ok(Math.abs(shown('c', { x: 0, y: 0.01, z: 0 }).y - 0.01) < 1e-4);
  // Of a drag the last one stays.
  angles.typed('b', { x: 1, y: 0, z: 0 });
  const last = { x: 95, y: 0, z: 0 };
  angles.typed('b', last, { x: 1, y: 0, z: 0 });
  assert.equal(shown('b', last), last);
  for (let i = 0; i < 2000; ++i) angles.typed(`other ${i}`, last);
  assert.deepEqual(shown('b', last), { x: 85, y: 180, z: 180 });

  assert.equal(same_rotation({ x: 0, y: 0, z: 0, w: 0 }, { x: 0, y: 0, z: 0, w: 1 }), false);
  assert.equal(same_rotation(quat_of({ x: 0, y: 0, z: 0 }), quat_of({ x: 0, y: 0.01, z: 0 })), false);
});
