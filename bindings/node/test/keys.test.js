'use strict'

const assert = require('node:assert/strict')
const test = require('node:test')

const { encodeKey, decodeKey, compareKeys } = require('..')
const { environment, randoms } = require('./support')

/** In their order. */
const KEYS = [
  null, false, true,
  -Infinity, -1e300, -12345.678, -2, -1, -0.5, -5e-324, 0, 5e-324, 0.1, 1, 1.5, 2, 255, 256,
  2 ** 53, 1e300, Infinity,
  -(2n ** 100n), -256n, -255n, -1n, 0n, 1n, 255n, 256n, 2n ** 64n, 2n ** 100n,
  Buffer.from([]), Buffer.from([0]), Buffer.from([0, 0]), Buffer.from([1, 255]), Buffer.from([255]),
  [], [null], [false], [1], [1, 1], [1, 2], [2], [3n], [Buffer.from([0])], [Buffer.from([0, 1])],
  [[]], [[], 1], [[1]], [[1], 1], [[[1]]],
  [''], ['', ''], ['\0'], ['\x01'], ['\x1f'], ['a'], ['a', 1], ['a', ''], ['a', 'b'], ['a\0'],
  ['a\0b'], ['ab'], ['b'],
  '', '\0', '\x01', '\x1f!', ' ', 'A', 'a', 'a\0', 'aa', 'ab', 'b', '\u00e4', '\ud7ff', '\uffff',
  '\u{10000}', '\u{10ffff}'
]

const plain = key => key instanceof Uint8Array && !Buffer.isBuffer(key) ? Buffer.from(key) : key

test('keys come back as they were, and in their order', () => {
  for (const [at, key] of KEYS.entries()) {
    assert.deepEqual(decodeKey(encodeKey(key)), plain(key))
    for (const [other, than] of KEYS.entries()) {
      assert.equal(Math.sign(compareKeys(key, than)), Math.sign(at - other),
        `${String(key)} and ${String(than)}`)
    }
  }
})

test('arrays of all kinds come back, and sort by their items', () => {
  const random = randoms(7)
  const some = () => {
    const items = []
    for (let left = random(4); left > 0; left--) items.push(KEYS[random(KEYS.length)])
    return items
  }
  const inOrder = (one, other) => {
    for (let i = 0; i < Math.min(one.length, other.length); i++) {
      const order = compareKeys(one[i], other[i])
      // In an array text comes behind what comes before it outside, too.
      if (order !== 0) return order
    }
    return one.length - other.length
  }
  for (let round = 0; round < 5000; round++) {
    const [one, other] = [some(), some()]
    assert.deepEqual(decodeKey(encodeKey(one)), one)
    assert.equal(Math.sign(compareKeys(one, other)), Math.sign(inOrder(one, other)))
  }
})

test('both zeros are one key', () => {
  assert.deepEqual(encodeKey(-0), encodeKey(0))
  assert.deepEqual(encodeKey([-0]), encodeKey([0]))
})

test('plain text is plain UTF-8', () => {
  assert.deepEqual(encodeKey('ada'), Buffer.from('ada'))
  assert.deepEqual(encodeKey('\u{1f600}'.repeat(40)), Buffer.from('\u{1f600}'.repeat(40)))
})

test('what is no key is refused', () => {
  const deep = []
  let inner = deep
  for (let i = 0; i < 100; i++) inner.push(inner = [])
  const round = []
  round.push(round)
  for (const bad of [undefined, NaN, Symbol('a'), {}, new Date(), () => 1, [undefined], [[{}]],
    '\ud800', 'a'.repeat(100) + '\udc00', ['\ud800'], deep, round, 2n ** 1100n]) {
    assert.throws(() => encodeKey(bad), TypeError)
  }
  assert.throws(() => decodeKey(Buffer.from([0x07])), TypeError)
  assert.throws(() => decodeKey(Buffer.from([0x10, 1])), TypeError)
})

test('a prefix is the start of text, or the first items of an array', async t => {
  const table = environment(t).table('t')
  await table.putMany(KEYS.map((key, at) => [key, at]))
  const found = prefix => table.keysOnly({ prefix }).toArray()
  assert.deepEqual(found('a'), ['a', 'a\0', 'aa', 'ab'])
  assert.deepEqual(found('\u{10ffff}'), ['\u{10ffff}'])
  assert.deepEqual(found(''), KEYS.filter(key => typeof key === 'string'))
  assert.deepEqual(found('\x1f'), ['\x1f!'])
  assert.deepEqual(found(['a']), [['a'], ['a', 1], ['a', ''], ['a', 'b']])
  assert.deepEqual(found([[]]), [[[]], [[], 1]])
  assert.deepEqual(found([1]), [[1], [1, 1], [1, 2]])
  assert.deepEqual(found([]), KEYS.filter(Array.isArray))
  const reversed = table.keysOnly({ prefix: ['a'], reverse: true }).toArray()
  assert.deepEqual(reversed, found(['a']).reverse())
  assert.throws(() => found(1), TypeError)
})
